import CallCore
import CallPorts
import CallWire

/// The decision about an offer, or what stands in its place.
enum DecisionVerdict: Equatable {
    /// The call begins, as the backend wants it.
    case allowed(DecisionResponse.Changes)
    /// The call begins, and is hidden from its callee.
    case hidden(code: String?)
    /// The offer is refused with the backend's own code and sentence.
    case refused(code: String?, message: String?)
    /// The backend did not decide, so `--decide-failure` does.
    case failed(DecisionOutcome)
    /// The caller has ended the call.
    case withdrawn

    /// The outcome, as timelines and metrics name it.
    var outcome: DecisionOutcome {
        switch self {
        case .allowed: .allowed
        case .hidden: .hidden
        case .refused: .refused
        case .failed(let outcome): outcome
        case .withdrawn: .withdrawn
        }
    }

    /// The backend's code for its refusal.
    var code: String? {
        switch self {
        case .hidden(let code), .refused(let code, _): code
        case .allowed, .failed, .withdrawn: nil
        }
    }
}

extension CallDecisions.Decided {
    /// The decision as the timeline shows it.
    var event: TimelineEvent { .decided(verdict.outcome, code: verdict.code, after: waited) }

    /// Whether the call begins hidden from its callee.
    var hides: Bool { if case .hidden = verdict { true } else { false } }

    /// What the backend changes of the call.
    private var changes: DecisionResponse.Changes? { if case .allowed(let changes) = verdict { changes } else { nil } }

    /// Changes an offer as the backend wants it.
    func change(_ message: inout SignalMessage, _ offer: inout Offer) {
        guard let changes, !changes.isEmpty else { return }
        if let name = changes.displayName { message.displayName = name }
        if let handle = changes.handle { message.setHandle(handle, changes.handleType ?? .generic) }
        if let longest = changes.ringTimeout, longest < offer.ringTimeout {
            offer.ringTimeout = longest
            message.setOffer(offer)
        }
    }
}
