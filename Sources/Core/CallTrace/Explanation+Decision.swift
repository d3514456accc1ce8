import CallCore
import CallPorts

/// What the app's backend decided about the call.
extension Explanation {
    /// The decision: its outcome, the backend's code, and the time that it took.
    private struct Decision {
        let outcome: DecisionOutcome
        let code: String?
        let waited: Moment.Duration
    }

    private var decision: Decision? {
        for event in events {
            if case .decided(let outcome, let code, let waited) = event.event {
                return Decision(outcome: outcome, code: code, waited: waited)
            }
        }
        return nil
    }

    /// The outcome of a call that the backend did not let ring, or `nil` = the call rang, or something else hid it.
    var refusedByApp: String? {
        switch record.hidden {
        case .app:
            let clause = decision.map { refusal($0) } ?? ""
            return "The app's backend refused the call\(clause) without telling the caller: nothing rang and nothing "
                + "was pushed. The caller saw an ordinary ring."
        case .refusedOffer:
            guard let decision else { return "The app's backend refused the call; the caller was told." }
            guard decision.outcome.isFailure else {
                return "The app's backend refused the call\(refusal(decision)): the caller was told, and nothing rang."
            }
            return "\(failure(decision)): the call was refused, as --decide-failure says, and the caller was told."
        case .block, .doNotDisturb, .callIDTaken, nil: return nil
        }
    }

    /// The sentence about a decision that let the call begin; `nil` = there was none.
    var decisionSentence: String? {
        guard record.hidden != .app, record.hidden != .refusedOffer, let decision else { return nil }
        if decision.outcome.isFailure {
            return "\(failure(decision)): the call was allowed, as --decide-failure says."
        }
        return "The app's backend allowed the call after \(Self.brief(decision.waited))."
    }

    private func refusal(_ decision: Decision) -> String {
        "\(decision.code.map { " (\($0.printable))" } ?? "") after \(Self.brief(decision.waited))"
    }

    /// The beginning of a sentence about a question without a usable response.
    private func failure(_ decision: Decision) -> String {
        let time = Self.brief(decision.waited)
        return switch decision.outcome {
        case .late: "The app's backend did not decide within \(time)"
        case .unreachable: "The app's backend could not be reached, or failed, after \(time)"
        case .malformed: "The app's backend gave a response after \(time) that the protocol does not know"
        case .unasked: "The app's backend was not asked, because it had failed shortly before"
        case .overloaded: "The app's backend was not asked, because too many questions had no response yet"
        case .allowed, .refused, .hidden, .withdrawn: "The app's backend decided after \(time)"
        }
    }

    private static func brief(_ duration: Moment.Duration) -> String {
        duration.milliseconds < 1_000 ? "\(max(0, duration.milliseconds)) ms" : seconds(duration)
    }
}
