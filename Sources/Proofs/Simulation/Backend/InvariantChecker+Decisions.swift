import CallCore
import CallPorts
import CallWire
import JSON
import Switchboard

/// Checks the decisions of the app's backend about offers (I30 to I33).
extension InvariantChecker {
    /// Checks a question that the server asks.
    mutating func asked(_ request: DecisionRequest, at moment: Moment) {
        if let (invariant, message) = decisions?.asked(request, at: moment) { fail(invariant, message) }
    }

    // MARK: Commits

    /// Checks what the server gives to the store of calls that begin, and of offers that were refused.
    ///
    /// Call this before `apply(_:at:)` handles the changes.
    mutating func checkDecided(_ changes: [Change], at now: Int64) {
        guard decisions != nil else { return }
        var outcomes: [CallNumber: (outcome: DecisionOutcome, code: String?)] = [:]
        for case .event(let number, let event) in changes {
            if case .decided(let outcome, let code, _) = event.event { outcomes[number] = (outcome, code) }
        }
        var seen: Set<CallNumber> = []
        for case .call(let record) in changes where calls[record.number] == nil && seen.insert(record.number).inserted {
            let found = outcomes[record.number]
            if let found { decisions?.outcomes[found.outcome.rawValue, default: 0] += 1 }
            if record.hidden == .refusedOffer {
                checkRefused(record, found?.outcome, found?.code, changes, at: now)
            } else {
                checkBegun(record, found?.outcome, at: now)
            }
        }
    }

    private mutating func checkBegun(_ record: CallRecord, _ outcome: DecisionOutcome?, at now: Int64) {
        guard let decisions else { return }
        let name = CallName(id: record.id, pair: Pair(record.caller, record.callee), epoch: record.epoch)
        guard let outcome else {
            // The server asks nobody about an offer that it has a reason of its own against.
            let hasReason = record.hidden != nil && record.hidden != .app || record.reason == .busy
            if !hasReason { fail("I30", "\(name) begins, and nobody has decided about it") }
            return
        }
        var newest: DecisionID?
        switch outcome {
        case .refused, .withdrawn: return fail("I31", "\(name) begins, and its offer was \(outcome.rawValue)")
        case .unasked, .overloaded:
            if outcome == .overloaded || !decisions.mayRest(at: now) {
                fail("I33", "\(name) begins without a question, and the backend has not failed for many callers")
            }
        case .allowed, .hidden, .late, .unreachable, .malformed:
            guard let question = decisions.newest(about: name, from: record.caller, outcome) else {
                return fail("I30", "\(name) begins as \(outcome.rawValue), and no question about it was")
            }
            newest = question.id
            if question.isWithdrawn { fail("I30", "\(name) begins, and its caller has ended it before the decision") }
            check(record, named: name, against: question)
        }
        if decisions.isOpen(name, from: record.caller, before: newest) {
            fail("I30", "\(name) begins while it is being decided")
        }
        if outcome.isFailure, decisions.policy.failure == .refuse {
            fail("I31", "\(name) begins as \(outcome.rawValue), and the operator wants such offers refused")
        }
        if outcome == .hidden, record.hidden == nil { fail("I31", "\(name) is shown, and the backend has hidden it") }
        if outcome != .hidden, record.hidden == .app { fail("I30", "\(name) is hidden, and was \(outcome.rawValue)") }
    }

    private mutating func check(_ record: CallRecord, named name: CallName, against question: DecisionWatch.Question) {
        guard case .allowed(let changes) = question.meaning else { return }
        if let shown = changes.displayName, record.displayName != shown {
            fail("I30", "\(name) shows \(record.displayName ?? "no name"), not \(shown)")
        }
        if let seconds = changes.ringSeconds, record.ringUntil > record.startedAt + .seconds(seconds) {
            fail("I30", "\(name) rings for longer than the \(seconds) s that the backend wants")
        }
    }

    private mutating func checkRefused(
        _ record: CallRecord,
        _ outcome: DecisionOutcome?,
        _ code: String?,
        _ changes: [Change],
        at now: Int64
    ) {
        guard let decisions else { return }
        let name = CallName(id: record.id, pair: Pair(record.caller, record.callee), epoch: record.epoch)
        if record.endedAt == nil || !record.legs.isEmpty { fail("I31", "\(name) was refused, and has begun") }
        for case .entry(let number, _) in changes where number == record.number {
            fail("I31", "\(name) was refused, and has a log")
        }
        switch outcome {
        case .refused, .late, .unreachable, .malformed:
            guard let outcome, let question = decisions.newest(about: name, from: record.caller, outcome) else {
                return fail("I31", "\(name) is refused, and nobody has decided so")
            }
            if question.isWithdrawn { fail("I31", "\(name) is refused, and its caller had ended it") }
            if case .refused(let said) = question.meaning, said != code {
                fail("I31", "\(name) is refused with \(code ?? "no code"), not \(said ?? "none")")
            }
        case .unasked:
            if !decisions.mayRest(at: now) { fail("I33", "\(name) is refused, and the backend was not asked") }
        case .allowed, .hidden, .overloaded, .withdrawn, nil:
            fail("I31", "\(name) is refused, and its decision is \(outcome?.rawValue ?? "missing")")
        }
        if outcome?.isFailure == true, decisions.policy.failure == .allow {
            fail("I31", "\(name) is refused, and the operator wants it allowed")
        }
    }

    // MARK: Frames, responses and pushes

    /// Checks a frame to a device: no offer is relayed or acknowledged while it is being decided, and a refusal is one.
    mutating func checkDecided(_ frame: ParsedFrame, to user: UserID) {
        guard decisions != nil, let object = frame.object else { return }
        if frame.type == "error" {
            return checkRefusal(object, to: user, object.text(of: .callId).flatMap { CallID($0) })
        }
        guard frame.isOffer || frame.type == "ack", case .call(let name) = frame.place(for: user) else { return }
        let caller = frame.from.flatMap { UserID($0) } ?? user
        if isUndecided(name, from: caller) {
            fail("I30", "\(frame.type ?? "") of \(name) goes to \(user.text) while it is being decided")
        }
    }

    /// Checks the response to a signal of a user.
    mutating func checkDecided(_ reply: Reply, to user: UserID) {
        guard decisions != nil, reply.status != 200, let object = MessageReader.object(reply.body) else { return }
        checkRefusal(object, to: user, nil)
    }

    /// Checks the response to an offer of a caller who gives each call a callId of its own.
    ///
    /// `isOver`: Whether the caller has ended the call meanwhile, or the request was no offer.
    mutating func checkDecided(_ reply: Reply, to caller: UserID, about id: CallID, isOver: Bool) {
        checkDecided(reply, to: caller)
        guard let decisions, !isOver else { return }
        // An offer that was sent again is asked about again, and the response to either may come last.
        let meanings = decisions.results(of: caller, id).compactMap(\.meaning)
        let expected = meanings.map { meaning in
            switch meaning {
            case .allowed, .hidden: 200
            case .refused: 403
            case .late, .unreachable, .malformed: decisions.policy.failure == .allow ? 200 : 503
            }
        }
        let isOther = reply.status == 429 || reply.status == 503
        if !meanings.isEmpty, !expected.contains(reply.status), !isOther {
            fail("I31", "\(caller.text) gets \(reply.status) for \(id.text), which is \(meanings)")
        }
    }

    private mutating func checkRefusal(_ object: JSONObject, to user: UserID, _ id: CallID?) {
        guard let decisions, let code = object.text(of: .code) else { return }
        let results = decisions.results(of: user, id)
        switch code {
        case "refused_by_app":
            let appCode = object.text(of: Key("appCode"))
            if !results.contains(where: { $0.meaning == .refused(code: appCode) }) {
                fail("I31", "\(user.text) is told that the app refuses (\(appCode ?? "")), and it does not")
            }
        case "decision_unavailable":
            let hasFailed = decisions.hasRested || results.contains { $0.meaning?.isFailure == true }
            if decisions.policy.failure == .allow || !hasFailed {
                fail("I31", "\(user.text) is told that the app did not decide, and that is not so")
            }
        case "rate_limited":
            guard object.text(of: Key("message"))?.contains("that the app's backend decides") == true else { return }
            let count = decisions.openCount(of: user)
            if count < DecisionWatch.openPerCaller {
                fail("I32", "\(user.text) has \(count) open questions, and is refused another")
            }
        default: break
        }
    }

    /// Checks a push: nothing is pushed for an offer that is being decided.
    mutating func checkDecided(_ push: OutgoingPush) {
        guard decisions != nil, let (name, device) = ring(push) else { return }
        if isUndecided(name, from: name.pair.other(than: device.user)) {
            fail("I30", "\(device.id.text) is pushed for \(name), which is being decided")
        }
    }

    /// Whether a call would begin with an offer that is being decided, and no earlier call has its name.
    private func isUndecided(_ name: CallName, from caller: UserID) -> Bool {
        guard decisions?.isOpen(name, from: caller) == true, !forgotten.contains(name) else { return false }
        return newest[name.key].flatMap { calls[$0] }.map { $0.record.epoch < name.epoch } ?? true
    }

    // MARK: Ends

    /// Notes an end that reaches the server: it withdraws the offer that is being decided.
    mutating func endArrives(_ message: SignalMessage, from user: UserID, _ device: DeviceID?) {
        guard decisions != nil, message.signal.kind == .end, message.epoch == nil, let id = message.callID else {
            return
        }
        // An end that was accepted before means the call that it has ended.
        if let device, let said = message.id, ends["\(device.text) \(said.text)"] != nil { return }
        decisions?.ends(id, of: user, with: message.to)
    }

    /// Notes a frame that reaches the server, if it is an end.
    mutating func endArrives(_ frame: [UInt8], from device: SimulatedDevice) {
        guard decisions != nil, let object = MessageReader.object(frame), object.text(of: .type) == "end",
            object.number(of: .epoch) == nil, let id = object.text(of: .callId).flatMap({ CallID($0) })
        else { return }
        if let said = object.text(of: .id), ends["\(device.id.text) \(said)"] != nil { return }
        decisions?.ends(id, of: device.user, with: object.text(of: .to).flatMap { UserID($0) })
    }
}
