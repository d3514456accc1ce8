import CallCore
import Identity
import Switchboard
import Threads

/// Signs coturn's time-limited credentials (`use-auth-secret`, `static-auth-secret`).
struct CoturnCredentials: RelayIssuer {
    private let secret: [UInt8]
    private let urls: [String]
    private let ttlSeconds: Int64
    private let clock: ServerClock

    /// Reads the secret, once; `warn` gets what is odd about it.
    init(_ turn: ServeSettings.TURN, _ clock: ServerClock, warn: (String) -> Void) throws(Complaint) {
        secret = try Keys.secret(turn.secretFile, for: "turn-secret-file", warn: warn)
        urls = turn.urls
        ttlSeconds = turn.ttlSeconds
        self.clock = clock
    }

    func credential(for user: UserID, at now: Moment) -> RelayCredential {
        // coturn holds it against its own clock, which has the world's date.
        let (current, date) = clock.nowAndDate()
        let made = TurnCredential(
            user: user.text,
            secret: secret,
            ttlSeconds: ttlSeconds,
            now: (now.milliseconds + date - current) / 1_000
        )
        return RelayCredential(
            username: made.username,
            credential: made.credential,
            ttlSeconds: made.ttlSeconds,
            urls: urls
        )
    }
}
