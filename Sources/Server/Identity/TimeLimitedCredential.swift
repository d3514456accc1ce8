import Crypto

/// A time-limited credential for coturn (`use-auth-secret`; draft-uberti-behave-turn-rest-00).
package struct TimeLimitedCredential: Sendable, Equatable {
    /// `<expiry>:<user>`: the expiry in seconds since 1970, and the user for whom it was issued, for coturn's log.
    package let username: String
    /// The base64 text of the HMAC-SHA1 of the username under the shared secret.
    package let credential: String
    /// How long the credential is valid, in seconds.
    package let ttlSeconds: Int64

    /// Creates a credential for a user.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - secret: coturn's `static-auth-secret`.
    ///   - ttlSeconds: how long the credential is valid, from `now`.
    ///   - now: seconds since 1970.
    package init(user: String, secret: [UInt8], ttlSeconds: Int64, now: Int64) {
        let (expiry, overflow) = now.addingReportingOverflow(ttlSeconds)
        username = "\(overflow ? .max : expiry):\(user)"
        credential = Base64.encode(HMACSHA1.code(of: Array(username.utf8), key: secret))
        self.ttlSeconds = ttlSeconds
    }
}
