import CallCore
import CallPorts
import Postgres
import Storing

/// Reads all data that a start of the server needs, a batch of rows at a time, so that no table is in memory twice: what
/// lives, and nothing of the past.
extension QueryRunner<Connection> {
    /// Returns the data that a start of the server needs.
    ///
    /// `uncleanStarts` is the counter that the claim has found, which may be impossible.
    func state(uncleanStarts: Int64) throws(PostgresError) -> StoredState {
        var state = try registrations()
        state.calls = try liveCalls()
        return finished(state, uncleanStarts: uncleanStarts)
    }

    /// Returns the live calls with their logs.
    func liveCalls() throws(PostgresError) -> [StoredCall] {
        let reader = reader
        var calls: [StoredCall] = []
        /// The index in `calls` of each call.
        var indexes: [CallNumber: Int] = [:]
        try session.readLargeTable(Connection.statements.liveCalls) { row in
            guard let record = reader.call(row) else { return }
            indexes[record.number] = calls.count
            calls.append(StoredCall(record: record, entries: []))
        }
        try session.each(Self.entries) { row in
            guard let index = indexes[CallNumber(rawValue: row.int64(0))], let entry = reader.entry(row) else { return }
            calls[index].entries.append(entry)
        }
        return calls
    }

    /// Returns a state with the counter that the claim has found, and with the impossible values of all its parts.
    func finished(_ parts: StoredState, uncleanStarts: Int64) -> StoredState {
        var state = parts
        state.uncleanStarts = Int(min(max(uncleanStarts, 0), StorableRange.counts.upperBound))
        if Int64(state.uncleanStarts) != uncleanStarts {
            damages.record(DamagedValue(table: "meta", column: "value", row: "crashes", remedy: .replaced))
        }
        state.damages = damages.take()
        return state
    }

    /// Reads the log of one call after the other: without `OFFSET 0`, PostgreSQL might read the logs of all ended calls
    /// too.
    private static var entries: SQL {
        SQL(
            "entries of live calls",
            """
            SELECT log.* FROM (SELECT number FROM call WHERE log_kept AND ended_at IS NULL) AS live
            CROSS JOIN LATERAL (
                SELECT \(RowReader.entryColumns) FROM entry WHERE call = live.number ORDER BY seq OFFSET 0) AS log
            """
        )
    }
}
