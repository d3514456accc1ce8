import CallCore
import CallPorts
import Switchboard
import Threads

/// A store without data that records how it is used.
final class RecordingStore: ReleasableStore {
    private let record = Monitor<[String]>([])
    /// Called when the store is closed, before the call returns.
    private let onClose: @Sendable () -> Void
    /// Called when the store is opened, before the call returns.
    private let onOpen: @Sendable () -> Void

    init(onOpen: @escaping @Sendable () -> Void = {}, onClose: @escaping @Sendable () -> Void = {}) {
        self.onOpen = onOpen
        self.onClose = onClose
    }

    var calls: [String] { record.withLock { $0 } }

    private func note(_ call: String) { record.withLock { $0.append(call) } }

    func open(at now: Moment) -> StoredState {
        note("open")
        onOpen()
        return StoredState()
    }

    func commit(_ changes: [Change], as ticket: Ticket) -> Bool { true }
    func submit(_ query: StoreQuery, as id: StoreQueryID) {}
    func close() { close(releasingTo: nil) }

    func close(releasingTo heir: NodeID?) {
        note("close")
        onClose()
    }
}

/// A register that records how it is used; the test makes its reports.
final class RecordingRegister: OwnershipRegister {
    private let record = Monitor<[String]>([])

    var calls: [String] { record.withLock { $0 } }

    /// Returns whether the register was used in this way within five seconds.
    func hears(_ call: String) -> Bool {
        record.wait(until: .now + .seconds(5)) { $0.contains(call) ? true : nil } ?? false
    }

    private func note(_ call: String) { record.withLock { $0.append(call) } }

    func open() -> [UInt8] {
        note("open")
        return [UInt8](repeating: 7, count: 32)
    }

    func read() { note("read") }
    func claim(after epoch: OwnerEpoch, above known: OwnerEpoch) { note("claim after \(epoch.rawValue)") }

    func giveBack(_ store: any ReleasableStore, to heir: NodeID?, done: @escaping @Sendable () -> Void) {
        note("give back")
        // If no thread can be started, the test waits in vain and fails.
        _ = try? WorkThread(named: "give back") {
            store.close(releasingTo: heir)
            done()
        }
    }

    func close() { note("close") }
}

/// An authenticator that knows nobody.
struct NobodysAuthenticator: Authenticator {
    func authenticate(_ token: String, atSeconds now: Int64) throws(AuthenticationError) -> Principal {
        throw .invalid("nobody is known")
    }

    func authenticate(capability: String, atMilliseconds now: Int64) throws(AuthenticationError) -> Principal {
        throw .invalid("nobody is known")
    }
}

/// A push sender that sends nothing.
final class SilentPushSender: PushSender {
    func send(_ push: OutgoingPush) {}
    func cancel(_ id: PushID) {}
}

/// An issuer of capabilities that no server accepts.
struct EmptyCapabilityIssuer: CapabilityIssuer {
    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String { "" }
}

extension Switchboard.Ports {
    /// Ports of a switchboard that begins no call.
    static var none: Self { Self(capabilities: EmptyCapabilityIssuer(), random: SystemRandomNumberGenerator()) }
}
