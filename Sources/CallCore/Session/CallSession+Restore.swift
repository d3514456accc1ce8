extension CallSession {
    /// What is kept of a call, besides its log, to go on with it after a restart.
    public struct Kept: Sendable {
        /// Its number over all calls.
        public var number: CallNumber
        /// Its name and its two users.
        public var key: CallKey
        /// Which use of the name this is.
        public var epoch: UInt32
        /// Who calls.
        public var caller: UserID
        /// When it began.
        public var startedAt: Moment
        /// When the ringing stops by itself.
        public var ringUntil: Moment
        /// When it was answered.
        public var answeredAt: Moment?
        /// When media first flowed.
        public var activeAt: Moment?
        /// How it ended.
        public var ending: Ending?
        /// The devices' parts in it; the caller's first.
        public var legs: [Leg]
        /// The callee's device that has, or had, the call.
        public var winner: Phone?
        /// Whether it has video.
        public var hasVideo: Bool
        /// Whether the callee is not to know of it.
        public var isHidden: Bool
        /// What the caller's side holds and mutes.
        public var callerMedia: MediaUpdate
        /// What the callee's side holds and mutes.
        public var calleeMedia: MediaUpdate

        /// A call of all its parts.
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
            winner: Phone?,
            hasVideo: Bool,
            isHidden: Bool,
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
            self.winner = winner
            self.hasVideo = hasVideo
            self.isHidden = isHidden
            self.callerMedia = callerMedia
            self.calleeMedia = calleeMedia
        }
    }

    /// Nothing has been logged since the numbers went on above what a crash may have lost.
    public var hasGapAtEnd: Bool { nextSeq != (log.last?.seq ?? 0) + 1 }

    /// The call as it was kept, taken up again at `now` with no device connected.
    ///
    /// Numbers go on well above the newest kept one: entries that were relayed but not committed when the server died
    /// have used some, and a number once shown is never given to another signal.
    ///
    /// `entries`: The kept log in `seq` order, each with its size in bytes.
    /// `crashes`: How many times the server died: each may have shown numbers above the last kept one.
    public init?(
        restoring kept: Kept,
        log entries: [(entry: LogEntry, byteCount: Int)],
        grace: Moment.Span,
        crashes: Int,
        at now: Moment
    ) {
        guard kept.key.pair.holds(kept.caller), let first = kept.legs.first, first.side == .caller else { return nil }
        number = kept.number
        key = kept.key
        epoch = kept.epoch
        caller = kept.caller
        callee = kept.key.pair.other(than: kept.caller)
        self.grace = grace
        startedAt = kept.startedAt
        isHidden = kept.isHidden
        legs = kept.legs
        hasVideo = kept.hasVideo
        ringUntil = kept.ringUntil
        answeredAt = kept.answeredAt
        activeAt = kept.activeAt
        callerMedia = kept.callerMedia
        calleeMedia = kept.calleeMedia
        nextSeq = (entries.last?.entry.seq ?? 0) + 1 + Limits.restartGap * UInt64(max(0, crashes))
        switch (kept.ending, kept.winner) {
        case (let ending?, let winner): phase = .ended(ending, answeredBy: winner)
        case (nil, let winner?): phase = kept.activeAt == nil ? .answered(by: winner) : .active(with: winner)
        case (nil, nil): phase = .ringing(until: kept.ringUntil)
        }
        for (entry, byteCount) in entries { replay(entry, byteCount: byteCount) }
        for index in legs.indices where legs[index].phase == .answered { legs[index].goneSince = now }
    }

    /// Takes a kept entry into the log, and what follows from it: receipts, open offers, the log's size.
    private mutating func replay(_ entry: LogEntry, byteCount: Int) {
        if case .signal(let kind, _, _, _, _) = entry.content { countEarly(kind, byteCount: byteCount) }
        log.append(entry)
        guard case .signal(let kind, let side, let phone, let id, _) = entry.content else { return }
        logBytes += byteCount
        if let id { receipts[SignalName(side: side, device: phone.id, id: id)] = entry.seq }
        if case .ringing = phase, kind == .connected, side == .callee { connectedEarly = phone }
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
