import CallCore
import CallPorts
import CallWire

/// `POST /api/calls`: an app that keeps a list of its calls reports a call that it has just begun.
///
/// The server has that call already, and responds with its own record of the call, so that the app's list and the
/// server's history agree.
extension Switchboard {
    mutating func callJustBegun(with peer: UserID, by principal: Principal, as id: RequestID) {
        guard peer != principal.user else {
            refuse(id, .invalid(.callee_id, "must be another user"))
            return
        }
        if let live = calls.live(of: principal.user, with: peer) {
            sendWhenDurable(.reply(id, Reply(body: CallView.one(live.record, for: principal))))
        } else {
            submit(
                .history(principal.user, limit: SwitchboardLimits.callsSearchedForPeer, before: nil),
                for: .record(id, principal, with: peer)
            )
        }
    }

    /// Responds with the pair's newest call in the history, if that call is live or can still be fetched: the client
    /// may mean it.
    mutating func respondWithRecord(
        among history: [CallRecord],
        with peer: UserID,
        by principal: Principal,
        as id: RequestID
    ) {
        // An offer that had to wait for a call at rest may have begun a call since the store was asked.
        if let live = calls.live(of: principal.user, with: peer) {
            sendWhenDurable(.reply(id, Reply(body: CallView.one(live.record, for: principal))))
            return
        }
        let index = history.firstIndex { record in
            record.scheduled == nil && Pair(record.caller, record.callee) == Pair(principal.user, peer)
                && Self.concerns(record, principal)
        }
        guard let index, isFetchable(history[index].endedAt) else {
            refuse(id, WireError(.notFound, "no call with that user: an offer begins one"))
            return
        }
        turn.out.append(.reply(id, Reply(body: CallView.one(history[index], for: principal))))
    }

    /// Whether a call that ended at this moment (`nil` = it has not ended) can still be fetched.
    private func isFetchable(_ endedAt: Moment?) -> Bool {
        guard let endedAt else { return true }
        return turn.now < endedAt + policy.fetchableFor
    }
}
