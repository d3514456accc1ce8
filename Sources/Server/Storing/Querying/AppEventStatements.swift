import CallCore
package import CallPorts

/// The statements about events for the app's backend.
///
/// None looks at more rows than it says. Each names the index that finds its rows; `+` before a column keeps the
/// databases from another index.
package final class AppEventStatements: Sendable {
    /// The statements of the tables.
    package let endpoints, held: TableStatements
    let stored: SQLText
    let reads: AppEventReads
    let heldReads: HeldEventReads
    let bounds: AppEventBoundStatements
    private let deletions: AppEventDeletions

    /// The number of calls with one callId whose events are found call by call.
    static let callsAtOnce = EpochSearch.callsOfID

    /// The statements in a dialect.
    init(_ dialect: Dialect) {
        endpoints = TableStatements(of: Tables.eventEndpoints, dialect)
        held = TableStatements(of: Tables.heldEvents, dialect)
        stored = dialect.statement("stored app events", RowReader.storedEvents)
        reads = AppEventReads(dialect)
        heldReads = HeldEventReads(dialect)
        bounds = AppEventBoundStatements(dialect)
        deletions = AppEventDeletions(dialect)
    }

    /// Returns the statements of a change, in their order; `nil` for a change that is none of these events, or that each
    /// store writes by hand.
    package func steps(for change: Change) -> [SQLStep]? {
        switch change {
        case .eventEndpoint(let endpoint): [(endpoints.write, Tables.eventEndpoints.values(endpoint))]
        case .eventEndpointRemoved(let url):
            [deletions.thinFromHeld, deletions.removeHeld, endpoints.remove].map { ($0, [.word(url)]) }
        case .eventHeld(let event): [(held.write, Tables.heldEvents.values(event))]
        case .eventReleased(let url, let position):
            [
                (held.remove, [.word(url), .integer(position.rawValue)]),
                (deletions.thinFrom, [.integer(position.rawValue)]),
            ]
        case .eventsForgotten(let position, let keepsHeld):
            (keepsHeld
                ? [deletions.thin, deletions.countUnheld, deletions.deleteUnheld]
                : [deletions.count, deletions.delete, deletions.deleteHeld])
                .map { ($0, [.integer(position.rawValue)]) }
        default: nil
        }
    }
}

/// The statements that read events.
struct AppEventReads: Sendable {
    let ends, range, rangeOfTypes, searchEnd, callsOfID, ofCall, searchedOfID: SQLText

    init(_ dialect: Dialect) {
        let columns = RowReader.appEventColumns
        // The primary key finds these.
        ends = dialect.statement("ends of app events", AppEventStatements.endsText)
        let range = "FROM app_event WHERE position > $1 AND position <= $2 ORDER BY position"
        self.range = dialect.statement("app events", "SELECT \(columns) \(range) LIMIT $3")
        let searched = "SELECT \(columns) FROM (SELECT \(columns) \(range) LIMIT \(EventRead.searched)) AS searched"
        let isOfType = "\(dialect.position)($4, '|' || type || '|') > 0"
        rangeOfTypes = dialect.statement(
            "app events of types",
            "\(searched) WHERE \(isOfType) ORDER BY position LIMIT $3"
        )
        searchEnd = dialect.statement(
            "end of a search",
            "SELECT position \(range) LIMIT 1 OFFSET \(EventRead.searched - 1)"
        )
        // The index `call_by_id`, and the index `app_event_by_call` for each of the calls.
        callsOfID = dialect.statement(
            "calls with app events",
            "SELECT number FROM call WHERE id IN ($1, $2) LIMIT \(AppEventStatements.callsAtOnce + 1)"
        )
        ofCall = dialect.statement("app events of a call", "SELECT \(columns) FROM app_event WHERE call = $1")
        // The primary keys of both tables.
        searchedOfID = dialect.statement(
            "app events of many calls",
            """
            \(searched) WHERE ($4 IS NULL OR \(isOfType))
                AND (SELECT id FROM call WHERE call.number = searched.call) IN ($5, $6)
            ORDER BY position LIMIT $3
            """
        )
    }
}

/// The statements that read held events with their contents.
struct HeldEventReads: Sendable {
    let retries, ofCall, firstOfCall, after, parked: SQLText

    init(_ dialect: Dialect) {
        // SQLite prefers the primary key, and would read all held events of the endpoint.
        func table(by index: String) -> String { dialect.table("held_event", by: "held_event_by_\(index)") }
        retries = dialect.statement(
            "held events to retry",
            AppEventStatements.heldText(
                table(by: "retry"),
                "url = $1 AND state = 'retry' ORDER BY retry_at, position LIMIT $2",
                "retry_at, held.position"
            )
        )
        ofCall = dialect.statement(
            "held events of a call",
            // A call has few events.
            AppEventStatements.heldText(
                table(by: "call"),
                "url = $1 AND call = $2 AND +position > $3 ORDER BY +position LIMIT $4"
            )
        )
        firstOfCall = dialect.statement(
            "first held event of a call",
            AppEventStatements.heldText(table(by: "call"), "url = $1 AND call = $2 ORDER BY +position LIMIT 1")
        )
        // The primary key.
        after = dialect.statement(
            "held events",
            AppEventStatements.heldText("held_event", "url = $1 AND position > $2 ORDER BY position LIMIT $3")
        )
        parked = dialect.statement(
            "parked events",
            AppEventStatements.heldText(
                table(by: "state"),
                "url = $1 AND state = 'parked' AND position > $2 ORDER BY position LIMIT $3"
            )
        )
    }
}

/// The statements that find out which events are too old or too many.
struct AppEventBoundStatements: Sendable {
    let sums, settled, portion, mendTotal: SQLText

    init(_ dialect: Dialect) {
        // The primary keys.
        sums = dialect.statement("sums of app events", AppEventStatements.sumsText)
        settled = dialect.statement(
            "settled app events",
            "SELECT settled_up_to FROM event_endpoint WHERE settled_up_to BETWEEN 0 AND \(AppEventStatements.last)"
        )
        // The primary key, and the index `held_event_by_position`.
        portion = dialect.statement(
            "portion of app events",
            """
            SELECT position, at, \(AppEventStatements.size), CASE WHEN \(AppEventStatements.isHeld) THEN 1 ELSE 0 END
            FROM app_event WHERE position > $1 AND position <= $2 ORDER BY position LIMIT \(EventRead.limit + 1)
            """
        )

        // Counts the bytes of all events anew, after a sum was damaged.
        mendTotal = dialect.statement(
            "mend the sum of app events",
            """
            UPDATE app_event SET total = (SELECT coalesce(sum(\(AppEventStatements.size)), 0) FROM app_event)
            WHERE position = (\(RowReader.newestAppEvent))
            """
        )
    }
}

/// The statements that delete events and held events.
struct AppEventDeletions: Sendable {
    let removeHeld, thinFrom, thinFromHeld, thin, count, countUnheld, delete, deleteUnheld, deleteHeld: SQLText

    init(_ dialect: Dialect) {
        removeHeld = dialect.statement("remove held events", "DELETE FROM held_event WHERE url = $1")
        let mark = "UPDATE meta SET value"
        thinFrom = dialect.statement(
            "thin app events again",
            "\(mark) = $1 - 1 WHERE name = 'events_thinned' AND value >= $1"
        )
        let first = "(SELECT min(position) FROM held_event WHERE url = $1)"
        thinFromHeld = dialect.statement(
            "thin app events of an endpoint again",
            "\(mark) = \(first) - 1 WHERE name = 'events_thinned' AND value >= \(first)"
        )
        thin = dialect.statement(
            "thin app events",
            """
            INSERT INTO meta (name, value)
            SELECT 'events_thinned', max(position) FROM app_event WHERE \(AppEventStatements.isOld)
            HAVING max(position) IS NOT NULL
            ON CONFLICT (name) DO UPDATE SET value = \(dialect.greatest)(meta.value, excluded.value)
            """
        )
        count = dialect.statement("count forgotten bytes", AppEventStatements.countText(AppEventStatements.isOld))
        countUnheld = dialect.statement(
            "count thinned bytes",
            AppEventStatements.countText("\(AppEventStatements.isOld) AND NOT \(AppEventStatements.isHeld)")
        )
        delete = dialect.statement("forget app events", "DELETE FROM app_event WHERE \(AppEventStatements.isOld)")
        deleteUnheld = dialect.statement(
            "forget app events that are not held",
            "DELETE FROM app_event WHERE \(AppEventStatements.isOld) AND NOT \(AppEventStatements.isHeld)"
        )
        deleteHeld = dialect.statement("forget held events", "DELETE FROM held_event WHERE position <= $1")
    }
}

extension AppEventStatements {
    /// The highest position that an event can have.
    package static let last = StorableRange.numbers.upperBound

    /// The bytes of an event (`AppEvent.byteCount`).
    fileprivate static let size = "length(data) + \(AppEvent.rowBytes)"

    fileprivate static let isHeld = "EXISTS (SELECT 1 FROM held_event WHERE held_event.position = app_event.position)"

    /// The next event's position follows from the newest one, which is therefore never deleted.
    fileprivate static let isOld = "app_event.position <= $1 AND app_event.position < (\(RowReader.newestAppEvent))"

    fileprivate static let endsText = """
        SELECT (SELECT min(position) FROM app_event WHERE position >= \(StorableRange.numbers.lowerBound)),
            (\(RowReader.newestAppEvent))
        """

    /// The sum of all events that there ever were is in the newest one, and that of the deleted ones in `meta`.
    fileprivate static let sumsText = """
        SELECT position, total, coalesce((SELECT value FROM meta WHERE name = 'event_bytes_deleted'), 0),
            coalesce((SELECT value FROM meta WHERE name = 'events_thinned'), 0)
        FROM app_event WHERE position <= \(last) ORDER BY position DESC LIMIT 1
        """

    fileprivate static func countText(_ condition: String) -> String {
        """
        INSERT INTO meta (name, value)
        SELECT 'event_bytes_deleted', coalesce(sum(\(size)), 0) FROM app_event WHERE \(condition)
        ON CONFLICT (name) DO UPDATE SET value = meta.value + excluded.value
        """
    }

    /// Selects held events with their contents.
    fileprivate static func heldText(_ table: String, _ condition: String, _ order: String = "held.position") -> String
    {
        let columns =
            Tables.heldEvents.columns.map { "held.\($0.name)" } + RowReader.appEventNames.map { "app_event.\($0)" }
        return """
            SELECT \(columns.joined(separator: ", "))
            FROM (SELECT * FROM \(table) WHERE \(condition)) AS held
            LEFT JOIN app_event ON app_event.position = held.position
            ORDER BY \(order)
            """
    }
}
