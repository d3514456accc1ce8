import CallCore
import CallPorts
import CallWire

/// The results of questions to the app's backend.
extension Switchboard {
    /// Handles the result of a question; a second result, or one that is late, changes nothing.
    mutating func decided(_ id: DecisionID, _ result: DecisionResult) {
        guard let question = queries.decisions.close(id) else {
            metrics.decisions.ignoredResults += 1
            return
        }
        finish(question, verdict(of: result))
    }

    private mutating func verdict(of result: DecisionResult) -> DecisionVerdict {
        switch result {
        case .unreachable: return .failed(.unreachable)
        case .response(let status, _) where (500...599).contains(status): return .failed(.unreachable)
        case .response(200, let body):
            var unknown: [String] = []
            do throws(DecisionResponse.Fault) {
                let response = try DecisionResponse.read(body, unknown: &unknown)
                if !unknown.isEmpty { noteUnknown(unknown, at: .decision) }
                switch response {
                case .allowed(let changes): return .allowed(changes)
                case .hidden(let code): return .hidden(code: code)
                case .refused(let code, let message): return .refused(code: code, message: message)
                }
            } catch {
                turn.out.append(.note(.decisionMalformed(error.why)))
                // A wrong word in a refusal must not make the call ring.
                return error.isRefusal ? .refused(code: nil, message: nil) : .failed(.malformed)
            }
        case .response(let status, _):
            turn.out.append(.note(.decisionMalformed("must have the status 200, not \(status)")))
            return .failed(.malformed)
        }
    }

    /// Refuses what waits behind withdrawn offers, and finishes the questions that have waited for too long.
    ///
    /// At the shutdown all questions are finished: offers are refused anyway.
    mutating func decisionsDue() {
        for question in queries.decisions.takeWithdrawn() {
            resume(question, .withdrawn, turn.now - question.askedAt)
        }
        let isOver = connections.isDraining
        for id in isOver ? queries.decisions.all : queries.decisions.overdue(at: turn.now) {
            if let question = queries.decisions.close(id) { finish(question, isOver ? .withdrawn : .failed(.late)) }
        }
    }

    /// Counts the outcome of a question, tells the breaker and the log, and resumes the signals that have waited.
    private mutating func finish(_ question: CallDecisions.Question, _ verdict: DecisionVerdict) {
        let waited = turn.now - question.askedAt
        let outcome = question.isWithdrawn ? .withdrawn : verdict.outcome
        metrics.decisions.outcomes[outcome, default: 0] += 1
        metrics.decisions.milliseconds.record(waited.milliseconds)
        switch queries.decisions.note(verdict.outcome, of: question, at: turn.now) {
        case .opened: turn.out.append(.note(.decisionsFail))
        case .closed: turn.out.append(.note(.decisionsSucceed))
        case nil: break
        }
        metrics.decisions.isBreakerOpen = queries.decisions.breaker.openUntil != nil
        guard !question.isWithdrawn else { return }
        if outcome != .allowed, outcome != .withdrawn {
            turn.out.append(.note(.decided(question.callID, outcome, code: verdict.code, after: waited)))
        }
        resume(question, verdict, waited)
    }

    /// Hands a decision to the signals that have waited for it, in the order in which they came.
    private mutating func resume(
        _ question: CallDecisions.Question,
        _ verdict: DecisionVerdict,
        _ waited: Moment.Duration
    ) {
        queries.decisions.current = CallDecisions.Decided(question: question, verdict: verdict, waited: waited)
        for work in queries.unpark(.decision(question.id)) { resume(work) }
        queries.decisions.current = nil
    }
}
