/// The number of times that each event met a call in each state: the coverage table of the simulation.
public struct Coverage: Equatable, Sendable {
    /// The state of a call; `none`: there is no such call.
    public enum State: String, CaseIterable, Sendable {
        // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
        case none, ringing, answered, active, ended
    }

    /// The part that a device, or the server, has in the call when it causes an event.
    ///
    /// `winner` is the callee's answering device, and `loser` is another device of the callee.
    public enum Part: String, CaseIterable, Sendable {
        // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
        case anybody, caller, callersOther = "caller's other device", callee, winner, loser, server
    }

    /// A pair of state and event, with the part that causes the event.
    public struct Pair: Hashable, Sendable {
        /// The state that the event met.
        public var state: State
        /// The event: the type of a signal, or a few words.
        public var event: String
        /// The part that caused the event.
        public var part: Part
    }

    private var counts: [Pair: Int] = [:]

    /// Creates an empty table.
    public init() {}

    mutating func visit(_ state: State, _ event: String, _ part: Part) {
        counts[Pair(state: state, event: event, part: part), default: 0] += 1
    }

    /// Returns how often a pair was visited.
    public func count(_ pair: Pair) -> Int { counts[pair] ?? 0 }

    mutating func add(_ other: Coverage) { counts.merge(other.counts) { $0 + $1 } }

    // MARK: Possible pairs

    private static let signals = [
        "offer", "ringing", "answer", "ice", "connected", "update", "dtmf", "info", "end", "DELETE", "fetch",
    ]
    private static let sockets = ["socket opens", "socket closes"]
    /// The events that the server causes by itself, each with the states in which it can occur.
    private static let own: [(event: String, states: [State])] = [
        ("restarted", [.ringing, .answered, .active, .ended]),
        ("ends unanswered", [.ringing]),
        ("ends cancelled", [.ringing]),
        ("ends declined", [.ringing]),
        ("ends busy", [.none, .ringing]),
        ("ends glare", [.none, .ringing]),
        ("ends failed", [.ringing, .answered, .active]),
        ("ends hangup", [.answered, .active]),
        ("ends disconnected", [.answered, .active]),
        ("ends replaced", [.ringing, .answered, .active]),
    ]

    /// Returns the parts that exist in a state.
    private static func parts(in state: State) -> [Part] {
        switch state {
        case .none: [.anybody]
        case .ringing: [.caller, .callersOther, .callee]
        case .answered, .active: [.caller, .callersOther, .winner, .loser]
        case .ended: [.caller, .callersOther, .callee, .winner, .loser]
        }
    }

    /// All pairs that can occur.
    public static let listed: [Pair] = {
        var pairs: [Pair] = []
        for event in signals {
            for state in State.allCases {
                for part in parts(in: state) { pairs.append(Pair(state: state, event: event, part: part)) }
            }
        }
        for event in sockets {
            for state in [State.ringing, .answered, .active] {
                for part in parts(in: state) { pairs.append(Pair(state: state, event: event, part: part)) }
            }
        }
        for (event, states) in own {
            for state in states { pairs.append(Pair(state: state, event: event, part: .server)) }
        }
        return pairs
    }()

    /// The listed pairs that were not visited.
    public var missing: [Pair] { Self.listed.filter { count($0) == 0 } }

    /// Returns the table as Markdown, with the number of visits of each pair.
    public func markdown(calls: Int, seed: UInt64) -> String {
        var text = """
            # State and event pairs visited by the simulation

            How often each event met a call in each state: \(calls) simulated calls, seed \(seed).

            Written by `ringline-simulate --seed \(seed) --coverage`. A dash marks an impossible pair: a
            ringing call, for example, has no winner yet. A call that ended unanswered has no winner either, so its callee's devices are `callee`.

            | event | by | none | ringing | answered | active | ended |
            | --- | --- | ---: | ---: | ---: | ---: | ---: |

            """
        var rows: [(event: String, part: Part)] = []
        for pair in Self.listed where !rows.contains(where: { $0.event == pair.event && $0.part == pair.part }) {
            rows.append((pair.event, pair.part))
        }
        for row in rows {
            let cells = State.allCases.map { state -> String in
                let pair = Pair(state: state, event: row.event, part: row.part)
                return Self.listed.contains(pair) ? String(count(pair)) : "–"
            }
            text += "| \(row.event) | \(row.part.rawValue) | \(cells.joined(separator: " | ")) |\n"
        }
        return text
    }
}
