import CallCore

/// Whether a connection still carries anything: a device may have lost its network without a sign.
///
/// The server's own pings do not reach an app through `URLSession`, so the kit sends its own.
struct Liveness: Equatable {
    /// The pause between two pings; the server drops a connection that is silent for 60 s.
    static let interval = Moment.Duration.seconds(25)
    /// The longest wait for a pong.
    static let patience = Moment.Duration.seconds(10)

    private(set) var pingAt: Moment?
    private(set) var pongBy: Moment?

    /// The moment at which something is due.
    var deadline: Moment? { pongBy ?? pingAt }

    /// The connection is open, or something arrived on it.
    mutating func heard(at now: Moment) {
        pongBy = nil
        pingAt = now + Self.interval
    }

    /// A ping was sent.
    mutating func pinged(at now: Moment) { pongBy = now + Self.patience }

    /// The connection is closed.
    mutating func stop() { self = Liveness() }
}
