import CallCore
import CallPorts
import CallWire

/// Reports of the store: commits, stalls, and results of queries.
extension Switchboard {
    mutating func stored(_ report: StoreReport) {
        switch report {
        case .committed(let ticket):
            if tracesCalls { traceCommitted(upTo: ticket) }
            commits.confirm(upTo: ticket, at: turn.now, metrics: &metrics)
            while let number = commits.takeReleasableCall() { release(number) }
            if appEvents.haveDurable(upTo: commits.committed) { eventsBecameDurable() }
            for content in commits.sendDurable(at: turn.now, metrics: &metrics, into: &turn.out) {
                if case .fetch(let id, let fetch) = content { respond(fetch, as: id) }
                if case .cancelledPush(let id) = content { pushed(id, .cancelled) }
                if case .settled(let id) = content { settled(id) }
                if case .numbersStored = content { storeNextNumbers() }
            }
        case .stalled(let failure):
            metrics.isStalled = true
            turn.out.append(.note(.storeStalled(failure.message)))
            refuseWaitingRequests()
        case .recovered:
            metrics.isStalled = false
            turn.out.append(.note(.storeRecovered))
        case .deposed(let failure):
            // The gateway ends the server. Until then, the server is stalled, so it acknowledges nothing.
            metrics.isStalled = true
            turn.out.append(.note(.storeStalled(failure.message)))
            refuseWaitingRequests()
        case .behind(let resent, let lost): turn.out.append(.note(.storeBehind(resent: resent, lost: lost)))
        case .damaged(let damage): noteDamage(damage)
        case .queryResult(let id, let result):
            if case .failed(let failure) = result { trace(from: .connections, .queryFailed(failure)) }
            guard let query = queries.finish(id) else { return }
            metrics.queriesUnderWay[query.lane.rawValue] -= 1
            metrics.queryMilliseconds[query.lane.rawValue].record((turn.now - query.since).milliseconds)
            queryFinished(query.purpose, result)
        }
    }

    /// Refuses the requests that wait for a commit, because the store cannot write.
    ///
    /// Their changes may still become durable; a resend under the same `id` then finds them.
    private mutating func refuseWaitingRequests() {
        for id in commits.takeRequests() { turn.out.append(.reply(id, Self.storeUnavailable)) }
        refuseNumbersUnderWay()
    }

    mutating func queryFinished(_ query: PendingQuery, _ result: StoreResult) {
        switch (query, result) {
        case (.history(let id, let principal), .history(let calls)):
            turn.out.append(.reply(id, Reply(body: CallView.history(calls, for: principal))))
        case (.record(let id, let principal, let peer), .history(let calls)):
            respondWithRecord(among: calls, with: peer, by: principal, as: id)
        case (.call(let id, let principal), .timeline(let record?, _)) where Self.concerns(record, principal):
            turn.out.append(.reply(id, Reply(body: CallView.details(record, for: principal))))
        case (.timeline(let id, let principal), .timeline(let record?, let events))
        where Self.concerns(record, principal):
            if calls.resting[record.number] != nil {
                park(.timeline(id, principal, record, events), until: [.call(record.number)])
            } else {
                replyTimeline(record, events, by: principal, as: id)
            }
        case (.list(let id, let filter), .history(let calls)):
            turn.out.append(.reply(id, Reply(body: ServiceCallView.page(filter.page(among: calls)))))
        case (.serviceCall(let id), .timeline(let record?, _)) where record.hidden != .refusedOffer:
            turn.out.append(.reply(id, Reply(body: ServiceCallView.one(record))))
        case (.watch(let pending), .timeline(let record?, let events)) where calls.resting[record.number] != nil:
            park(.watch(pending, record, events), until: [.call(record.number)])
        case (.watch(let pending), .timeline(let record, let events)):
            replayTimeline(record, events, for: pending)
        case (.watch(let pending), _): watchFailed(pending)
        case (.delivery(let id), let result): deliveryRead(id, result)
        case (.eventExcess, .eventExcess(let excess)): forget(excess)
        case (.eventExcess, _): break
        case (.feed(let id, let feed), .events(let page)): respond(page, to: feed, as: id)
        case (.feed(let id, _), _): turn.out.append(.reply(id, Self.storeUnavailable))
        case (.peers(let user), .peers(let peers)): peersLoaded(peers, of: user)
        case (.peers(let user), _): peersLoaded(nil, of: user)
        case (.load(let number), .log(let stored)): loaded(number, stored)
        case (.load(let number), _): readingFailed(.call(number))
        case (.epoch(let key), .epoch(let newest)): epochRead(newest ?? 0, of: key)
        case (.epoch(let key), _): readingFailed(.epoch(key))
        case (.numbers(let id, let user), .numbers(let page)): respond(page, to: user, as: id)
        case (.numbers(let id, let user), _): numbersFailed(id, user)
        case (.numberChanges, .numberChanges(let found)): numbersCompared(found)
        case (.numberChanges, _): numbersCompared(nil)
        case (.call(let id, _), .timeline), (.timeline(let id, _), .timeline), (.serviceCall(let id), .timeline):
            refuse(id, Self.unknownCall)
        case (.history(let id, _), _), (.record(let id, _, _), _), (.call(let id, _), _), (.timeline(let id, _), _),
            (.list(let id, _), _), (.serviceCall(let id), _):
            turn.out.append(.reply(id, Self.storeUnavailable))
        }
    }
}
