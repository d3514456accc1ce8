import CallCore
import CallPorts
import CallWire

/// Calls at rest: an ended call is removed from memory, and loaded again when a client asks for it.
///
/// The signal or request that asks is put aside until the store has answered, and is then handled as if the call had
/// been in memory all the time. So there is only one code path for ended calls (Decision 0012).
extension Switchboard {
    /// Work that waits until calls are loaded.
    struct Parked {
        enum Work {
            case signal(SignalMessage, id: SignalID?, Session)
            case sync([CallID: ClientMessage.Cursor], id: SignalID?, SessionID)
            case request(RequestID, Who, Request)
            case timeline(RequestID, Who, CallRecord, [TimelineRecord])
            /// Notify a device that has connected of the calls that ended while it was away.
            case news(SessionID)
            /// Remove a call that can no longer be fetched.
            case expiry(CallNumber)
        }

        var awaited: Set<CallNumber>
        let work: Work
    }

    /// How long an ended call stays in memory after its end, or after it was loaded.
    ///
    /// In this time apps repeat their signals, and devices that were away connect again.
    static let restsAfter = Moment.Span.seconds(15)

    // MARK: Putting calls to rest

    /// Puts an ended call to rest once it has been in memory long enough; returns whether it did.
    ///
    /// A call stays in memory while a long poll waits for it, a push for it is under way, or a connection is still
    /// being sent its log or its end.
    mutating func rests(_ call: Call, endedAt: Moment, at now: Moment) -> Bool {
        guard now >= max(endedAt, call.takenUpAt ?? endedAt) + Self.restsAfter else { return false }
        guard call.polls.isEmpty, call.openPushes == 0, !isBeingTold(call) else {
            call.takenUpAt = now
            return false
        }
        let expiresAt = endedAt + policy.fetchableFor
        forgetNews(of: call)
        calls.rest(call, expiresAt: expiresAt)
        schedule(.call(call.number), at: expiresAt)
        return true
    }

    /// Removes a call from each user's list of ended calls to report, if all devices of that user know of the end.
    ///
    /// If the call stayed in the list, each connect of the user would read it from the store.
    private mutating func forgetNews(of call: Call) {
        for side in Side.allCases
        where !call.session.legs.contains(where: { $0.side == side && $0.phase == .untold }) {
            let user = call.user(on: side)
            news[user]?.removeAll { $0 == call.number }
            if news[user]?.isEmpty == true { news[user] = nil }
        }
    }

    /// Whether a connection is still being sent the call's log, or has not yet confirmed the notification of its end.
    private func isBeingTold(_ call: Call) -> Bool {
        for user in [call.session.caller, call.session.callee] {
            for session in sessionsByUser[user] ?? []
            where session.replays(call.number) || session.news.contains(where: { $0.call == call.number }) {
                return true
            }
        }
        return false
    }

    // MARK: Loading calls at rest

    /// Returns the calls at rest that a user may mean by a callId.
    ///
    /// `found`: The call that was found in memory. No other call can be meant if a peer is named, or if this call is
    /// live and the callId does not name the user together with somebody who is not in it.
    func asleep(_ id: CallID, for user: UserID, with peer: UserID?, unless found: Call?) -> [CallNumber] {
        guard !calls.resting.isEmpty else { return [] }
        if let found {
            guard peer == nil else { return [] }
            guard !found.session.isLive || Claims.mayName(id, user, otherThan: found) else { return [] }
        }
        return calls.resting.named(RestingCalls.name(id, of: user))
    }

    /// Returns the calls at rest that a signal other than an offer may mean.
    ///
    /// If a live call was found, only a signal without a peer may still mean another one: it may have been sent for an
    /// ended call with somebody else, and come late. That cannot be if its device is in the live call, except for an
    /// `end`: it may always be the resend of an `end` that the ended call accepted.
    func asleep(
        _ id: CallID,
        _ message: SignalMessage,
        from source: Source,
        _ peer: UserID?,
        unless found: Call?
    ) -> [CallNumber] {
        guard let found, found.session.isLive else { return asleep(id, for: source.user, with: peer, unless: found) }
        guard peer == nil else { return [] }
        if case .end = message.content {} else if Claims.isIn(found, source.user, source.phone) { return [] }
        return calls.resting.named(RestingCalls.name(id, of: source.user))
    }

    /// Returns the calls at rest that must be loaded before a user's newest parked offer to a peer is handled.
    ///
    /// Returns none if no such offer is parked.
    func awaitedByOffer(from user: UserID, to peer: UserID) -> [CallNumber] {
        for work in parked.reversed() {
            guard let (offer, caller) = offer(in: work.work), caller == user else { continue }
            let inItsName = offer.callID.flatMap { Room.peer(inCallID: $0, for: user) }
            // An offer whose peer cannot be read is refused when it is handled.
            if (try? self.peer(of: offer, from: user)) ?? inItsName == peer { return work.awaited.sorted() }
        }
        return []
    }

    private func offer(in work: Parked.Work) -> (SignalMessage, from: UserID)? {
        switch work {
        case .signal(let message, _, let session) where message.signal.kind == .offer:
            (message, session.user)
        case .request(_, let who, .signal(let message)) where message.signal.kind == .offer:
            (message, message.from ?? who.user)
        case .signal, .sync, .request, .timeline, .news, .expiry: nil
        }
    }

    /// Puts work aside until calls are loaded.
    mutating func park(_ work: Parked.Work, until numbers: [CallNumber], at now: Moment) {
        parked.append(Parked(awaited: Set(numbers), work: work))
        for number in numbers where beingTakenUp.insert(number).inserted {
            ask(.log(number), for: .takeUp(number), at: now)
        }
    }

    /// Handles the store's answer with a call's record and log.
    mutating func tookUp(_ number: CallNumber, _ stored: StoredCall?, at now: Moment) {
        beingTakenUp.remove(number)
        if let ended = calls.resting[number] {
            _ = calls.resting.remove(number)
            if let stored, let call = Call(stored, grace: policy.grace, longestRing: longestRing, crashes: 0, at: now) {
                call.timeline = TimelineBound(holding: Int(ended.events))
                call.takenUpAt = now
                calls.takeUp(call, isNewest: ended.isNewest, isNamed: ended.isNamed)
                reschedule(call)
            } else if stored != nil {
                metrics.damages[.leftOut, default: 0] += 1
                out.append(.note(.unreadable(number)))
            }
        }
        for work in unpark(number) { resume(work, at: now) }
    }

    /// Handles the store's failure to read a call: the call stays at rest, and the clients that asked must ask again.
    mutating func couldNotTakeUp(_ number: CallNumber, at now: Moment) {
        beingTakenUp.remove(number)
        // A device is still notified of the other ended calls.
        for index in parked.indices {
            if case .news(let id) = parked[index].work, parked[index].awaited.remove(number) != nil {
                sessions[id]?.hasUnreadNews = true
            }
        }
        let failed = parked.filter { $0.awaited.contains(number) || $0.awaited.isEmpty }
        parked.removeAll { $0.awaited.contains(number) || $0.awaited.isEmpty }
        for parked in failed {
            switch parked.work {
            case .signal(let message, let id, let session):
                tell(Self.storeUnavailableError, id: id, callID: message.callID, to: session)
            case .sync(_, let id, let session):
                guard let session = sessions[session] else { continue }
                tell(Self.storeUnavailableError, id: id, to: session)
            case .request(let id, _, _), .timeline(let id, _, _, _): out.append(.reply(id, Self.storeUnavailable))
            case .news(let id): if let session = sessions[id] { tellNews(to: session, takesUp: false, at: now) }
            case .expiry(let number): schedule(.call(number), at: now + Self.sweepEvery)
            }
        }
    }

    /// Returns the work that waited for this call and now waits for no other, in the order in which it came.
    private mutating func unpark(_ number: CallNumber) -> [Parked.Work] {
        for index in parked.indices { parked[index].awaited.remove(number) }
        let ready = parked.filter(\.awaited.isEmpty)
        parked.removeAll(where: \.awaited.isEmpty)
        return ready.map(\.work)
    }

    private mutating func resume(_ work: Parked.Work, at now: Moment) {
        switch work {
        case .signal(let message, let id, let session):
            guard isHeeded(message, from: session) else { return }
            take(message, id: id, from: session, at: now)
        case .sync(let cursors, let id, let session):
            if let session = sessions[session] { sync(cursors, session, id: id, at: now) }
        case .request(let id, let who, let request): requested(request, by: who, as: id, at: now)
        case .timeline(let id, let who, let record, let events):
            replyTimeline(record, events, by: who, as: id)
        case .news(let session):
            guard let session = sessions[session] else { return }
            tellNews(to: session, takesUp: !session.hasUnreadNews, at: now)
        case .expiry(let number): if let call = calls[number] { forget(call, at: now) }
        }
    }

    /// Whether a signal that had to wait is still accepted.
    ///
    /// An app may hang up and disconnect before the call is loaded. Its `end` is accepted nevertheless, as if the call
    /// had been in memory. Any other signal is dropped: the app resends it when it connects again.
    private func isHeeded(_ message: SignalMessage, from session: Session) -> Bool {
        if sessions[session.id] != nil { return true }
        guard case .end = message.content else { return false }
        return !isRevoked(session.who)
    }

    /// Loads a call at rest that can no longer be fetched, so that the signals in its log are moved to its timeline.
    mutating func restIsOver(_ number: CallNumber, at now: Moment) {
        guard let ended = calls.resting[number], now >= ended.expiresAt else { return }
        park(.expiry(number), until: [number], at: now)
    }

    /// Whether a call can still be fetched.
    func isKept(_ number: CallNumber) -> Bool { calls[number] != nil || calls.resting[number] != nil }
}
