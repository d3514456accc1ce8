import CallCore
import CallPorts
import CallWire
import DequeModule

/// Acknowledgements wait for the commit; relaying does not.
extension Switchboard {
    /// An ack, a reply or a completed order that is sent once the changes it confirms are durable.
    struct Waiting {
        enum Word {
            case frame(SessionID, [UInt8])
            case reply(RequestID, Reply)
            case done(OrderID)
        }

        let ticket: Ticket
        let since: Moment
        let word: Word
    }

    /// Sends something when all changes so far are durable; immediately if they already are.
    mutating func say(_ word: Waiting.Word, at now: Moment) {
        let ticket = changes.isEmpty && dirty.isEmpty ? lastTicket : nextTicket
        if ticket <= committed {
            utter(word)
        } else if metrics.isStalled, case .reply(let id, _) = word {
            out.append(.reply(id, Self.storeUnavailable))
        } else {
            waiting.append(Waiting(ticket: ticket, since: now, word: word))
        }
    }

    private mutating func utter(_ word: Waiting.Word) {
        switch word {
        case .frame(let id, let frame): out.append(.send(id, frame))
        case .reply(let id, let reply): out.append(.reply(id, reply))
        case .done(let id): out.append(.done(id))
        }
    }

    mutating func stored(_ report: StoreReport, at now: Moment) {
        switch report {
        case .committed(let ticket):
            committed = max(committed, ticket)
            while let first = inFlight.first, first.ticket <= ticket {
                inFlight.removeFirst()
                metrics.commitMilliseconds.record((now - first.at).milliseconds)
            }
            while let first = waiting.first, first.ticket <= ticket {
                waiting.removeFirst()
                metrics.ackMilliseconds.record((now - first.since).milliseconds)
                utter(first.word)
            }
        case .stalled(let failure):
            metrics.isStalled = true
            out.append(.note(.storeStalled(failure.message)))
            refuseWaitingRequests()
        case .recovered:
            metrics.isStalled = false
            out.append(.note(.storeRecovered))
        case .damaged(let damage): noteDamage(damage)
        case .answered(let id, let answer):
            if let inquiry = questions.removeValue(forKey: id) { answered(inquiry, answer, at: now) }
        }
    }

    /// Counts and reports an invalid value that was found in the store.
    mutating func noteDamage(_ damage: DamagedValue) {
        metrics.damages[damage.remedy, default: 0] += 1
        out.append(.note(.damaged(damage)))
    }

    /// Refuses the requests that wait for a commit, because the store cannot write.
    ///
    /// Their changes may still become durable; a resend under the same `id` then finds them.
    private mutating func refuseWaitingRequests() {
        for entry in waiting {
            if case .reply(let id, _) = entry.word { out.append(.reply(id, Self.storeUnavailable)) }
        }
        waiting.removeAll { if case .reply = $0.word { true } else { false } }
    }

    static let storeUnavailableError = WireError(
        .storeUnavailable,
        "the database cannot be read at the moment: try again"
    )

    static let storeUnavailable = Reply(
        WireError(.storeUnavailable, "the database cannot be written at the moment; nothing was lost, try again")
    )
}
