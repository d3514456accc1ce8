/// One epoch of one call, as the server sees it: from the first offer to its end.
///
///                  answer              connected
///     ringing ───────────▶ answered ───────────▶ active
///        │ end, timeout,       │ end, a side gone     │ end, a side gone
///        │ busy, glare         │ longer than grace    │ longer than grace
///        └────────────────────▶┴──────▶ ended ◀───────┘
///
/// A session does no I/O and reads no clock: what happened, and when, is handed in; what is to be done about it is
/// handed back. Every input may come late, twice or crossing another one, and then changes nothing.
public struct CallSession: Equatable, Sendable {
    /// Where the call stands, with all that is known in that phase and nothing that is not.
    public enum Phase: Equatable, Sendable {
        /// The callee's devices are alerted, until that moment.
        ///
        /// Leads to `answered` when one answers, and to `ended` by an end, time, busy or glare.
        case ringing(until: Moment)
        /// A device of the callee answered; media is being set up.
        ///
        /// Leads to `active` at the first `connected`, and to `ended`.
        case answered(by: Phone)
        /// Media flows, or flowed once.
        ///
        /// Leads to `ended`.
        case active(with: Phone)
        /// Nothing more happens. `answeredBy` is who was in the call then.
        case ended(Ending, answeredBy: Phone?)
    }

    /// How and when a call ended.
    public struct Ending: Equatable, Sendable {
        /// Why, as the caller and the answering device are told.
        public var reason: EndReason
        /// When.
        public var at: Moment
        /// The call that goes on instead: it won a glare over this one, or its caller began it later.
        public var replacedBy: CallID?
        /// The device of the callee that declined for all; the others are told so.
        public var declinedBy: Phone?

        /// An ending of all its parts.
        public init(reason: EndReason, at: Moment, replacedBy: CallID? = nil, declinedBy: Phone? = nil) {
            self.reason = reason
            self.at = at
            self.replacedBy = replacedBy
            self.declinedBy = declinedBy
        }
    }

    /// Its number over all calls.
    public let number: CallNumber
    /// Its name and its two users.
    public let key: CallKey
    /// Which use of the name this is, from 1.
    public let epoch: UInt32
    /// Who calls.
    public let caller: UserID
    /// Who is called.
    public let callee: UserID
    /// How long a side may be gone once the call is answered.
    public let grace: Moment.Span
    /// When it began.
    public let startedAt: Moment
    /// Whether the callee is not to know of it (a block, do-not-disturb).
    public let isHidden: Bool

    /// Where it stands.
    public internal(set) var phase: Phase
    /// The devices' parts in it; the first is the caller's.
    public internal(set) var legs: [Leg]
    /// Its log, in `seq` order.
    public internal(set) var log: [LogEntry] = []
    /// Whether it has video, as the newest offer of the caller says.
    public internal(set) var hasVideo: Bool
    /// When the ringing stops by itself; stays known afterwards.
    public internal(set) var ringUntil: Moment
    /// When it was answered.
    public internal(set) var answeredAt: Moment?
    /// When media first flowed.
    public internal(set) var activeAt: Moment?
    /// What the caller's side holds and mutes.
    public internal(set) var callerMedia = MediaUpdate()
    /// What the callee's side holds and mutes.
    public internal(set) var calleeMedia = MediaUpdate()
    /// The side whose offer waits for an answer, once the call was answered; both, when two renegotiations cross.
    public internal(set) var unansweredOffers: Set<Side> = []

    var nextSeq: UInt64
    var logBytes = 0
    /// What counts towards the limits that hold before the answer.
    var earlySignals = 0
    /// The bytes of those.
    var earlyBytes = 0
    var receipts: [SignalName: UInt64] = [:]
    /// A device whose `connected` overtook its answer on another transport.
    var connectedEarly: Phone?

    /// What a signal is known by when it comes again.
    ///
    /// Two users may name their devices alike, and number their signals alike: the side tells them apart.
    struct SignalName: Hashable {
        let side: Side
        let device: DeviceID
        let id: SignalID

        /// A device numbers its signals: these tell more apart than who sent them.
        func hash(into hasher: inout Hasher) { hasher.combine(id) }
    }

    /// A call that `phone` of `caller` begins at `now`.
    ///
    /// `firstSeq`: The number of the first entry: 1, or more after a crash that may have lost numbers already shown.
    public init(
        number: CallNumber,
        key: CallKey,
        epoch: UInt32,
        caller: UserID,
        phone: Phone,
        offer: Offer,
        isHidden: Bool,
        grace: Moment.Span,
        firstSeq: UInt64 = 1,
        at now: Moment
    ) {
        precondition(key.pair.holds(caller), "a call is begun by one of its two users")
        self.number = number
        self.key = key
        self.epoch = epoch
        self.caller = caller
        self.callee = key.pair.other(than: caller)
        self.grace = grace
        self.startedAt = now
        self.isHidden = isHidden
        self.hasVideo = offer.hasVideo
        self.ringUntil = now + offer.ringFor
        self.phase = .ringing(until: now + offer.ringFor)
        self.legs = [Leg(phone: phone, side: .caller, phase: .answered)]
        self.nextSeq = firstSeq
    }

    /// The moment at which ``Input/deadlineReached`` is due; `nil` while nothing is waited for.
    public var deadline: Moment? {
        switch phase {
        case .ringing(let until): until
        case .answered, .active:
            // A caller that went away while it rang has its whole grace from the answer on.
            goneLongest.map { max($0, answeredAt ?? $0) + grace }
        case .ended: nil
        }
    }

    /// Since when the side is away that has been away for longest; `nil` when both are there.
    private var goneLongest: Moment? {
        var first: Moment?
        for leg in legs where leg.phase == .answered {
            guard let since = leg.goneSince else { continue }
            first = first.map { min($0, since) } ?? since
        }
        return first
    }

    /// The call's state as it is told on the wire.
    public var state: CallState {
        switch phase {
        case .ringing: .ringing
        case .answered: .answered
        case .active: .active
        case .ended: .ended
        }
    }

    /// The caller's device.
    @inlinable
    public var callerPhone: Phone { legs[0].phone }

    /// The callee's device that has, or had, the call.
    @inlinable
    public var winner: Phone? {
        switch phase {
        case .ringing: nil
        case .answered(let phone), .active(let phone): phone
        case .ended(_, let phone): phone
        }
    }

    /// Whether the call is still going on.
    public var isLive: Bool {
        if case .ended = phase { false } else { true }
    }

    /// The number of the newest entry; 0 while there is none.
    public var lastSeq: UInt64 { log.last?.seq ?? 0 }

    /// On which side `user` is; `nil` for everybody else, and for a callee who is not to know of the call.
    public func side(of user: UserID) -> Side? {
        if user == caller { return .caller }
        return user == callee && !isHidden ? .callee : nil
    }

    /// Takes one input, and adds to `outputs` what is to be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into outputs: inout [Output]) {
        switch input {
        case .signal(let signal, let side, let phone): take(signal, from: side, phone, at: now, into: &outputs)
        case .notified(let phone): notified(phone, into: &outputs)
        case .gone(let phone, let side): gone(phone, side, at: now)
        case .seen(let phone, let side): seen(phone, side, into: &outputs)
        case .renewed(let old, let new, let side): renewed(old, as: new, side, into: &outputs)
        case .told(let phone, let side): told(phone, side, into: &outputs)
        case .foundBusy: endWhileRinging(.busy, at: now, into: &outputs)
        case .lostGlare(let winner): endWhileRinging(.glare, replacedBy: winner, at: now, into: &outputs)
        case .gaveWay(let next): endWhileRinging(.replaced, replacedBy: next, at: now, into: &outputs)
        case .replaced: if isLive { end(.replaced, by: nil, at: now, into: &outputs) }
        case .deadlineReached: deadlineReached(at: now, into: &outputs)
        }
    }

    /// As ``handle(_:at:into:)``, for callers to whom an array more is nothing.
    public mutating func handle(_ input: Input, at now: Moment) -> [Output] {
        var outputs: [Output] = []
        handle(input, at: now, into: &outputs)
        return outputs
    }

    private mutating func deadlineReached(at now: Moment, into outputs: inout [Output]) {
        // A timer may fire late, or for a deadline that has moved since.
        guard let deadline, now >= deadline else { return }
        switch phase {
        case .ringing: end(.unanswered, by: nil, at: now, into: &outputs)
        case .answered, .active: end(.disconnected, by: nil, at: now, into: &outputs)
        case .ended: break
        }
    }

    private mutating func endWhileRinging(
        _ reason: EndReason,
        replacedBy: CallID? = nil,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        guard case .ringing = phase else { return }
        end(reason, by: nil, replacedBy: replacedBy, at: now, into: &outputs)
    }
}
