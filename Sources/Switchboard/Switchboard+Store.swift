import CallCore
import CallPorts
import CallWire

/// Reports of the store: commits, stalls, and answers to questions.
extension Switchboard {
    mutating func stored(_ report: StoreReport, at now: Moment) {
        switch report {
        case .committed(let ticket):
            if tracesCalls { traceCommitted(upTo: ticket) }
            commits.confirm(upTo: ticket, at: now, metrics: &metrics, into: &turn.out)
        case .stalled(let failure):
            metrics.isStalled = true
            turn.out.append(.note(.storeStalled(failure.message)))
            refuseWaitingRequests()
        case .recovered:
            metrics.isStalled = false
            turn.out.append(.note(.storeRecovered))
        case .damaged(let damage): noteDamage(damage)
        case .answered(let id, let answer):
            if case .failed(let failure) = answer { trace(from: .connections, .unanswered(failure)) }
            if let query = queries.answered(id) { answered(query, answer, at: now) }
        }
    }

    /// Refuses the requests that wait for a commit, because the store cannot write.
    ///
    /// Their changes may still become durable; a resend under the same `id` then finds them.
    private mutating func refuseWaitingRequests() {
        for id in commits.giveUpRequests() { turn.out.append(.reply(id, Self.storeUnavailable)) }
    }

    mutating func answered(_ query: StoreQuery, _ answer: Answer, at now: Moment) {
        switch (query, answer) {
        case (.history(let id, let who), .history(let calls)):
            turn.out.append(.reply(id, Reply(body: CallView.history(calls, for: who))))
        case (.record(let id, let who, let peer), .history(let calls)):
            answerRecord(among: calls, with: peer, by: who, as: id, at: now)
        case (.call(let id, let who), .timeline(let record?, _)) where Self.concerns(record, who):
            turn.out.append(.reply(id, Reply(body: CallView.details(record, for: who))))
        case (.timeline(let id, let who), .timeline(let record?, let events)) where Self.concerns(record, who):
            if calls.resting[record.number] != nil {
                park(.timeline(id, who, record, events), until: [record.number], at: now)
            } else {
                replyTimeline(record, events, by: who, as: id)
            }
        case (.peers(let user), .peers(let peers)): learned(peers, of: user)
        case (.peers(let user), _): learned(nil, of: user)
        case (.takeUp(let number), .log(let stored)): tookUp(number, stored, at: now)
        case (.takeUp(let number), _): couldNotTakeUp(number, at: now)
        case (.call(let id, _), .timeline), (.timeline(let id, _), .timeline): refuse(id, Self.unknownCall)
        case (.history(let id, _), _), (.record(let id, _, _), _), (.call(let id, _), _), (.timeline(let id, _), _):
            turn.out.append(.reply(id, Self.storeUnavailable))
        }
    }
}
