/// The number of times that each event met a call in each state: the coverage table of the simulation.
package struct Coverage: Equatable, Sendable {
    /// The state of a call; `none`: there is no such call.
    package enum State: String, CaseIterable, Sendable {
        // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
        case none, ringing, answered, active, ended
    }

    /// The part that a device, or the server, has in the call when it causes an event.
    ///
    /// `calleesOther` is a device of the callee other than the answering device.
    package enum Part: String, CaseIterable, Sendable {
        // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
        case anybody, caller, callersOther = "caller's other device", callee, answeringDevice = "answering device",
            calleesOther = "callee's other device", server
    }

    /// A cell of the table: a state and an event, with the part that causes the event.
    package struct Cell: Hashable, Sendable {
        /// The state that the event met.
        package var state: State
        /// The event: the type of a signal, or a few words.
        package var event: String
        /// The part that caused the event.
        package var part: Part
    }

    private var counts: [Cell: Int] = [:]

    /// Creates an empty table.
    package init() {}

    mutating func visit(_ state: State, _ event: String, _ part: Part) {
        counts[Cell(state: state, event: event, part: part), default: 0] += 1
    }

    /// Returns how often a cell was visited.
    package func count(_ cell: Cell) -> Int { counts[cell] ?? 0 }

    mutating func add(_ other: Coverage) { counts.merge(other.counts) { $0 + $1 } }

    // MARK: Possible cells

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
        case .answered, .active: [.caller, .callersOther, .answeringDevice, .calleesOther]
        case .ended: [.caller, .callersOther, .callee, .answeringDevice, .calleesOther]
        }
    }

    /// All cells that can be visited.
    package static let listed: [Cell] = {
        var cells: [Cell] = []
        for event in signals {
            for state in State.allCases {
                for part in parts(in: state) { cells.append(Cell(state: state, event: event, part: part)) }
            }
        }
        for event in sockets {
            for state in [State.ringing, .answered, .active] {
                for part in parts(in: state) { cells.append(Cell(state: state, event: event, part: part)) }
            }
        }
        for (event, states) in own {
            for state in states { cells.append(Cell(state: state, event: event, part: .server)) }
        }
        return cells
    }()

    /// The listed cells that were not visited.
    package var missing: [Cell] { Self.listed.filter { count($0) == 0 } }

    /// Returns the table as Markdown, with the number of visits of each cell.
    package func markdown(calls: Int, seed: UInt64) -> String {
        var text = """
            # States and events visited by the simulation

            How often each event met a call in each state: \(calls) simulated calls, seed \(seed).

            Written by `ringline-simulate --seed \(seed) --coverage`. A dash marks an impossible cell: a
            ringing call, for example, has no answering device yet. A call that ended unanswered has none either, so its callee's devices are `callee`.

            | event | by | none | ringing | answered | active | ended |
            | --- | --- | ---: | ---: | ---: | ---: | ---: |

            """
        var rows: [(event: String, part: Part)] = []
        for cell in Self.listed where !rows.contains(where: { $0.event == cell.event && $0.part == cell.part }) {
            rows.append((cell.event, cell.part))
        }
        for row in rows {
            let counts = State.allCases.map { state -> String in
                let cell = Cell(state: state, event: row.event, part: row.part)
                return Self.listed.contains(cell) ? String(count(cell)) : "–"
            }
            text += "| \(row.event) | \(row.part.rawValue) | \(counts.joined(separator: " | ")) |\n"
        }
        return text
    }
}
