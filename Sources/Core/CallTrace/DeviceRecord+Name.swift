import CallCore
package import CallPorts

extension DeviceRecord {
    /// The device as people name it: what it is, and its id, which may be one that the server has made.
    package var name: String { "\(kind) \(id.text)" }

    private var kind: String {
        switch platform.lowercased() {
        case "ios", "iphone": "iPhone"
        case "ipados", "ipad": "iPad"
        case "macos", "mac": "Mac"
        case "android": "Android phone"
        case "web", "browser": "browser"
        case "": "device"
        default: "\(platform.printable) device"
        }
    }
}
