import CallCore
import CallPorts

extension DeviceRecord {
    /// Returns whether one of these connections, which are those of the device's user, belongs to the device: one under
    /// the device's id or, for a device without an id, any connection without an id.
    func isLive(among connections: [Connection]) -> Bool {
        connections.contains { $0.device.id == id || (!isNamed && !$0.isNamed) }
    }
}
