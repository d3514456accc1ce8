import CallCore

/// Finds out whether a connection still works: a device may lose its network without any report of it.
///
/// `URLSession` does not show an app the server's pings, so the kit sends pings of its own.
struct Liveness: Equatable {
    /// The pause between two pings; the server drops a connection that is silent for 60 s.
    static let interval = Moment.Duration.seconds(25)
    /// The longest wait for a pong.
    static let pongTimeout = Moment.Duration.seconds(10)

    private(set) var pingAt: Moment?
    private(set) var pongBy: Moment?

    /// The moment at which the next ping, or the pong to the last one, is due.
    var deadline: Moment? { pongBy ?? pingAt }

    /// The connection is open, or something arrived on it.
    mutating func received(at now: Moment) {
        pongBy = nil
        pingAt = now + Self.interval
    }

    /// A ping was sent.
    mutating func pinged(at now: Moment) { pongBy = now + Self.pongTimeout }

    /// The connection is closed.
    mutating func stop() { self = Liveness() }
}
