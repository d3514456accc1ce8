import CallCore
import CallWire
import Identity
import Switchboard
import Threads

/// The keys under which the capabilities of pushes are signed: a new one every day, and those before for as long as a
/// capability may live.
final class ActKeys: Sendable {
    private let folder: String?
    /// How long a capability may live, in milliseconds.
    private let life: Int64
    private let state: Locked<State>

    private struct State {
        var keys: ServerKeys
        var ring: CapabilityRing
        /// When to try again after the disk refused.
        var notBefore = Int64.min
    }

    /// For how long nothing is tried after the disk refused.
    private static let pauseMilliseconds: Int64 = 60_000

    /// Reads the keys of the data folder, or makes one.
    init(_ settings: ServeSettings, at now: Int64) throws(Complaint) {
        folder = settings.isInMemory ? nil : settings.data
        // As long as it may ring, and a minute (`PushPayload`); and one more for a clock that is slewed.
        let longestRing = max(settings.policy.ringFor.milliseconds, WireLimits.ringSeconds.upperBound * 1_000)
        life = longestRing + 120_000
        let keys = try Self.read(folder, at: now)
        state = Locked(State(keys: keys, ring: CapabilityRing(keys, life: life)))
    }

    /// What signs and reads capabilities at the moment.
    var ring: CapabilityRing { state.withLock { $0.ring } }

    /// Makes a new key when the newest is a day old; whether there was need.
    ///
    /// - Throws: when it cannot be kept; then the one before goes on signing, and nothing is tried for a minute.
    func rotate(at now: Int64) throws(Complaint) -> Bool {
        let keys = state.withLock { state in
            state.keys.isDue(at: now) && now >= state.notBefore ? state.keys.rotated(at: now, life: life) : nil
        }
        guard let keys else { return false }
        do throws(SecretFileError) { if let folder { try keys.save(inFolder: folder) } } catch {
            state.withLock { $0.notBefore = now + Self.pauseMilliseconds }
            throw Complaint(error.description)
        }
        use(keys)
        return true
    }

    /// Reads the file anew, in which somebody may have put another key; one that was removed is made anew, and all
    /// capabilities of before are void.
    func load(at now: Int64) throws(Complaint) {
        guard let folder else { return }
        let keys = try Self.read(folder, at: now)
        guard keys.areSound else { throw Complaint("\(folder)/\(ServerKeys.fileName) holds no key") }
        use(keys)
    }

    private func use(_ keys: ServerKeys) {
        state.withLock { $0 = State(keys: keys, ring: CapabilityRing(keys, life: life)) }
    }

    private static func read(_ folder: String?, at now: Int64) throws(Complaint) -> ServerKeys {
        guard let folder else { return ServerKeys(at: now) }
        do throws(SecretFileError) { return try ServerKeys.loadOrCreate(inFolder: folder, at: now) } catch {
            throw Complaint(error.description)
        }
    }
}

/// Signs the capabilities that pushes carry.
struct RingCapabilities: CapabilityIssuer {
    let keys: ActKeys

    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String {
        keys.ring.issue(
            .init(
                callId: call.text,
                epoch: epoch,
                user: user.text,
                peer: peer.text,
                device: device.text,
                validUntilMs: until.milliseconds
            )
        )
    }
}
