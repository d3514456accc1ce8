public import CallCore

/// What an operator may choose; each default is the protocol's (sections 3, 6, 8).
public struct Policy: Sendable {
    /// For how long a callee is rung when the offer does not say.
    public var ringFor = Moment.Span.seconds(45)
    /// How long a session may take to answer the ping that goes with an offer.
    public var probeFor = Moment.Span.seconds(2)
    /// How long a side may be gone once the call is answered.
    public var grace = Moment.Span.seconds(30)
    /// How often a session is pinged.
    public var heartbeat = Moment.Span.seconds(25)
    /// After how long a silence a session is dropped.
    public var silence = Moment.Span.seconds(60)
    /// How long a socket outlives its token: clocks differ.
    public var tokenLeeway = Moment.Span.seconds(60)
    /// How long an ended call can be fetched.
    public var fetchableFor = Moment.Span.seconds(600)
    /// How long the history is kept.
    public var historyFor = Moment.Span.seconds(30 * 86_400)
    /// What is said to the caller of somebody who is in a call.
    public var whenBusy = BusyPolicy.waiting
    /// Which of Apple's services a device is pushed by that does not say; `nil` = find out.
    public var apnsEnvironment: APNsEnvironment?
    /// Signals that a session may send a second, on average.
    public var signalsPerSecond = 50
    /// Signals that a session may send at once.
    public var signalBurst = 200
    /// Calls that a user may begin a minute.
    public var callsPerMinute = 30
    /// Sessions that a user may have open.
    public var sessionsPerUser = 16
    /// Devices that a user may register.
    public var devicesPerUser = 32
    /// Users that a user may block.
    public var blocksPerUser = 1_000
    /// Frames refused for being too fast after which a session is closed.
    public var refusedFrames = 1_000
    /// Frames in a row that are no JSON after which a session is closed.
    public var badFrames = 10
    /// The ICE servers that clients are told: a JSON array as bytes.
    public var iceServers = Array("[]".utf8)
    /// The longest that a long poll waits.
    public var longestPoll = Moment.Span.seconds(30)
    /// For how long after an unclean start a lost number may still be remembered by a client: the longest ring and then some.
    public var crashShadow = Moment.Span.seconds(180)

    /// The defaults.
    public init() {}

    /// What happens to a second call for somebody who is in one.
    public enum BusyPolicy: String, Sendable, CaseIterable {
        /// It rings, and says that it waits.
        case waiting
        /// Its caller is told that the callee is busy.
        case busy
    }
}
