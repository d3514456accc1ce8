public import CallCore

/// Every limit and span of the client core, with its reason.
public enum ClientLimits {
    /// How much longer than the server a device rings by itself: a lost message ends no ring, and the server's word comes first.
    public static let ringGrace = Moment.Span.seconds(5)
    /// The longest that a caller may ask to ring (protocol, section 3): what a ring lasts of which nothing is known.
    public static let longestRing = Moment.Span.seconds(120)
    /// How long an answered call may wait for the caller's description and for the engine's answer to it.
    public static let setup = Moment.Span.seconds(30)
    /// After how long without an ack a signal that went out by the socket goes out by REST too: a half-open socket.
    public static let ackPatience = Moment.Span.seconds(4)
    /// The first pause before a request is tried again; doubled each time.
    public static let firstPause = Moment.Span.milliseconds(500)
    /// The longest pause before a request is tried again.
    public static let longestPause = Moment.Span.seconds(8)
    /// The longest that a server which shuts down may keep a device away.
    public static let longestReturn = Moment.Span.seconds(60)
    /// Ends kept of one call whose epoch is not known.
    static let earlyEnds = 4
    /// For how long `not_found` may mean that a server which crashed has not been told of the call again yet.
    public static let notFoundPatience = Moment.Span.seconds(10)
    /// For how long an end is told to a server that cannot be reached; by then it has ended the call by itself.
    public static let endPatience = Moment.Span.seconds(150)
    /// When to look after a call that is hushed because ours goes on in its place.
    public static let shadowCheck = Moment.Span.seconds(3)
    /// Calls that are over and still known, so that a late push or signal is not taken for a new call.
    public static let endedCalls = 64
    /// Calls that are hushed at a time: one peer makes one; a hostile one many.
    public static let shadowedCalls = 4
    /// Candidates of either side that wait for their description: trickle ICE makes some 40.
    public static let candidates = 256
    /// Signals of one call that wait for their ack: as many as the server's log holds.
    public static let unacknowledged = Limits.logSignals
    /// Names of signals that are remembered in one call: as many as the server's log holds.
    public static let signalNames = Limits.logSignals
    /// Digits in one `dtmf` (the wire's limit).
    public static let digits = 128
}
