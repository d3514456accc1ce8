import CallCore

/// Bytes that were written to a connection and that its pongs have not yet shown to have arrived.
///
/// An upper bound of its queue that reads no socket, so that it is the same on every loop, behind every transport and in
/// the simulator. A pong confirms all that was written before its ping (RFC 6455 §5.5.3).
struct Backlog {
    private var written = 0
    private var confirmed = 0
    /// The ping whose pong is awaited, when it was sent, and all that was written before it.
    private var mark: (ping: UInt64, at: Moment, written: Int)?

    /// Bytes that may still be on their way.
    @inline(__always)
    var bytes: Int { written &- confirmed }

    /// Whether a pong is awaited that will make it smaller.
    var awaitsPong: Bool { mark != nil }

    /// Counts bytes that are written now, and says how many may be on their way.
    @inline(__always)
    mutating func write(_ count: Int) -> Int {
        written &+= count
        return bytes
    }

    /// A ping goes out behind all that was written.
    mutating func pinged(_ number: UInt64, at now: Moment) {
        if mark == nil { mark = (number, now, written) }
    }

    /// A ping was answered; whether that confirms anything.
    mutating func ponged(_ number: UInt64) -> Bool {
        guard let mark, mark.ping <= number else { return false }
        confirmed = mark.written
        self.mark = nil
        return true
    }

    /// Takes a pong for given that has been awaited since before `moment`; whether there was one.
    ///
    /// A client that talks and answers no ping would else count as slow for ever.
    mutating func giveUp(awaitedSince moment: Moment) -> Bool {
        guard let mark, mark.at <= moment else { return false }
        return ponged(mark.ping)
    }
}
