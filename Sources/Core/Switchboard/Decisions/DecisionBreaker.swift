import CallCore
import CallPorts

/// Stops the questions to a backend that does not respond, so that callers need not wait for it.
///
/// It opens after ``failures`` without a decision between them, of at least ``callers`` callers: one account whose calls
/// the backend cannot decide must not switch the decision off for all others.
struct DecisionBreaker {
    /// The failures in a row after which the breaker opens.
    static let failures = 20
    /// The callers that the failures must have hit.
    static let callers = 5
    /// How long the breaker stays open before one question is asked again.
    static let pause = Moment.Duration.seconds(10)

    private var failureCount = 0
    private var hit: Set<UserID> = []
    /// When the next question may be asked; `nil` = the breaker is closed.
    private(set) var openUntil: Moment?
    /// The question that finds out whether the backend responds again.
    private var probe: DecisionID?

    /// The change that a result makes.
    enum Change { case opened, closed }

    /// Returns whether a question may be asked now.
    func admits(at now: Moment) -> Bool {
        guard let openUntil else { return true }
        return now >= openUntil && probe == nil
    }

    /// Records that a question was asked.
    mutating func asked(_ id: DecisionID) { if openUntil != nil { probe = id } }

    /// Records that the backend responded.
    mutating func succeeded() -> Change? {
        let wasOpen = openUntil != nil
        self = Self()
        return wasOpen ? .closed : nil
    }

    /// Records that the backend failed to respond to a question about a caller's offer.
    mutating func failed(_ id: DecisionID, of caller: UserID, at now: Moment) -> Change? {
        if openUntil != nil {
            // The result of a question from before the breaker opened changes nothing.
            guard id == probe else { return nil }
            probe = nil
            openUntil = now + Self.pause
            return nil
        }
        failureCount = min(failureCount + 1, Self.failures)
        if hit.count < Self.callers { hit.insert(caller) }
        guard failureCount >= Self.failures, hit.count >= Self.callers else { return nil }
        openUntil = now + Self.pause
        return .opened
    }

    /// Records a response that is no decision: the backend responds again if it was asked to find that out.
    ///
    /// It ends no row of failures, because the backend may fail for every other offer.
    mutating func responded(to id: DecisionID) -> Change? { id == probe ? succeeded() : nil }

    /// Records that the result of a question will not be known.
    mutating func abandoned(_ id: DecisionID, at now: Moment) {
        guard id == probe else { return }
        probe = nil
        openUntil = now + Self.pause
    }
}
