public import CallCore

/// The limits and time spans of the client core, each with its reason.
public enum ClientLimits {
    /// How long a device waits, once a ring should have ended, for the server's message about the end.
    ///
    /// The message may be lost, so the device then ends the ring by itself.
    public static let ringGrace = Moment.Duration.seconds(5)
    /// The longest ring that a caller may ask for (protocol, section 3).
    ///
    /// A ring whose end is unknown lasts this long.
    public static let longestRing = Moment.Duration.seconds(120)
    /// How long an answered call may wait until the caller's description has arrived and the media engine has made its
    /// answer.
    public static let setupTimeout = Moment.Duration.seconds(30)
    /// How long an offer in an answered call waits for its answer; it is then withdrawn, and the call goes on.
    ///
    /// It equals the server's grace, after which a disconnected peer has left the call anyway.
    public static let renegotiationTimeout = Moment.Duration.seconds(30)
    /// The time without an ack after which a signal that was sent over the connection is sent by REST too.
    ///
    /// The connection may be half-open: open on this device, but gone for the server.
    public static let ackTimeout = Moment.Duration.seconds(4)
    /// The first pause before a request is retried; it doubles with each further failure.
    public static let firstRetryDelay = Moment.Duration.milliseconds(500)
    /// The longest pause before a request is retried.
    public static let longestRetryDelay = Moment.Duration.seconds(8)
    /// The longest pause after the first attempt to connect that failed; it doubles with each further failure.
    public static let firstReconnectPause = Moment.Duration.milliseconds(250)
    /// The longest pause between two attempts to connect.
    public static let longestReconnectPause = Moment.Duration.seconds(8)
    /// The time after which an attempt to connect is given up.
    public static let connectTimeout = Moment.Duration.seconds(10)
    /// How long a connection must have been open for the failures before it to be forgotten.
    public static let steadyConnection = Moment.Duration.seconds(8)
    /// The longest time for which a server that shuts down may keep a device from reconnecting.
    public static let longestReconnectDelay = Moment.Duration.seconds(60)
    /// The time after which the push tokens are uploaded again, although nothing changed.
    ///
    /// The server may have removed one that the push service refused for a while.
    public static let uploadInterval = Moment.Duration.seconds(24 * 3_600)
    /// The pause after the first upload that failed; it doubles with each further failure.
    public static let firstUploadPause = Moment.Duration.seconds(2)
    /// The longest pause before an upload is tried again.
    public static let longestUploadPause = Moment.Duration.seconds(300)
    /// The time after which an upload without a response counts as failed.
    public static let uploadTimeout = Moment.Duration.seconds(60)
    /// The largest number of ends that are kept for one call while its epoch is unknown.
    static let earlyEnds = 4
    /// How long the server may refuse a signal as `not_found` before the core drops the signal.
    ///
    /// A server that crashed may know the call again only when its clients have resent their signals.
    public static let notFoundTimeout = Moment.Duration.seconds(10)
    /// How long the core tries to send an end to an unreachable server; after this time the server has ended the call
    /// anyway.
    public static let endTimeout = Moment.Duration.seconds(150)
    /// The interval at which the log of a call hidden by an outgoing call is fetched.
    public static let hiddenCallCheck = Moment.Duration.seconds(3)
    /// The number of ended calls that are remembered, so that a late push or signal is not taken for a new call.
    public static let endedCalls = 64
    /// The largest number of calls hidden by outgoing calls at a time: an ordinary peer causes one, a hostile peer
    /// many.
    public static let hiddenCalls = 4
    /// The largest number of candidates of each side that wait for their description: trickle ICE produces about 40.
    public static let candidates = 256
    /// The largest number of one call's signals that wait for an ack: as many as the server's log holds.
    public static let unacknowledged = Limits.logSignals
    /// The number of signal ids that are remembered for one call: as many as the server's log holds.
    public static let signalIDs = Limits.logSignals
    /// The largest number of digits in one `dtmf` signal, which is the wire protocol's limit.
    public static let digits = 128
}
