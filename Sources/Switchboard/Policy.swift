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
    /// Whose word a caller's name is.
    public var callerName = CallerName.any
    /// Which of Apple's services a device is pushed by that does not say; `nil` = find out.
    public var apnsEnvironment: APNsEnvironment?
    /// Signals that a session may send a second, on average.
    public var signalsPerSecond = 50
    /// Signals that a session may send at once.
    public var signalBurst = 200
    /// Ends a second that a user may send which end nothing, on average.
    public var endsPerSecond = 50
    /// Such ends that a user may send at once.
    public var endBurst = 200
    /// Bytes of logs and timelines that are kept for a user in a day: some 10,000 calls.
    public var keptBytesPerDay = 256 << 20
    /// Sessions that may be present in one group room: each coming and going is told to all of them.
    public var sessionsPerRoom = 256
    /// Connections that a user may open a minute, on average and at once.
    public var connectsPerMinute = 60
    /// Calls that a user may begin a minute.
    public var callsPerMinute = 30
    /// Rings a minute of one caller to one callee, on average and at once; 0 = as many as they like.
    public var ringsPerPair = 6
    /// Rings a minute that one callee gets from everybody; 0 = as many as come.
    public var ringsPerCallee = 30
    /// Callers that ring one callee at the same time; further ones are told that the callee is busy.
    public var callersPerCallee = 5
    /// Bytes that may be on their way to a connection before its senders must wait: a quarter of its queue.
    public var backlogBytes = 256 * 1_024
    /// Bytes of a replay that are sent before the connection must show that it takes them; most calls fit in one.
    public var replaySlice = 32 * 1_024
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

    /// Whose word the name of a caller, or of a text's sender, is.
    public enum CallerName: String, Sendable, CaseIterable {
        /// The client's, and the token's where the client says none.
        case any
        /// The token's alone: nobody calls under another name. A service, which may name any user, may name it as well.
        case token
    }

    /// What happens to a second call for somebody who is in one.
    public enum BusyPolicy: String, Sendable, CaseIterable {
        /// It rings, and says that it waits.
        case waiting
        /// Its caller is told that the callee is busy.
        case busy
    }
}
