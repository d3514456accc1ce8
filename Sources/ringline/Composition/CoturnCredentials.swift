import CallCore
import Identity
import Switchboard

/// Signs coturn's time-limited credentials (`use-auth-secret`, `static-auth-secret`).
struct CoturnCredentials: RelayIssuer {
    private let secret: [UInt8]
    private let urls: [String]
    private let ttlSeconds: Int64

    /// Reads the secret, once; `warn` gets what is odd about it.
    init(_ turn: ServeSettings.TURN, warn: (String) -> Void) throws(Complaint) {
        secret = try Keys.secret(turn.secretFile, for: "turn-secret-file", warn: warn)
        urls = turn.urls
        ttlSeconds = turn.ttlSeconds
    }

    func credential(for user: UserID, at now: Moment) -> RelayCredential {
        let made = TurnCredential(
            user: user.text,
            secret: secret,
            ttlSeconds: ttlSeconds,
            now: now.milliseconds / 1_000
        )
        return RelayCredential(
            username: made.username,
            credential: made.credential,
            ttlSeconds: made.ttlSeconds,
            urls: urls
        )
    }
}
