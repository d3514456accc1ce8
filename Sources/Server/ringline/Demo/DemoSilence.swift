import CallCore
import Threads

/// The devices of the demo whose apps are suspended: the server does not hear them.
///
/// Safe on any thread.
final class DemoSilence: Sendable {
    /// The largest number of silent devices; the page has four devices.
    private static let limit = 16
    private let devices = Monitor<Set<DeviceID>>([])

    /// Returns whether the server does not hear a device.
    func includes(_ device: DeviceID) -> Bool { devices.withLock { $0.contains(device) } }

    /// Silences a device, or hears it again; returns whether it is silent now.
    func set(_ device: DeviceID, _ isSilent: Bool) -> Bool {
        devices.withLock { devices in
            if !isSilent {
                devices.remove(device)
            } else if devices.count < Self.limit {
                devices.insert(device)
            }
            return devices.contains(device)
        }
    }
}
