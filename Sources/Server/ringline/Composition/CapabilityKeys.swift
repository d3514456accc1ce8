import CallCore
import CallPorts
import CallWire
import Glibc
import Identity
import Switchboard
import Threads

/// The keys that sign the capabilities in pushes.
///
/// A new key is made every day. Each earlier key is kept for as long as a capability that it signed may be valid.
final class CapabilityKeys: Sendable {
    private let folder: String?
    /// The longest time for which a capability may be valid, in milliseconds.
    private let life: Int64
    private let state: Monitor<State>

    private struct State {
        var keys: ServerKeys
        var signer: CapabilitySigner
        /// The earliest time of the next attempt after the disk refused a write.
        var notBefore = Int64.min
        /// The secret from which the keys are derived, where several nodes share it.
        var secret: [UInt8]?
    }

    /// The pause after the disk refused a write, in milliseconds.
    private static let pauseMilliseconds: Int64 = 60_000

    /// Reads the keys from the data folder, or makes the first one.
    init(_ settings: ServeSettings, at now: Int64) throws(UsageError) {
        folder = settings.isInMemory ? nil : settings.data
        // A capability is valid for the ring time and one minute (`PushPayload`). Another minute is for a clock that is
        // being adjusted slowly.
        let longestRing = max(settings.policy.ringTimeout.milliseconds, WireLimits.ringSeconds.upperBound * 1_000)
        life = longestRing + 120_000
        let keys = try Self.read(folder, at: now)
        state = Monitor(State(keys: keys, signer: CapabilitySigner(keys, life: life)))
    }

    /// The keys that sign and verify capabilities now.
    var signer: CapabilitySigner { state.withLock { $0.signer } }

    /// Makes a new key when the newest is a day old, and returns whether it did.
    ///
    /// - Throws: ``UsageError`` when the new key cannot be saved. The previous key then goes on signing, and the next
    ///   attempt comes after a minute.
    func rotate(at now: Int64) throws(UsageError) -> Bool {
        if let secret = state.withLock({ $0.secret }) {
            derive(from: secret, at: now)
            return false
        }
        let keys = state.withLock { state in
            state.keys.isDue(at: now) && now >= state.notBefore ? state.keys.rotated(at: now, life: life) : nil
        }
        guard let keys else { return false }
        do throws(SecretFileError) { if let folder { try keys.save(inFolder: folder) } } catch {
            state.withLock { $0.notBefore = now + Self.pauseMilliseconds }
            throw UsageError(error.description)
        }
        use(keys)
        return true
    }

    /// Reads the file again, because an operator may have put another key there.
    ///
    /// If the file was removed, a new key is made, and all capabilities issued before are void.
    func load(at now: Int64) throws(UsageError) {
        guard let folder, state.withLock({ $0.secret == nil }) else { return }
        use(try Self.read(folder, at: now))
    }

    /// From now on uses the keys that all nodes derive from the secret in their database, instead of those in the folder.
    func derive(from secret: [UInt8], at now: Int64) {
        let keys = ServerKeys(derivedFrom: secret, at: now)
        state.withLock { state in
            state.secret = secret
            guard keys != state.keys else { return }
            state.keys = keys
            state.signer = CapabilitySigner(keys, life: life)
        }
    }

    private func use(_ keys: ServerKeys) {
        state.withLock { $0 = State(keys: keys, signer: CapabilitySigner(keys, life: life)) }
    }

    private static func read(_ folder: String?, at now: Int64) throws(UsageError) -> ServerKeys {
        guard let folder else { return ServerKeys(at: now) }
        let keys: ServerKeys
        do throws(SecretFileError) { keys = try ServerKeys.loadOrCreate(inFolder: folder, at: now) } catch {
            throw UsageError(error.description)
        }
        try require(keys, folder)
        return keys
    }

    /// An invalid key is refused, because anybody could forge a capability that is signed with it.
    private static func require(_ keys: ServerKeys, _ folder: String) throws(UsageError) {
        guard keys.areValid else { throw UsageError("\(folder)/\(ServerKeys.fileName) holds no key") }
    }

    /// Checks the keys of a data folder, and makes none.
    static func check(inFolder folder: String) throws(UsageError) {
        let path = "\(folder)/\(ServerKeys.fileName)"
        guard access(path, F_OK) == 0 else { return }
        let text: [UInt8]
        do throws(SecretFileError) { text = try SecretFile.read(path) } catch { throw UsageError(error.description) }
        try require(ServerKeys(text: text), folder)
    }
}

/// Signs the capabilities that pushes carry.
struct RingCapabilities: CapabilityIssuer {
    let keys: CapabilityKeys

    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String {
        keys.signer.issue(
            .init(
                callId: call,
                epoch: epoch,
                user: user,
                peer: peer,
                device: device,
                validUntilMs: until.milliseconds
            )
        )
    }
}
