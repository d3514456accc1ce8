import Synchronization

/// Whether this node forwards requests and upgrades to the owner of the calls instead of deciding them; from any
/// thread.
///
/// Only the gateway's thread changes it. A loop on another thread may act on the earlier value for a moment; the event
/// that it sends says which one it was.
final class Forwarding: Sendable {
    private let value = Atomic(false)

    var isOn: Bool {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}
