/// How often each event met a call in each state.
public struct Coverage: Equatable, Sendable {
    /// Where a call can stand, from the side of whoever causes the event.
    public enum State: String, CaseIterable, Sendable {
        // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
        case none, ringing, answered, active, ended
    }

    /// Who causes an event.
    public enum Part: String, CaseIterable, Sendable {
        // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
        case caller, callersOther = "caller's other device", callee, winner, loser, outsider, server
    }

    private var counts: [String: Int] = [:]

    /// None.
    public init() {}

    mutating func visit(_ state: State, _ event: String, _ part: Part) {
        counts["\(event)|\(part.rawValue)|\(state.rawValue)", default: 0] += 1
    }

    /// How often a pair was visited.
    public func count(_ state: State, _ event: String, _ part: Part) -> Int {
        counts["\(event)|\(part.rawValue)|\(state.rawValue)"] ?? 0
    }

    mutating func add(_ other: Coverage) { counts.merge(other.counts) { $0 + $1 } }
}
