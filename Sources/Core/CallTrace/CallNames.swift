package import CallCore

/// The names by which a reader knows users and devices; without a name, the id stands for it.
package struct CallNames: Sendable {
    private let users: [UserID: String]
    private let devices: [String: String]

    /// `devices`: what each device is, such as "phone".
    package init(users: [UserID: String] = [:], devices: [DeviceID: String] = [:]) {
        self.users = users
        self.devices = Dictionary(uniqueKeysWithValues: devices.map { ($0.key.text, $0.value) })
    }

    /// Returns the name of a user, or the id.
    func user(_ id: UserID) -> String { users[id] ?? id.text }

    /// Whether a user has a name.
    func has(_ id: UserID) -> Bool { users[id] != nil }

    /// Returns what a device is; `nil` = only the id is known.
    func device(_ id: String) -> String? { devices[id] }
}
