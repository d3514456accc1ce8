public import CallCore

/// The calls of one device of one user, as that device knows them.
///
/// Every call runs through the phases below. If two users call each other at the same time (glare), one of the two
/// calls wins. If the incoming call wins, it replaces the outgoing call and is answered at once. Otherwise it is hidden
/// by the outgoing call: the user does not see it while the outgoing call continues.
///
///     startCall     localDescription    answer (peer)
///        │  preparing ─────────▶ calling ─────────┐
///        ▼                          │             ▼        mediaConnected
///      (call)                 lost glare ┐    connecting ────────────────▶ active ⇄ held, renegotiating
///        ▲                               ▼        ▲
///        │  ringing ──answer──▶ answering ────────┘        any ──end, timeout, failure, reset──▶ ended
///     offer, push ▲                          localDescription
///        └─▶ hidden (won glare)
///
/// The client core does no I/O and reads no clock. The app hands in what happened, and when, as an ``Input``. The core
/// returns what the app must do about it, as a list of ``Output`` values that the app carries out in order. An input
/// may arrive late, twice, or at the same time as a conflicting one; the core copes with all of these.
///
/// ```swift
/// var client = CallClient(configuration)
///
/// func handle(_ input: CallClient.Input) {
///     for output in client.handle(input, at: now()) {
///         switch output {
///         case .reportIncoming(let uuid, let caller): callKit.report(uuid, caller)
///         case .connect: socket.open()
///         case .send(let signal): socket.send(signal.frame)
///         …
///         }
///     }
///     timer.schedule(at: client.deadline)  // When it fires: handle(.deadlineReached)
/// }
///
/// handle(.startCall(call))                        // The user dials.
/// handle(.received(ServerMessage(Array(frame.utf8))))  // The WebSocket received a text frame.
/// handle(.pushed(values))                         // PushKit delivered a VoIP push.
/// ```
///
/// - The outputs use CallKit's terms, but the core does not import CallKit: see ``Output``. The outputs for each VoIP
///   push contain a report to the system.
/// - A signal waits in the outbox until the server has acknowledged it. It is sent over the connection (the device's
///   WebSocket to the server), or by REST if no connection is open or no ack comes in time. A signal always keeps its
///   id, and the signals of one call stay in order.
/// - Every signal of a call except its first offer names the call's epoch, and waits until the epoch is known. So a
///   signal for one call cannot affect a later call with the same callId.
public struct CallClient: Sendable {
    /// The configuration that the core was created with.
    public let configuration: Configuration
    /// The live calls, and up to ``ClientLimits/endedCalls`` ended calls, in the order in which they came.
    public internal(set) var calls: [Call] = []
    /// An upper bound for how far this device's clock is ahead of the server's clock; `nil` = unknown.
    ///
    /// Store it, and pass it to the next launch as ``Configuration/clockSkew``.
    public internal(set) var clockSkew: Moment.Duration?
    /// The moment from which this device may reconnect to a server that shut down; `nil` = at any time.
    ///
    /// If the core needs a connection, it waits until this moment, and then outputs ``Output/connect``. Only a call that
    /// the user makes and a push lead to a `connect` before. A ``Reconnection`` makes these wait too; an app without one
    /// need not, because such connections are too few to overload the server (protocol, section 3.1).
    public internal(set) var reconnectAt: Moment?
    /// Whether the system has activated the audio session for this app.
    public internal(set) var isAudioSessionActive = false

    var isConnected = false
    var isTokenExpired = false
    /// Whether the newest connection has another user's token.
    var isConnectionRefused = false
    /// Whether a clock may have been set since ``clockSkew`` was measured.
    ///
    /// The next measurement then replaces the value, even with a larger one.
    var isSkewStale = false
    var outbox: [Unacknowledged] = []
    var lastSignalNumber: UInt64 = 0
    var lastFetch: UInt64 = 0
    var lastReport: UInt64 = 0
    var lastCall: UInt64 = 0
    var out: [Output] = []

    /// Creates a core without calls.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        clockSkew = configuration.clockSkew
    }

    /// The number of signals that wait for an ack.
    public var unacknowledgedCount: Int { outbox.count }

    /// Takes one input and returns what the app must do about it, in order.
    ///
    /// - Parameters:
    ///   - input: what happened.
    ///   - now: the moment at which it happened, by this device's clock.
    /// - Returns: the outputs. Afterwards ``deadline`` may have changed.
    public mutating func handle(_ input: Input, at now: Moment) -> [Output] {
        out = []
        switch input {
        case .startCall(let call): start(call, at: now)
        case .reportFailed(let uuid, let why): reportFailed(uuid, why, at: now)
        case .reportSucceeded(let uuid): reportSucceeded(uuid)
        case .answer(let uuid): answer(uuid, at: now)
        case .answerTimedOut(let uuid): answerTimedOut(uuid, at: now)
        case .end(let uuid, let reason): end(uuid, reason, at: now)
        case .setHeld(let uuid, let isHeld): setHeld(uuid, isHeld, at: now)
        case .setMuted(let uuid, let audio, let video): setMuted(uuid, audio: audio, video: video, at: now)
        case .playDTMF(let uuid, let digits): playDTMF(uuid, digits, at: now)
        case .sendInfo(let uuid, let text): sendInfo(uuid, text, at: now)
        case .confirm(let uuid): confirm(uuid)
        case .renegotiate(let uuid, let hasVideo, let restartsICE):
            renegotiate(uuid, hasVideo: hasVideo, restartsICE: restartsICE, at: now)
        case .audioActivated: isAudioSessionActive = true
        case .audioDeactivated: isAudioSessionActive = false
        case .providerReset: providerReset(at: now)
        case .localDescription(let uuid, let round, let kind, let sdp):
            localDescription(uuid, round, kind, sdp, at: now)
        case .localCandidate(let uuid, let round, let candidate): localCandidate(uuid, round, candidate, at: now)
        case .mediaConnected(let uuid): mediaConnected(uuid, at: now)
        case .mediaFailed(let uuid): mediaFailed(uuid, at: now)
        case .negotiationFailed(let uuid, let round): negotiationFailed(uuid, round, at: now)
        case .connectionOpened: connectionOpened(at: now)
        case .connectionClosed: connectionClosed(at: now)
        case .received(let object): received(object, at: now)
        case .fetched(let number, let result): fetched(number, result, at: now)
        case .posted(let id, let result): posted(id, result, at: now)
        case .tokenRenewed: tokenRenewed(at: now)
        case .tokenExpired: tokenExpired(at: now)
        case .pushed(let push): pushed(push, at: now)
        case .deadlineReached: deadlineReached(at: now)
        }
        reconnectIfDue(at: now)
        sendDue(at: now)
        gateAudio()
        trim()
        defer { out = [] }
        return out
    }

    /// The moment at which ``Input/deadlineReached`` is due; `nil` while the core waits for nothing.
    ///
    /// Read it again after every call of ``handle(_:at:)``.
    public var deadline: Moment? {
        var next: Moment?
        for index in calls.indices { next = Self.earlier(next, calls[index].deadline) }
        if !isConnected, wantsConnection { next = Self.earlier(next, reconnectAt) }
        return Self.earlier(next, outboxDeadline)
    }

    static func earlier(_ a: Moment?, _ b: Moment?) -> Moment? {
        guard let a else { return b }
        return b.map { min(a, $0) } ?? a
    }

    /// Starts or stops the audio of each call.
    ///
    /// Audio flows only while the app owns the audio session, the call is answered, and this side has not put it on
    /// hold. The media engine has no part in a scheduled call, whose sound is the app's own.
    private mutating func gateAudio() {
        for index in calls.indices {
            let isOn = isAudioSessionActive && calls[index].isAnswered && calls[index].media.hold != true
            guard isOn != calls[index].isAudioOn else { continue }
            calls[index].isAudioOn = isOn
            guard !calls[index].isScheduled else { continue }
            out.append(isOn ? .startAudio(calls[index].uuid) : .stopAudio(calls[index].uuid))
        }
    }

    /// Forgets the oldest ended calls above ``ClientLimits/endedCalls``, and their signals in the outbox.
    private mutating func trim() {
        while calls.count(where: { !$0.isLive }) > ClientLimits.endedCalls,
            let oldest = calls.firstIndex(where: { !$0.isLive })
        {
            let number = calls[oldest].number
            outbox.removeAll { $0.call == number }
            calls.remove(at: oldest)
        }
    }
}
