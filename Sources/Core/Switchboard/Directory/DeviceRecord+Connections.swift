import CallCore
import CallPorts

extension DeviceRecord {
    /// Whether the device is connected, among its user's connections: under its id or, without one, by any unnamed
    /// connection.
    func isLive(among connections: [Connection]) -> Bool {
        connections.contains { $0.device.id == id || (!isNamed && !$0.isNamed) }
    }
}
