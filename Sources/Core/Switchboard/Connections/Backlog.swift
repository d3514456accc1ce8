import CallCore

/// The bytes that were written to a connection and that its pongs have not yet confirmed.
///
/// This is an upper bound of the connection's queue. It is computed without reading the socket, so that it is the same
/// on every loop, for every transport and in the simulator. A pong confirms everything that was written before its ping
/// (RFC 6455 §5.5.3).
struct Backlog {
    private var written = 0
    private var confirmed = 0
    /// The ping whose pong is awaited, when that ping was sent, and the number of bytes written before it.
    private var awaitedPing: (ping: UInt64, at: Moment, written: Int)?

    /// The number of bytes that may still be on their way.
    @inline(__always)
    var bytes: Int { written &- confirmed }

    /// Whether a pong that will reduce the backlog is awaited.
    var awaitsPong: Bool { awaitedPing != nil }

    /// Counts bytes that are written now, and returns how many may be on their way.
    @inline(__always)
    mutating func write(_ count: Int) -> Int {
        written &+= count
        return bytes
    }

    /// Records a ping that is sent after all bytes written so far.
    @inline(__always)
    mutating func pinged(_ number: UInt64, at now: Moment) {
        if awaitedPing == nil { awaitedPing = (number, now, written) }
    }

    /// Records the pong to a ping; returns whether it confirms anything.
    @inline(__always)
    mutating func ponged(_ number: UInt64) -> Bool {
        guard let awaitedPing, awaitedPing.ping <= number else { return false }
        confirmed = awaitedPing.written
        self.awaitedPing = nil
        return true
    }

    /// Treats a pong that has been awaited since `moment` or longer as received; returns whether there was such a pong.
    ///
    /// Without this, a client that sends frames and answers no ping would count as slow for ever.
    @inline(__always)
    mutating func assumePong(awaitedSince moment: Moment) -> Bool {
        guard let awaitedPing, awaitedPing.at <= moment else { return false }
        return ponged(awaitedPing.ping)
    }
}
