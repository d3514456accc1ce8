import CallCore
import CallPorts
import Postgres
import Storing

/// Reads all data that a start of the server needs, a batch of rows at a time, so that no table is in memory twice: what
/// lives, and nothing of the past.
struct StateReader {
    let connection: Connection
    /// The log in which impossible values are recorded.
    let damages: DamageLog

    private var reader: RowReader { RowReader(damages: damages) }

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
        try connection.each(Self.liveCalls) { row in
            guard let record = reader.call(row) else { return }
            indexes[record.number] = calls.count
            calls.append(StoredCall(record: record, entries: []))
        }
        try connection.each(Self.entries) { row in
            guard let index = indexes[CallNumber(rawValue: row.int64(0))], let entry = reader.entry(row) else { return }
            calls[index].entries.append(entry)
        }
        return calls
    }

    /// Returns all that a start needs besides the live calls.
    func registrations() throws(PostgresError) -> StoredState {
        var state = StoredState()
        let reader = reader
        try connection.each(Self.ended) { if let call = reader.endedCall($0) { state.ended.append(call) } }
        try connection.each(Self.devices) { if let device = reader.device($0) { state.devices.append(device) } }
        try connection.each(Self.blocks) { if let block = reader.block($0) { state.blocks.append(block) } }
        try connection.each(Self.schedules) {
            if let schedule = reader.schedule($0) { state.schedules.append(schedule) }
        }
        try connection.each(Self.doNotDisturb) {
            if let (user, until) = reader.doNotDisturb($0) { state.doNotDisturb[user] = until }
        }
        try connection.each(Self.revocations) {
            if let (user, moment) = reader.revocation($0) { state.revocations[user] = moment }
        }
        try connection.each(QueryRunner.numberState) { state.numbers.state = RowReader.numberState($0) }
        try connection.each(Self.blockedNumbers) {
            if let (user, number) = reader.blockedNumber($0) { state.numbers.blocked[user, default: []].insert(number) }
        }
        try connection.each(Self.lastNumber) {
            state.lastCallNumber = $0.int64(0)
            state.lastCallAt = $0.optionalInt64(1).map(Moment.init(milliseconds:))
        }
        return state
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

    private static let ended = SQL(
        "ended calls with log",
        """
        SELECT \(RowReader.endedColumns(legs: uninformedLegs)) FROM call
        WHERE log_kept AND ended_at IS NOT NULL AND \(CallCondition.isNotForgotten) ORDER BY number
        """
    )

    private static let uninformedLegs =
        "CASE WHEN position(convert_to('\(LegText.uninformed)', 'UTF8') IN legs) > 0 THEN legs END"

    private static let liveCalls = SQL(
        "live calls",
        "SELECT \(RowReader.callColumns) FROM call WHERE log_kept AND ended_at IS NULL ORDER BY number"
    )

    /// Reads the log of one call after the other: without `OFFSET 0`, PostgreSQL might read the logs of all ended calls
    /// too.
    private static let entries = SQL(
        "entries of live calls",
        """
        SELECT log.* FROM (SELECT number FROM call WHERE log_kept AND ended_at IS NULL) AS live
        CROSS JOIN LATERAL (
            SELECT \(RowReader.entryColumns) FROM entry WHERE call = live.number ORDER BY seq OFFSET 0) AS log
        """
    )

    private static let devices = SQL(
        "devices",
        #"SELECT \#(RowReader.deviceColumns) FROM device ORDER BY "user", id"#
    )
    private static let schedules = SQL(
        "schedules",
        #"SELECT \#(RowReader.scheduleColumns) FROM schedule ORDER BY "user", id"#
    )
    private static let blocks = SQL("blocks", "SELECT by, blocked, at FROM block ORDER BY by, blocked")
    private static let doNotDisturb = SQL("quiet users", #"SELECT "user", until FROM do_not_disturb"#)
    private static let revocations = SQL("revocations", #"SELECT "user", before FROM revocation"#)

    private static let blockedNumbers = SQL(
        "blocked numbers",
        "SELECT owner, number FROM directory WHERE list = 1 AND removed_at IS NULL"
    )

    private static let lastNumber = SQL(
        "last call number",
        """
        SELECT greatest((SELECT value FROM meta WHERE name = 'last_call_number'),
                (SELECT max(number) FROM call WHERE number <= \(StorableRange.numbers.upperBound)), 0),
            (SELECT started_at FROM call
             WHERE number <= \(StorableRange.numbers.upperBound)
                AND started_at BETWEEN \(StorableRange.moments.lowerBound) AND \(StorableRange.moments.upperBound)
             ORDER BY number DESC LIMIT 1)
        """
    )
}
