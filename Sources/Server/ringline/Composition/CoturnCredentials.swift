import CallCore
import CallPorts
import Identity
import Threads

/// Signs coturn's time-limited credentials (`use-auth-secret`, `static-auth-secret`).
final class CoturnCredentials: TURNCredentialIssuer {
    private let current: Monitor<Secret>
    private let clock: ServerClock

    private struct Secret {
        let bytes: [UInt8]
        let turn: ServeSettings.TURN
    }

    /// Reads the secret; `warn` is called if the secret looks odd.
    init(_ turn: ServeSettings.TURN, _ clock: ServerClock, warn: (String) -> Void) throws(UsageError) {
        current = Monitor(try Self.read(turn, warn: warn))
        self.clock = clock
    }

    /// Reads the secret again; if that fails, the previous one stays in use.
    func load(_ turn: ServeSettings.TURN, warn: (String) -> Void) throws(UsageError) {
        let new = try Self.read(turn, warn: warn)
        current.withLock { $0 = new }
    }

    private static func read(_ turn: ServeSettings.TURN, warn: (String) -> Void) throws(UsageError) -> Secret {
        Secret(bytes: try Keys.secret(turn.secretFile, for: "turn-secret-file", warn: warn), turn: turn)
    }

    func credential(for user: UserID, at now: Moment) -> TURNCredential {
        let secret = current.withLock { $0 }
        // coturn compares the expiry with its own wall clock, so the expiry must be a time of the wall clock. The
        // server's clock (`ServerClock`) never jumps, so it may differ from the wall clock.
        let (current, date) = clock.nowAndDate()
        let made = TimeLimitedCredential(
            user: user.text,
            secret: secret.bytes,
            ttlSeconds: secret.turn.ttlSeconds,
            now: (now.milliseconds + date - current) / 1_000
        )
        return TURNCredential(
            username: made.username,
            credential: made.credential,
            ttlSeconds: made.ttlSeconds,
            urls: secret.turn.urls
        )
    }
}
