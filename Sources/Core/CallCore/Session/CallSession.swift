/// One call, that is one epoch of a callId between two users, as the server sees it: from its first offer to its end.
///
///                  answer              connected
///     ringing ───────────▶ answered ───────────▶ active
///        │ end, timeout,       │ end, a side gone     │ end, a side gone
///        │ busy, glare         │ longer than grace    │ longer than grace
///        └────────────────────▶┴──────▶ ended ◀───────┘
///
/// A session does no I/O and reads no clock. Its owner passes in events with their moments, and gets back the actions
/// to take. An input may come late, twice, or at the same time as another input. An input that no longer applies
/// changes nothing.
public struct CallSession: Equatable, Sendable {
    /// The phase of the call, with exactly the data that is known in that phase.
    public enum Phase: Equatable, Sendable {
        /// The callee's devices alert their user, until that moment.
        ///
        /// Leads to `answered` when a device answers, and to `ended` by an `end`, the ring timeout, busy, a glare or a
        /// call that replaces this call.
        case ringing(until: Moment)
        /// A device of the callee has answered; media is being set up.
        ///
        /// Leads to `active` at the first `connected`, and to `ended`.
        case answered(by: DeviceIdentity)
        /// Media is flowing, or has flowed at least once.
        ///
        /// Leads to `ended`.
        case active(with: DeviceIdentity)
        /// The call is over; nothing more happens in it. `answeredBy` is the callee's device that was in the call at
        /// its end.
        case ended(Ending, answeredBy: DeviceIdentity?)
    }

    /// How and when a call ended.
    public struct Ending: Equatable, Sendable {
        /// The reason, as it is sent to the caller and to the answering device.
        public var reason: EndReason
        /// The time of the end.
        public var at: Moment
        /// The call that goes on instead: it won a glare over this call, or the caller rang the same callee with it
        /// later.
        public var replacedBy: CallID?
        /// The device of the callee that ended the ringing for all; the callee's other devices are notified.
        public var declinedBy: DeviceIdentity?

        /// Creates an ending from all its parts.
        public init(reason: EndReason, at: Moment, replacedBy: CallID? = nil, declinedBy: DeviceIdentity? = nil) {
            self.reason = reason
            self.at = at
            self.replacedBy = replacedBy
            self.declinedBy = declinedBy
        }
    }

    /// The facts that never change.
    public let identity: CallIdentity
    /// The time for which a side may be gone once the call is answered.
    public let grace: Moment.Duration
    /// The time at which the call began.
    public let startedAt: Moment

    /// The phase of the call.
    public internal(set) var phase: Phase
    /// The legs of the devices that take part; the first is the caller's.
    public internal(set) var legs: [Leg]
    /// The log of the call, in `seq` order.
    public internal(set) var log: [LogEntry] = []
    /// Whether the call has video, according to the caller's newest offer.
    public internal(set) var hasVideo: Bool
    /// The time at which the ringing stops by itself.
    ///
    /// The value is kept after the ringing.
    public internal(set) var ringUntil: Moment
    /// The time at which the call was answered.
    public internal(set) var answeredAt: Moment?
    /// The time at which the call became active: at the first `connected` after the answer, or at the answer if the
    /// answering device had sent `connected` before it.
    public internal(set) var activeAt: Moment?
    /// The hold and mute state of the caller's side.
    public internal(set) var callerMedia = MediaUpdate()
    /// The hold and mute state of the callee's side.
    public internal(set) var calleeMedia = MediaUpdate()
    /// The sides whose renegotiation offers wait for an answer; both if the two sides renegotiate at the same time.
    public internal(set) var unansweredOffers: Set<Side> = []

    var nextSeq: UInt64
    var logBytes = 0
    /// The number of signals that count towards ``Limits/earlySignals``.
    var earlySignals = 0
    /// The bytes of the signals that count towards ``Limits/earlyBytes``.
    var earlyBytes = 0
    var receipts = Receipts()
    /// The callee's device whose `connected` arrived before its own answer, which took another transport.
    var connectedEarly: DeviceIdentity?

    /// Creates a call that `device` of `caller` begins at `now`.
    ///
    /// `firstSeq`: The `seq` of the first entry: 1, or more after a crash, which may have lost entries that clients
    /// have seen.
    public init(
        number: CallNumber,
        key: CallKey,
        epoch: UInt32,
        caller: UserID,
        device: DeviceIdentity,
        offer: Offer,
        isHidden: Bool,
        scheduled: ScheduledCall? = nil,
        grace: Moment.Duration,
        firstSeq: UInt64 = 1,
        at now: Moment
    ) {
        precondition(key.pair.contains(caller), "a call is begun by one of its two users")
        identity = CallIdentity(
            number: number,
            key: key,
            epoch: epoch,
            caller: caller,
            isHidden: isHidden,
            scheduled: scheduled
        )
        self.grace = grace
        self.startedAt = now
        self.hasVideo = offer.hasVideo
        self.ringUntil = now + offer.ringTimeout
        self.phase = .ringing(until: now + offer.ringTimeout)
        // No device is on the caller's side of a scheduled call, so none can be gone, or hear of the end.
        self.legs = [Leg(device: device, side: .caller, phase: scheduled == nil ? .answered : .left)]
        self.nextSeq = firstSeq
        // Most calls have at least as many entries; to grow step by step would allocate and copy three times.
        log.reserveCapacity(8)
    }

    /// The number of the call, unique over all calls.
    public var number: CallNumber { identity.number }
    /// The callId and the two users.
    public var key: CallKey { identity.key }
    /// The call's epoch (``CallIdentity/epoch``).
    public var epoch: UInt32 { identity.epoch }
    /// The user who calls.
    public var caller: UserID { identity.caller }
    /// The user who is called.
    public var callee: UserID { identity.callee }
    /// The ring of a schedule that the call is; `nil` = a user's device has begun the call.
    @inlinable public var scheduled: ScheduledCall? { identity.scheduled }
    /// Whether the call is hidden from the callee (``CallIdentity/isHidden``).
    @inlinable public var isHidden: Bool { identity.isHidden }

    /// The time at which ``Input/deadlineReached`` is due; `nil` while there is no deadline.
    public var deadline: Moment? {
        switch phase {
        case .ringing(let until): until
        case .answered, .active:
            // If the caller's device went away while the call rang, its grace begins at the answer.
            earliestGoneSince.map { max($0, answeredAt ?? $0) + grace }
        case .ended: nil
        }
    }

    /// The time since which a side has been gone, the earlier time if both are gone; `nil` if no side is gone.
    private var earliestGoneSince: Moment? {
        var first: Moment?
        for index in legs.indices where legs[index].phase == .answered {
            guard let since = legs[index].goneSince else { continue }
            first = first.map { min($0, since) } ?? since
        }
        return first
    }

    /// The state of the call, as the wire reports it.
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
    public var callerDevice: DeviceIdentity { legs[0].device }

    /// The callee's device that answered; `nil` if none did.
    @inlinable
    public var answeringDevice: DeviceIdentity? {
        switch phase {
        case .ringing: nil
        case .answered(let device), .active(let device): device
        case .ended(_, let device): device
        }
    }

    /// Whether the call has not ended.
    public var isLive: Bool {
        if case .ended = phase { false } else { true }
    }

    /// The number of the newest entry; 0 while the log is empty.
    public var lastSeq: UInt64 { log.last?.seq ?? 0 }

    /// Returns the side that `user` is on; `nil` for all other users, and for a callee from whom the call is hidden.
    public func side(of user: UserID) -> Side? { identity.side(of: user) }

    /// Handles one input and appends the resulting actions to `outputs`, in order.
    public mutating func handle(_ input: Input, at now: Moment, into outputs: inout [Output]) {
        switch input {
        case .signal(let signal, let side, let device): take(signal, from: side, device, at: now, into: &outputs)
        case .notified(let device): notified(device, into: &outputs)
        case .gone(let device, let side): gone(device, side, at: now)
        case .seen(let device, let side): seen(device, side, into: &outputs)
        case .renewed(let old, let new, let side): renewed(old, as: new, side, into: &outputs)
        case .endDelivered(let device, let side): endDelivered(device, side, into: &outputs)
        case .foundBusy: endWhileRinging(.busy, at: now, into: &outputs)
        case .lostGlare(let winner): endWhileRinging(.glare, replacedBy: winner, at: now, into: &outputs)
        case .gaveWay(let next): endWhileRinging(.replaced, replacedBy: next, at: now, into: &outputs)
        case .replaced: if isLive { end(.replaced, by: nil, at: now, into: &outputs) }
        case .withdrawn: endWhileRinging(.cancelled, at: now, into: &outputs)
        case .confirmed: if isLive { end(.confirmed, by: nil, at: now, into: &outputs) }
        case .deadlineReached: deadlineReached(at: now, into: &outputs)
        }
    }

    /// Does the same as ``handle(_:at:into:)``, for callers that can afford to allocate an array.
    public mutating func handle(_ input: Input, at now: Moment) -> [Output] {
        var outputs: [Output] = []
        handle(input, at: now, into: &outputs)
        return outputs
    }

    private mutating func deadlineReached(at now: Moment, into outputs: inout [Output]) {
        // A timer may fire late, or for a deadline that has moved since then.
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
