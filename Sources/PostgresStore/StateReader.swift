import CallCore
import CallPorts
import Postgres
import RecordCoding

/// Reads all data that a start of the server needs, row by row, so that no table is in memory twice.
struct StateReader {
    let connection: Connection
    /// The log in which impossible values are recorded.
    let damages: DamageLog

    private var reader: RowReader { RowReader(damages: damages) }

    /// Returns the data that a start of the server needs.
    ///
    /// `uncleanStarts` is the counter that the claim has found, which may be impossible.
    func state(uncleanStarts: Int64) throws(PostgresError) -> StoredState {
        var state = StoredState()
        let reader = reader
        /// The index in `state.calls` of each call.
        var indexes: [CallNumber: Int] = [:]
        try connection.each(Self.calls) { row in
            guard let record = reader.call(row) else { return }
            indexes[record.number] = state.calls.count
            state.calls.append(StoredCall(record: record, entries: []))
        }
        try connection.each(Self.entries) { row in
            guard let index = indexes[CallNumber(rawValue: row.int64(0))], let entry = reader.entry(row) else { return }
            state.calls[index].entries.append(entry)
        }
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
        try connection.each(Self.epochs) {
            guard let (key, epoch) = reader.epoch($0) else { return }
            state.epochs[key] = max(state.epochs[key] ?? 0, epoch)
        }
        try connection.each(Self.lastNumber) {
            state.lastCallNumber = $0.int64(0)
            state.lastCallAt = $0.optionalInt64(1).map(Moment.init(milliseconds:))
        }
        state.uncleanStarts = Int(min(max(uncleanStarts, 0), StorableRange.counts.upperBound))
        if Int64(state.uncleanStarts) != uncleanStarts {
            damages.record(DamagedValue(table: "meta", column: "value", row: "crashes", remedy: .replaced))
        }
        state.damages = damages.take()
        return state
    }

    private static let calls = SQL(
        "calls with log",
        "SELECT \(RowReader.callColumns) FROM call WHERE log_kept AND \(CallCondition.isNotForgotten) ORDER BY number"
    )

    private static let entries = SQL(
        "entries of all calls",
        """
        SELECT \(RowReader.entryColumns) FROM entry
        WHERE call IN (SELECT number FROM call WHERE log_kept AND \(CallCondition.isNotForgotten)) ORDER BY call, seq
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

    /// A pattern for the texts that `UUIDv5.isUUID(_:)` accepts.
    private static let uuid = "^" + [8, 4, 4, 4, 12].map { "[0-9A-Fa-f]{\($0)}" }.joined(separator: "-") + "$"

    /// Reads the epochs of callIds other than UUIDs.
    ///
    /// No client uses a UUID again after its call was forgotten, so the epoch of a UUID is not needed.
    private static let epochs = SQL(
        "epochs",
        """
        SELECT id, caller, callee, max(epoch) AS epoch FROM call
        WHERE id !~ '\(uuid)' AND epoch <= \(StorableRange.epochs.upperBound) GROUP BY id, caller, callee
        """
    )
}
