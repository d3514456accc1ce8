import CallCore
import CallPorts
import SQLite
import Storing

/// Repairs, at each opening, the impossible values that cannot just be ignored when they are read.
///
/// These are the values that SQL itself computes with: counters that would overflow to floating-point numbers, the
/// order of events, and the time at which a call is forgotten. Impossible times of revocations are repaired as well,
/// because the nearest valid time, with which they would be read, might revoke nothing. Calls with an impossible number
/// are only recorded as damaged.
///
/// Damaged events and calls are found by an index, so that an undamaged database costs almost nothing. Only the small
/// table of revocations is read as a whole.
struct Repair {
    let connection: Connection
    let damages: DamageLog
    let now: Moment

    func run() throws(SQLiteError) {
        try connection.transaction { () throws(SQLiteError) in
            try repairCounters()
            try repairEndings()
            try repairOrder()
            try repairRevocations()
            // These rows stay in the database, but no call record is created from them.
            try findAll("call", "number", outside: StorableRange.numbers, .leftOut) { _ throws(SQLiteError) in }
        }
    }

    private func repairCounters() throws(SQLiteError) {
        let ranges = [
            ("crashes", StorableRange.counts), ("last_call_number", 0...StorableRange.numbers.upperBound),
            ("forgetting_before", StorableRange.moments),
            ("directory_version", 0...StorableRange.numbers.upperBound),
            ("directory_oldest", 0...StorableRange.numbers.upperBound),
            ("directory_numbers", 0...StorableRange.numbers.upperBound),
        ]
        for (name, range) in ranges {
            let found = try statement("read counter", "SELECT value FROM meta WHERE name = ?1")
            try found.bind(name, at: 1)
            let value = try found.step() ? found.int64(0) : nil
            found.reset()
            guard let value, !range.contains(value) else { continue }
            damages.record(DamagedValue(table: "meta", column: "value", row: name, remedy: .replaced))
            switch name {
            case "forgetting_before":
                // With a damaged value, the whole history might be deleted.
                try run("mend forgetting", "DELETE FROM meta WHERE name = 'forgetting_before'")
            // This counter is only for deleted calls; the stored calls contain their own numbers.
            case "last_call_number":
                try run("mend counter", "UPDATE meta SET value = 0 WHERE name = 'last_call_number'")
            case "directory_version", "directory_oldest", "directory_numbers": try repairDirectory()
            default:
                let bound = value < 0 ? range.lowerBound : range.upperBound
                try run("mend counter \(bound)", "UPDATE meta SET value = \(bound) WHERE name = 'crashes'")
            }
        }
    }

    /// Counts the call directory's numbers and versions anew; every client then reads its list from the beginning.
    private func repairDirectory() throws(SQLiteError) {
        let newest = """
            (SELECT coalesce(max(version), 0) FROM directory
            WHERE version BETWEEN 0 AND \(StorableRange.numbers.upperBound - 1))
            """
        let values = [
            ("version", "1 + \(newest)"), ("oldest", "1 + \(newest)"),
            ("numbers", "(SELECT count(*) FROM directory WHERE owner = '' AND list = 0 AND removed_at IS NULL)"),
        ]
        for (name, value) in values {
            try run("mend \(name)", "INSERT OR REPLACE INTO meta VALUES ('directory_\(name)', \(value))")
        }
    }

    /// Repairs end times.
    ///
    /// A call with an impossible end time would be forgotten immediately, or never.
    private func repairEndings() throws(SQLiteError) {
        let range = StorableRange.moments
        let mend = try statement(
            "mend ending",
            """
            UPDATE call SET ended_at = CASE
                WHEN started_at BETWEEN \(range.lowerBound) AND \(range.upperBound) THEN started_at ELSE ?2 END
            WHERE number = ?1
            """
        )
        try findAll("call", "ended_at", outside: range, named: "number", .replaced) { number throws(SQLiteError) in
            try mend.bind(number, at: 1)
            try mend.bind(min(max(now.milliseconds, range.lowerBound), range.upperBound), at: 2)
            try mend.run()
        }
    }

    /// Repairs positions of events.
    ///
    /// Once an event has the highest possible rowid, SQLite gives new events random rowids, and timelines lose their
    /// order.
    private func repairOrder() throws(SQLiteError) {
        let mend = try statement(
            "mend order",
            """
            UPDATE event SET position =
                1 + coalesce((SELECT max(position) FROM event WHERE position <= \(StorableRange.numbers.upperBound)), 0)
            WHERE position = ?1
            """
        )
        let all = Int64.min...StorableRange.numbers.upperBound
        try findAll("event", "position", outside: all, .replaced) { position throws(SQLiteError) in
            try mend.bind(position, at: 1)
            try mend.run()
        }
    }

    /// Repairs revocations.
    ///
    /// The right time is unknown, so all tokens of the user that were issued up to now are refused.
    private func repairRevocations() throws(SQLiteError) {
        let range = StorableRange.moments
        let found = try statement(
            "damaged revocations",
            "SELECT user FROM revocation WHERE before NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)"
        )
        while try found.step() {
            damages.record(
                DamagedValue(table: "revocation", column: "before", row: found.text(0), remedy: .replaced)
            )
        }
        let mend = try statement(
            "mend revocations",
            "UPDATE revocation SET before = ?1 WHERE before NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)"
        )
        try mend.bind(now.milliseconds, at: 1)
        try mend.run()
    }

    /// Records in `damages` the rows whose column is outside a range, and calls `mend` with the number of each such
    /// row, the lowest value first.
    private func findAll(
        _ table: String,
        _ column: String,
        outside range: ClosedRange<Int64>,
        named name: String? = nil,
        _ remedy: DamagedValue.Remedy,
        _ mend: (Int64) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let name = name ?? column
        for condition in ["< \(range.lowerBound)", "> \(range.upperBound)"] {
            let found = try statement(
                "damaged \(table).\(column) \(condition)",
                "SELECT \(name) FROM \(table) WHERE \(column) IS NOT NULL AND \(column) \(condition) ORDER BY \(column)"
            )
            var rows: [Int64] = []
            while try found.step() { rows.append(found.int64(0)) }
            for row in rows {
                damages.record(DamagedValue(table: table, column: column, row: "\(row)", remedy: remedy))
                try mend(row)
            }
        }
    }

    private func statement(_ name: String, _ text: String) throws(SQLiteError) -> Statement {
        try connection.statement(SQL(name, text))
    }

    private func run(_ name: String, _ text: String) throws(SQLiteError) { try statement(name, text).run() }
}
