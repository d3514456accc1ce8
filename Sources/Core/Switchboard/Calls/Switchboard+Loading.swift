import CallCore
import CallPorts
import CallWire

/// Loading calls at rest, and handling the signals and requests that waited for them.
extension Switchboard {
    /// Handles the record and log of a call at rest that the store has read; `stored` is `nil` if the store has none.
    mutating func loaded(_ number: CallNumber, _ stored: StoredCall?) {
        if let ended = calls.resting[number] {
            _ = calls.resting.remove(number)
            if let stored,
                let call = Call(
                    stored,
                    grace: policy.grace,
                    longestRing: policy.longestRing,
                    uncleanStarts: 0,
                    at: turn.now
                )
            {
                call.timeline = TimelineBound(holding: Int(ended.events))
                call.loadedAt = turn.now
                trace(call, .loaded)
                calls.load(call, isNewest: ended.isNewest, isNamed: ended.isNamed)
                reschedule(call)
            } else if stored != nil {
                metrics.damages[.leftOut, default: 0] += 1
                turn.out.append(.note(.unreadable(number)))
            }
        }
        for work in queries.unpark(.call(number)) { resume(work) }
    }

    /// Handles the newest epoch of a callId that the store has read; 0 = the store has no call under the callId.
    ///
    /// It is remembered only while the work that waited for it is handled: a refused offer must cost no memory, and a
    /// call that begins remembers its own epoch.
    mutating func epochRead(_ epoch: UInt32, of key: CallKey) {
        directory.setEpochRead(epoch, of: key)
        for work in queries.unpark(.epoch(key)) { resume(work) }
        directory.setEpochRead(nil, of: key)
    }

    /// Handles the store's failure to read a call or an epoch: the call stays at rest, and the signals and requests that
    /// waited are refused, so that clients send them again later.
    mutating func readingFailed(_ awaited: Awaited) {
        let (failed, notices) = queries.cancel(awaited)
        if case .call(let number) = awaited {
            for id in notices {
                connections[id]?.hasUnreadEnds = true
                connections[id]?.endsRead.remove(number)
            }
        }
        for work in failed {
            switch work {
            case .signal(let message, let id, let connection):
                tell(Self.storeUnavailableError, id: id, callID: message.callID, to: connection)
                endPendingFrame(connection)
            case .sync(_, let id, let connection):
                guard let connection = connections[connection] else { continue }
                tell(Self.storeUnavailableError, id: id, to: connection)
                endPendingFrame(connection)
            case .request(let id, _, _), .timeline(let id, _, _, _): turn.out.append(.reply(id, Self.storeUnavailable))
            case .watch(let pending, _, _): watchFailed(pending)
            case .endNotices(let id):
                if let connection = connections[id] { sendEndNotices(to: connection, loads: false, hasFailed: true) }
            case .expiry(let number): schedule(.call(number), at: turn.now + SwitchboardLimits.sweepEvery)
            }
        }
    }

    mutating func resume(_ work: ParkedWork.Work) {
        switch work {
        case .signal(let message, let id, let connection):
            guard isStillAccepted(message, from: connection) else { return }
            signalReceived(message, id: id, from: connection)
            endPendingFrame(connection)
        case .sync(let cursors, let id, let connection):
            guard let connection = connections[connection] else { return }
            sync(cursors, connection, id: id)
            endPendingFrame(connection)
        case .request(let id, let principal, let request): requested(request, by: principal, as: id)
        case .timeline(let id, let principal, let record, let events):
            replyTimeline(record, events, by: principal, as: id)
        case .watch(let pending, let record, let events): replayTimeline(record, events, for: pending)
        case .endNotices(let connection):
            guard let connection = connections[connection] else { return }
            sendEndNotices(to: connection, loads: !connection.hasUnreadEnds)
        case .expiry(let number): if let call = calls[number] { forget(call) }
        }
    }

    /// Whether a signal that had to wait is still accepted.
    ///
    /// An app may hang up and disconnect before the call is loaded. Its `end` is accepted nevertheless, as if the call
    /// had been in memory. Any other signal is dropped: the app resends it when it connects again.
    private func isStillAccepted(_ message: SignalMessage, from connection: Connection) -> Bool {
        if connections[connection.id] != nil { return true }
        guard case .end = message.content else { return false }
        return !isRevoked(connection.principal)
    }
}
