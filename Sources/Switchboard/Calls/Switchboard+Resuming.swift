import CallCore
import CallPorts
import CallWire

/// Loading calls at rest, and handling the signals and requests that waited for them.
extension Switchboard {
    /// Handles the store's answer with a call's record and log.
    mutating func tookUp(_ number: CallNumber, _ stored: StoredCall?, at now: Moment) {
        if let ended = calls.resting[number] {
            _ = calls.resting.remove(number)
            if let stored,
                let call = Call(stored, grace: policy.grace, longestRing: policy.longestRing, crashes: 0, at: now)
            {
                call.timeline = TimelineBound(holding: Int(ended.events))
                call.takenUpAt = now
                trace(call, .takenUp)
                calls.takeUp(call, isNewest: ended.isNewest, isNamed: ended.isNamed)
                reschedule(call)
            } else if stored != nil {
                metrics.damages[.leftOut, default: 0] += 1
                turn.out.append(.note(.unreadable(number)))
            }
        }
        for work in queries.unpark(number) { resume(work, at: now) }
    }

    /// Handles the store's failure to read a call: the call stays at rest, and the clients that asked must ask again.
    mutating func couldNotTakeUp(_ number: CallNumber, at now: Moment) {
        let (failed, notices) = queries.giveUp(number)
        for id in notices { connections[id]?.hasUnreadNews = true }
        for work in failed {
            switch work {
            case .signal(let message, let id, let session):
                tell(Self.storeUnavailableError, id: id, callID: message.callID, to: session)
            case .sync(_, let id, let session):
                guard let session = connections[session] else { continue }
                tell(Self.storeUnavailableError, id: id, to: session)
            case .request(let id, _, _), .timeline(let id, _, _, _): turn.out.append(.reply(id, Self.storeUnavailable))
            case .news(let id): if let session = connections[id] { tellNews(to: session, takesUp: false, at: now) }
            case .expiry(let number): schedule(.call(number), at: now + SwitchboardLimits.sweepEvery)
            }
        }
    }

    private mutating func resume(_ work: ParkedWork.Work, at now: Moment) {
        switch work {
        case .signal(let message, let id, let session):
            guard isHeeded(message, from: session) else { return }
            take(message, id: id, from: session, at: now)
        case .sync(let cursors, let id, let session):
            if let session = connections[session] { sync(cursors, session, id: id, at: now) }
        case .request(let id, let who, let request): requested(request, by: who, as: id, at: now)
        case .timeline(let id, let who, let record, let events):
            replyTimeline(record, events, by: who, as: id)
        case .news(let session):
            guard let session = connections[session] else { return }
            tellNews(to: session, takesUp: !session.hasUnreadNews, at: now)
        case .expiry(let number): if let call = calls[number] { forget(call, at: now) }
        }
    }

    /// Whether a signal that had to wait is still accepted.
    ///
    /// An app may hang up and disconnect before the call is loaded. Its `end` is accepted nevertheless, as if the call
    /// had been in memory. Any other signal is dropped: the app resends it when it connects again.
    private func isHeeded(_ message: SignalMessage, from session: Session) -> Bool {
        if connections[session.id] != nil { return true }
        guard case .end = message.content else { return false }
        return !isRevoked(session.who)
    }
}
