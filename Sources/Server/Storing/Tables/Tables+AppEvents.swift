import CallCore
package import CallPorts

extension Tables {
    /// The endpoints of the app's backend.
    package static let eventEndpoints = RecordTable<EventEndpoint>(
        "event_endpoint",
        key: 1,
        [
            .word("url", { $0.url }),
            RecordTable<EventEndpoint>.Column(
                name: "settled_up_to",
                kind: .integer,
                value: { .integer($0.settledUpTo.rawValue) },
                read: nil
            ),
            .moment("stopped_at", { $0.stoppedAt }, { $0.stoppedAt = $1 }),
            .integer("parked", { Int64($0.parkedCount) }, { $0.parkedCount = $1.count($2) }),
        ]
    ) { row in
        // Without its position, the endpoint begins at the present, as a new one does.
        guard let position = row.number(1, in: 0...StorableRange.numbers.upperBound) else { return nil }
        return EventEndpoint(url: row.row.text(0), settledUpTo: EventPosition(rawValue: position))
    }

    /// The events that are held for endpoints.
    package static let heldEvents = RecordTable<HeldEvent>(
        "held_event",
        key: 2,
        [
            .word("url", { $0.url }),
            Held(name: "position", kind: .integer, value: { .integer($0.position.rawValue) }, read: nil),
            Held(name: "call", kind: .integer, value: { .integer($0.call?.rawValue) }) { held, row, column in
                guard !row.row.isNull(column) else { return true }
                guard let call = row.number(column) else { return false }
                held.call = CallNumber(rawValue: call)
                return true
            },
            Held(name: "state", kind: .word, value: { .word($0.state.word) }) { held, row, column in
                guard let state = row.value(column, HeldEvent.State.init(word:)) else { return false }
                held.state = state
                return true
            },
            .moment(
                "retry_at",
                { $0.state.retryAt },
                { if $0.state.retryAt != nil { $0.state = .retry(at: $1 ?? Moment(milliseconds: 0)) } }
            ),
            .integer("attempts", { Int64($0.attempts) }, { $0.attempts = $1.count($2) }),
            .integer("since", { $0.since.milliseconds }, { $0.since = $1.moment($2) }),
        ]
    ) { row in
        guard let position = row.number(1) else { return nil }
        return HeldEvent(
            url: row.row.text(0),
            position: EventPosition(rawValue: position),
            call: nil,
            state: .behind,
            attempts: 0,
            since: Moment(milliseconds: 0)
        )
    }

    private typealias Held = RecordTable<HeldEvent>.Column
}

extension HeldEvent.State {
    /// The state as a column has it; the moment of a retry is in a column of its own.
    fileprivate var word: String {
        switch self {
        case .retry: "retry"
        case .behind: "behind"
        case .parked: "parked"
        }
    }

    fileprivate init?(word: String) {
        switch word {
        case "retry": self = .retry(at: Moment(milliseconds: 0))
        case "behind": self = .behind
        case "parked": self = .parked
        default: return nil
        }
    }
}
