import CallCore
import Threads

/// The devices of the demo whose apps are suspended: the server does not hear them.
///
/// Safe on any thread.
final class DemoSilence: Sendable {
    /// The number of silent devices at most; the page has four devices.
    private static let most = 16
    private let devices = Monitor<Set<DeviceID>>([])

    /// Returns whether the server does not hear a device.
    func includes(_ device: DeviceID) -> Bool { devices.withLock { $0.contains(device) } }

    /// Silences a device, or hears it again; returns whether it is silent now.
    func set(_ device: DeviceID, _ isSilent: Bool) -> Bool {
        devices.withLock { devices in
            if !isSilent {
                devices.remove(device)
            } else if devices.count < Self.most {
                devices.insert(device)
            }
            return devices.contains(device)
        }
    }
}
