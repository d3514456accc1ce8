import CallCore

/// Decides when a connection that stays open needs fresh TURN credentials.
///
/// `welcome` names credentials, so that a new connection needs none. But a connection may stay open for longer than they are
/// valid (a day by default), and the next call would then get expired ones.
struct TURNRenewal: Equatable {
    /// The shortest time between two requests.
    static let pause = Moment.Duration.seconds(30)

    private var expiry: Moment?
    private var requestedAt: Moment?
    /// When to request fresh credentials; `nil` = there are none that expire.
    private(set) var deadline: Moment?

    /// Credentials have arrived, which are valid until `expiry`; `nil` = without end, or there are none.
    mutating func received(validUntil expiry: Moment?, at now: Moment) {
        self.expiry = expiry
        schedule(at: now)
    }

    /// A request was sent.
    mutating func requested(at now: Moment) {
        requestedAt = now
        // If no response comes at all, this is the next attempt.
        deadline = now + Self.pause
    }

    /// The request failed.
    mutating func failed(at now: Moment) { schedule(at: now) }

    /// The server has no TURN server.
    mutating func stop() { self = TURNRenewal() }

    /// Chooses the middle of the remaining life: the first attempt is early enough for many further ones.
    private mutating func schedule(at now: Moment) {
        guard let expiry else { return deadline = nil }
        let half = Moment.Duration.milliseconds(max(0, (expiry - now).milliseconds / 2))
        // A clock that was set back must not make the pause longer.
        let earliest = requestedAt.map { min($0, now) + Self.pause } ?? now
        deadline = max(now + half, earliest)
    }
}

extension [ICEServer] {
    /// The second since 1970, by the server's clock, in which the first of the credentials expires; `nil` = none says it.
    ///
    /// The user name of a TURN credential begins with that second (protocol, section 5.8).
    var expirySecond: Int64? {
        compactMap { server in Int64(server.username?.prefix { ("0"..."9").contains($0) } ?? "") }.min()
    }
}
