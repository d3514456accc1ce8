import CallCore
import CallPorts
import SQLite
import Storing

/// Reads everything that a start of the server needs: what lives, and nothing of the past.
extension QueryRunner {
    /// Returns the data that a start of the server needs.
    func state() throws(StoreFailure) -> StoredState {
        try reading { () throws -> StoredState in
            var state = StoredState()
            let ended = try connection.statement(Self.ended)
            while try ended.step() { if let call = reader.endedCall(ended) { state.ended.append(call) } }
            let calls = try connection.statement(Self.liveCalls)
            let entries = try connection.statement(Self.entries)
            while try calls.step() {
                guard let record = reader.call(calls) else { continue }
                var call = StoredCall(record: record, entries: [])
                try entries.bind(record.number.rawValue, at: 1)
                while try entries.step() { if let entry = reader.entry(entries) { call.entries.append(entry) } }
                state.calls.append(call)
            }
            let devices = try connection.statement(Self.devices)
            while try devices.step() { if let device = reader.device(devices) { state.devices.append(device) } }
            let blocks = try connection.statement(Self.blocks)
            while try blocks.step() {
                if let block = reader.block(blocks) { state.blocks.append(block) }
            }
            let schedules = try connection.statement(Self.schedules)
            while try schedules.step() {
                if let schedule = reader.schedule(schedules) { state.schedules.append(schedule) }
            }
            let quiet = try connection.statement(Self.doNotDisturb)
            while try quiet.step() {
                if let (user, until) = reader.doNotDisturb(quiet) { state.doNotDisturb[user] = until }
            }
            let revocations = try connection.statement(Self.revocations)
            while try revocations.step() {
                if let (user, moment) = reader.revocation(revocations) { state.revocations[user] = moment }
            }
            state.numbers = try storedNumbers()
            let numbers = try connection.statement(Self.lastNumber)
            if try numbers.step() {
                state.lastCallNumber = numbers.int64(0)
                state.uncleanStarts = Int(numbers.int64(1))
                state.lastCallAt = numbers.optionalInt64(2).map(Moment.init(milliseconds:))
            }
            numbers.reset()
            state.damages = damages.take()
            return state
        }
    }

    private static let liveCalls = SQL(
        "live calls",
        "SELECT \(RowReader.callColumns) FROM call WHERE log_kept = 1 AND ended_at IS NULL ORDER BY number"
    )

    /// Excludes calls whose deletion has begun.
    private static let ended = SQL(
        "ended calls with log",
        """
        SELECT \(RowReader.endedColumns(legs: uninformedLegs)) FROM call
        WHERE log_kept = 1 AND ended_at IS NOT NULL AND \(CallCondition.isNotForgotten) ORDER BY number
        """
    )

    private static let uninformedLegs = "CASE WHEN instr(legs, '\(LegText.uninformed)') > 0 THEN legs END"

    static let devices = SQL("devices", "SELECT \(RowReader.deviceColumns) FROM device ORDER BY user, id")
    static let schedules = SQL("schedules", "SELECT \(RowReader.scheduleColumns) FROM schedule ORDER BY user, id")
    static let blocks = SQL("blocks", "SELECT by, blocked, at FROM block ORDER BY by, blocked")
    static let doNotDisturb = SQL("do not disturb", "SELECT user, until FROM do_not_disturb")
    static let revocations = SQL("revocations", "SELECT user, before FROM revocation")

    private static let lastNumber = SQL(
        "last call number",
        """
        SELECT max((SELECT value FROM meta WHERE name = 'last_call_number'),
                coalesce((SELECT max(number) FROM call WHERE number <= \(StorableRange.numbers.upperBound)), 0)),
            (SELECT value FROM meta WHERE name = 'crashes'),
            (SELECT started_at FROM call
             WHERE number <= \(StorableRange.numbers.upperBound)
                AND started_at BETWEEN \(StorableRange.moments.lowerBound) AND \(StorableRange.moments.upperBound)
             ORDER BY number DESC LIMIT 1)
        """
    )
}
