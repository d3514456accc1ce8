import CallCore
import CallPorts
import SQLite
import Storing

/// Events for the app's backend.
extension DataFolderExport {
    /// Passes the events, the endpoints, and the events that are held for them.
    func readAppEvents(_ take: (Change) throws(StoreFailure) -> Void) throws {
        try each(Self.allEvents) { row in
            if let event = rows.appEvent(row) { try take(.appEvent(event)) }
        }
        let statements = Connection.statements.appEvents
        try each(statements.endpoints.all) { row in
            if let endpoint = rows.record(Tables.eventEndpoints, row) { try take(.eventEndpoint(endpoint)) }
        }
        try each(statements.held.all) { row in
            if let held = rows.record(Tables.heldEvents, row) { try take(.eventHeld(held)) }
        }
    }

    /// Returns the incarnation; an impossible one is replaced as at a start.
    static func incarnation(_ reader: DataFolderReader, at now: Moment) throws(StoreFailure) -> EventIncarnation {
        let found = try reader.reading { queries throws(SQLiteError) in
            let rows = try queries.session.statement(stored)
            defer { rows.reset() }
            return try rows.step() ? rows.int64(0) : Int64(EventIncarnation.first.rawValue)
        }
        if let number = UInt32(exactly: found), number > 0 { return EventIncarnation(rawValue: number) }
        let damage = DamagedValue(table: "meta", column: "value", row: "event_incarnation", remedy: .replaced)
        reader.queries.damages.record(damage)
        return EventIncarnation.first.next(at: now)
    }

    private static let stored = SQL("incarnation", "SELECT value FROM meta WHERE name = 'event_incarnation'")

    private static let allEvents = SQLText(
        name: "all app events",
        text: "SELECT \(RowReader.appEventColumns) FROM app_event ORDER BY position"
    )
}
