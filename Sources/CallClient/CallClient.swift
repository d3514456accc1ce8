public import CallCore

/// The calls of one device of one user, from its own point of view.
///
///     startCall     localDescription    answer (peer)
///        │  preparing ─────────▶ calling ─────────┐
///        ▼                          │             ▼        mediaConnected
///      (call)                 lost glare ┐    connecting ────────────────▶ active ⇄ held, renegotiating
///        ▲                               ▼        ▲
///        │  ringing ──answer──▶ answering ────────┘        any ──end, timeout, failure, reset──▶ ended
///     offer, push ▲                          localDescription
///        └─▶ shadowed (won glare)
///
/// It does no I/O and reads no clock: what happened, and when, is handed in; what is to be done about it is handed back,
/// in order. Every input may come late, twice, or crossing another one.
///
/// - The system's words are CallKit's, without CallKit: see ``Output``. Every VoIP push leads to a report in its turn.
/// - A signal waits in the outbox until the server has acknowledged it. It goes out by the socket, and by REST while
///   there is none or it says nothing, always under the same name and in order within its call.
/// - All but the first offer of a call name its epoch, and wait until it is known: nothing that was meant for one use of
///   a callId can touch the next.
public struct CallClient: Sendable {
    /// What it was told once.
    public let configuration: Configuration
    /// Its calls: those that go on, and up to ``ClientLimits/endedCalls`` that are over, in the order it learnt of them.
    public internal(set) var calls: [Call] = []
    /// By how much this device's clock is ahead of the server's, at most; `nil` = not known.
    ///
    /// Worth keeping for the next run.
    public internal(set) var clockSkew: Moment.Span?
    /// When a server that shuts down wants this device back; `nil` = whenever it likes.
    ///
    /// For calls the core keeps to it by itself: ``Output/connect`` comes then. An app that opens sockets of its own accord
    /// does so no earlier - unless its user makes a call or a push wakes it, of which there is no crowd.
    public internal(set) var reconnectAt: Moment?
    /// Whether the system has handed over the audio session.
    public internal(set) var isAudioSessionActive = false

    var isSocketOpen = false
    var isTokenExpired = false
    /// Whether a fresher bound for the skew replaces the one at hand: the clock may have been set since.
    var isSkewStale = false
    var outbox: [Unacknowledged] = []
    var lastName: UInt64 = 0
    var lastFetch: UInt64 = 0
    var lastReport: UInt64 = 0
    var lastCall: UInt64 = 0
    var out: [Output] = []

    /// A core without calls.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        clockSkew = configuration.clockSkew
    }

    /// How many signals wait for an ack.
    public var unacknowledgedCount: Int { outbox.count }

    /// Takes one input; what is to be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment) -> [Output] {
        out = []
        switch input {
        case .startCall(let call): start(call, at: now)
        case .answer(let uuid): answer(uuid, at: now)
        case .end(let uuid, let reason): end(uuid, reason, at: now)
        case .setHeld(let uuid, let isHeld): setHeld(uuid, isHeld, at: now)
        case .setMuted(let uuid, let audio, let video): setMuted(uuid, audio: audio, video: video, at: now)
        case .playDTMF(let uuid, let digits): playDTMF(uuid, digits, at: now)
        case .sendInfo(let uuid, let text): sendInfo(uuid, text, at: now)
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
        case .socketOpened: socketOpened(at: now)
        case .socketClosed: socketClosed(at: now)
        case .received(let object): received(object, at: now)
        case .fetched(let number, let result): fetched(number, result, at: now)
        case .posted(let id, let result): posted(id, result, at: now)
        case .tokenRenewed: tokenRenewed(at: now)
        case .tokenExpired: tokenExpired(at: now)
        case .pushed(let push): pushed(push, at: now)
        case .deadlineReached: deadlineReached(at: now)
        }
        comeBack(at: now)
        pump(at: now)
        gateAudio()
        trim()
        defer { out = [] }
        return out
    }

    /// The moment at which ``Input/deadlineReached`` is due; `nil` while nothing is waited for.
    public var deadline: Moment? {
        var next: Moment?
        for index in calls.indices { next = Self.earlier(next, calls[index].deadline) }
        if !isSocketOpen, wantsSocket { next = Self.earlier(next, reconnectAt) }
        return Self.earlier(next, outboxDeadline)
    }

    static func earlier(_ a: Moment?, _ b: Moment?) -> Moment? {
        guard let a else { return b }
        return b.map { min(a, $0) } ?? a
    }

    /// Sound flows exactly where the session is ours, the call is answered, and this side does not hold it.
    private mutating func gateAudio() {
        for index in calls.indices {
            let isOn = isAudioSessionActive && calls[index].isAnswered && calls[index].media.hold != true
            guard isOn != calls[index].isAudioOn else { continue }
            calls[index].isAudioOn = isOn
            out.append(isOn ? .startAudio(calls[index].uuid) : .stopAudio(calls[index].uuid))
        }
    }

    /// Forgets the oldest of the calls that are over, and what waited to be sent for them.
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
