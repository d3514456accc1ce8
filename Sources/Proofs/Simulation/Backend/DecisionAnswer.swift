import CallPorts

/// An answer of the app's backend to a question, and what it means.
struct DecisionAnswer {
    let result: DecisionResult
    let meaning: DecisionMeaning
}

/// What an answer means by the protocol: what the server must do with the offer.
///
/// The backend knows it because it has made the answer; it reads no answer.
enum DecisionMeaning: Equatable {
    /// The call begins with these changes.
    case allowed(DecisionChanges)
    /// The call begins, and its callee learns nothing.
    case hidden(code: String?)
    /// The offer is refused, and its caller is told.
    case refused(code: String?)
    /// There was no answer in time.
    case late
    /// The backend failed.
    case unreachable
    /// The answer is none.
    case malformed

    /// Whether the operator's settings decide.
    var isFailure: Bool {
        switch self {
        case .allowed, .hidden, .refused: false
        case .late, .unreachable, .malformed: true
        }
    }

    /// The outcome that the timeline of the call must show.
    var outcome: DecisionOutcome {
        switch self {
        case .allowed: .allowed
        case .hidden: .hidden
        case .refused: .refused
        case .late: .late
        case .unreachable: .unreachable
        case .malformed: .malformed
        }
    }
}

/// What an answer changes of a call; `nil` = it stays.
struct DecisionChanges: Equatable {
    var displayName: String?
    var ringSeconds: Int64?
}
