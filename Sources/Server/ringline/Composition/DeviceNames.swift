import CallCore
import CallPorts
import CallTrace

/// The registered devices of users, read once for each: many calls of a list have the same users.
struct DeviceNames {
    private let reader: any StoreReader
    private var known: [UserID: [DeviceRecord]] = [:]

    init(_ reader: any StoreReader) { self.reader = reader }

    /// Returns a user's registered devices.
    mutating func devices(of user: UserID) throws(StoreFailure) -> [DeviceRecord] {
        if let devices = known[user] { return devices }
        let devices = try reader.devices(of: user)
        known[user] = devices
        return devices
    }

    /// Returns a device as people name it; one that is not registered has its id alone.
    mutating func name(of device: DeviceID, of user: UserID) throws(StoreFailure) -> String {
        try devices(of: user).first { $0.id == device }?.name ?? device.text
    }
}
