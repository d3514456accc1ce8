import CallCore
import CallPorts

extension DeviceRecord {
    /// Returns whether one of its user's connections belongs to the device: a connection under the device's id or, for
    /// a device without an id, any connection without an id.
    func isLive(among connections: [Connection]) -> Bool {
        connections.contains { $0.device.id == id || (!isNamed && !$0.isNamed) }
    }
}
