package import CallCore
import CallPorts
import CallWire

extension Switchboard {
    /// A request for what the server knows about calls (protocol, section 5).
    package enum CallRequest: Sendable {
        /// Return the user's calls, newest first.
        case history(limit: Int, before: CallNumber?)
        /// Return the record of a call with another user; the client believes that it has just begun this call.
        case justBegun(with: UserID)
        /// Return state, legs and durations of a call; `peer` and `epoch` choose among several calls under one callId.
        case one(CallID, peer: UserID? = nil, epoch: UInt32? = nil)
        /// Return the timeline of a call.
        case timeline(CallID, peer: UserID? = nil, epoch: UInt32? = nil)
        /// Return calls of all users to a service.
        case list(CallFilter)
        /// Return a call of any users to a service; `of` and `epoch` choose among several calls under one callId.
        case record(CallID, of: UserID?, epoch: UInt32?)

        /// The request's name in the log.
        var name: LogWord {
            switch self {
            case .history: "history"
            case .justBegun: "record"
            case .list: "calls"
            case .record: "call"
            case .one: "call"
            case .timeline: "timeline"
            }
        }

        /// The callId that the request names.
        var callID: CallID? {
            switch self {
            case .one(let id, _, _), .timeline(let id, _, _), .record(let id, _, _): id
            case .history, .justBegun, .list: nil
            }
        }
    }
}

/// The history, single calls and timelines.
extension Switchboard {
    mutating func readCalls(_ asked: CallRequest, by principal: Principal, as id: RequestID) {
        switch asked {
        case .history(let limit, let before):
            submit(.history(principal.user, limit: limit, before: before), for: .history(id, principal))
        case .justBegun(let peer): callJustBegun(with: peer, by: principal, as: id)
        case .one(let callID, let peer, let epoch): details(of: callID, with: peer, epoch, by: principal, as: id)
        case .timeline(let callID, let peer, let epoch): timeline(of: callID, with: peer, epoch, by: principal, as: id)
        case .list, .record: readServiceCalls(asked, by: principal, as: id)
        }
    }

    /// Reads calls of any users for a service.
    private mutating func readServiceCalls(_ asked: CallRequest, by principal: Principal, as id: RequestID) {
        guard principal.isService else { return refuse(id, Self.onlyServices) }
        switch asked {
        case .list(let filter):
            submit(.history(filter.user, limit: filter.limit, before: filter.before), for: .list(id, filter))
        case .record(let callID, let user, let epoch):
            submit(.timeline(CallSelector(callID, of: user.map { [$0] } ?? [], epoch: epoch)), for: .serviceCall(id))
        case .history, .justBegun, .one, .timeline: break
        }
    }

    private mutating func details(
        of callID: CallID,
        with peer: UserID?,
        _ epoch: UInt32?,
        by principal: Principal,
        as id: RequestID
    ) {
        let call = calls.find(
            callID,
            for: principal.user,
            with: peer,
            on: deviceIdentity(asking: principal, named: nil)
        )
        let awaited = awaited(callID, for: principal.user, with: peer, besides: call)
        if !awaited.isEmpty {
            park(.request(id, principal, .calls(.one(callID, peer: peer, epoch: epoch))), until: awaited)
        } else if let call, epoch ?? call.epoch == call.epoch {
            sendWhenDurable(.reply(id, Reply(body: CallView.details(call.record, for: principal))))
        } else {
            let users = (principal.isService ? [] : [principal.user]) + [peer].compactMap(\.self)
            let choice = CallSelector(
                callID,
                of: users,
                epoch: epoch,
                seenBy: principal.isService ? nil : principal.user
            )
            submit(.timeline(choice), for: .call(id, principal))
        }
    }

    private mutating func timeline(
        of callID: CallID,
        with peer: UserID?,
        _ epoch: UInt32?,
        by principal: Principal,
        as id: RequestID
    ) {
        // Other users may have used the callId too. A user who is not a service gets only the timeline of their own
        // call.
        let call = calls.find(callID, for: principal.user, with: peer)
        let found = peer ?? call?.key.pair.other(than: principal.user)
        let users = principal.isService ? [peer].compactMap(\.self) : [principal.user] + [found].compactMap(\.self)
        let choice = CallSelector(
            // A live call may be named by its `callUUID`.
            call?.key.id ?? callID,
            of: users,
            epoch: epoch,
            seenBy: principal.isService ? nil : principal.user
        )
        submit(.timeline(choice), for: .timeline(id, principal))
    }

    mutating func replyTimeline(
        _ record: CallRecord,
        _ events: [TimelineRecord],
        by principal: Principal,
        as id: RequestID
    ) {
        let events = withSignals(events, of: record)
        // A verdict may say why the call was hidden from a user, so the two users of the call do not get it.
        let explainer = principal.isService ? ports.explainer : nil
        let verdict = explainer?.verdict(
            on: record,
            events,
            devices: directory.devices(of: record.callee),
            at: turn.now
        )
        let body = TimelineView.body(record, events, verdict: verdict, for: principal)
        turn.out.append(.reply(id, Reply(body: body)))
    }

    // MARK: A call that has just begun

    /// `POST /api/calls`: an app that keeps a list of its calls reports a call that it has just begun.
    ///
    /// The server has that call already, and responds with its own record of the call, so that the app's list and the
    /// server's history agree.
    mutating func callJustBegun(with peer: UserID, by principal: Principal, as id: RequestID) {
        guard peer != principal.user else {
            refuse(id, .invalid(.callee_id, "must be another user"))
            return
        }
        if let live = calls.live(of: principal.user, with: peer) {
            sendWhenDurable(.reply(id, Reply(body: CallView.one(live.record, for: principal))))
        } else if queries.decisions.isAnyOpen,
            let question = queries.decisions.newest(of: principal.user, where: { $0.callee == peer })
        {
            park(.request(id, principal, .calls(.justBegun(with: peer))), until: [.decision(question.id)])
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
