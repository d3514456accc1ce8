extension CallSession {
    /// The state that continues a call after a restart, together with the log.
    public struct Snapshot: Equatable, Sendable {
        /// The number of the call, unique over all calls.
        public var number: CallNumber
        /// The callId and the two users.
        public var key: CallKey
        /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and users.
        public var epoch: UInt32
        /// The user who calls.
        public var caller: UserID
        /// The time at which the call began.
        public var startedAt: Moment
        /// The time at which the ringing stops by itself.
        public var ringUntil: Moment
        /// The time at which the call was answered.
        public var answeredAt: Moment?
        /// The time at which the call became active (``CallSession/activeAt``).
        public var activeAt: Moment?
        /// How and when the call ended.
        public var ending: Ending?
        /// The legs of the devices that take part; the caller's is first.
        public var legs: [Leg]
        /// The callee's device that answered; `nil` if none did.
        public var answeringDevice: DeviceIdentity?
        /// Whether the call has video.
        public var hasVideo: Bool
        /// Whether the call is hidden from the callee.
        public var isHidden: Bool
        /// The ring of a schedule that the call is; `nil` = a user's device has begun the call.
        public var scheduled: ScheduledCall?
        /// The hold and mute state of the caller's side.
        public var callerMedia: MediaUpdate
        /// The hold and mute state of the callee's side.
        public var calleeMedia: MediaUpdate

        /// Creates the state from all its parts.
        public init(
            number: CallNumber,
            key: CallKey,
            epoch: UInt32,
            caller: UserID,
            startedAt: Moment,
            ringUntil: Moment,
            answeredAt: Moment?,
            activeAt: Moment?,
            ending: Ending?,
            legs: [Leg],
            answeringDevice: DeviceIdentity?,
            hasVideo: Bool,
            isHidden: Bool,
            scheduled: ScheduledCall? = nil,
            callerMedia: MediaUpdate,
            calleeMedia: MediaUpdate
        ) {
            self.number = number
            self.key = key
            self.epoch = epoch
            self.caller = caller
            self.startedAt = startedAt
            self.ringUntil = ringUntil
            self.answeredAt = answeredAt
            self.activeAt = activeAt
            self.ending = ending
            self.legs = legs
            self.answeringDevice = answeringDevice
            self.hasVideo = hasVideo
            self.isHidden = isHidden
            self.scheduled = scheduled
            self.callerMedia = callerMedia
            self.calleeMedia = calleeMedia
        }
    }

    /// The state of the call now, with legs whose ``Leg/goneSince`` is `nil`.
    public var snapshot: Snapshot {
        let ending: Ending? = if case .ended(let ending, _) = phase { ending } else { nil }
        return Snapshot(
            number: number,
            key: key,
            epoch: epoch,
            caller: caller,
            startedAt: startedAt,
            ringUntil: ringUntil,
            answeredAt: answeredAt,
            activeAt: activeAt,
            ending: ending,
            legs: legs.map { Leg(device: $0.device, side: $0.side, phase: $0.phase) },
            answeringDevice: answeringDevice,
            hasVideo: hasVideo,
            isHidden: isHidden,
            scheduled: scheduled,
            callerMedia: callerMedia,
            calleeMedia: calleeMedia
        )
    }

    /// Whether the next `seq` leaves a gap after the newest entry.
    ///
    /// There is a gap if `seq` has skipped the values that a crash may have lost, and no entry has been logged since
    /// then.
    public var hasGapAtEnd: Bool { nextSeq != (log.last?.seq ?? 0) + 1 }

    /// Restores a stored call at `now`, with no device connected.
    ///
    /// After a crash, `seq` continues well above the `seq` of the newest stored entry. Entries that were relayed but
    /// not committed when the server died have used some of the values in between, and a `seq` that a client has seen
    /// is never given to another signal.
    ///
    /// `entries`: The stored log in `seq` order, each entry with its size in bytes.
    /// `uncleanStarts`: How many recent crashes there were. Before each of them, clients may have seen a `seq` above
    /// the last stored `seq`.
    public init?(
        restoring kept: Snapshot,
        log entries: [(entry: LogEntry, byteCount: Int)],
        grace: Moment.Duration,
        uncleanStarts: Int,
        at now: Moment
    ) {
        guard kept.key.pair.contains(kept.caller), let first = kept.legs.first, first.side == .caller else {
            return nil
        }
        identity = CallIdentity(
            number: kept.number,
            key: kept.key,
            epoch: kept.epoch,
            caller: kept.caller,
            isHidden: kept.isHidden,
            scheduled: kept.scheduled
        )
        self.grace = grace
        startedAt = kept.startedAt
        legs = kept.legs
        hasVideo = kept.hasVideo
        ringUntil = kept.ringUntil
        answeredAt = kept.answeredAt
        activeAt = kept.activeAt
        callerMedia = kept.callerMedia
        calleeMedia = kept.calleeMedia
        nextSeq = (entries.last?.entry.seq ?? 0) + 1 + Limits.restartGap * UInt64(max(0, uncleanStarts))
        switch (kept.ending, kept.answeringDevice) {
        case (let ending?, let answeringDevice): phase = .ended(ending, answeredBy: answeringDevice)
        case (nil, let answeringDevice?):
            phase = kept.activeAt == nil ? .answered(by: answeringDevice) : .active(with: answeringDevice)
        case (nil, nil): phase = .ringing(until: kept.ringUntil)
        }
        for (entry, byteCount) in entries { replay(entry, byteCount: byteCount) }
        for index in legs.indices where legs[index].phase == .answered { legs[index].goneSince = now }
    }

    /// Appends a stored entry to the log and updates what depends on it: receipts, unanswered offers, the log's size.
    private mutating func replay(_ entry: LogEntry, byteCount: Int) {
        if case .signal(let kind, _, _, _, _) = entry.content { countEarly(kind, byteCount: byteCount) }
        log.append(entry)
        guard case .signal(let kind, let side, let device, let id, _) = entry.content else { return }
        logBytes += byteCount
        if let id {
            receipts.set(entryAt: log.count - 1, for: id, kind, from: side, device.id, in: log)
        }
        if case .ringing = phase, kind == .connected, side == .callee { connectedEarly = device }
        guard let answeredAt, isLive, entry.at >= answeredAt else { return }
        switch kind {
        case .offer: unansweredOffers.insert(side)
        case .answer:
            unansweredOffers.remove(side.other)
            if side == .callee { unansweredOffers.remove(.callee) }
        case .ringing, .ice, .connected, .update, .dtmf, .info, .end: break
        }
    }
}
