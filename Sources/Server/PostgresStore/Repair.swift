import CallCore
import CallPorts
import Postgres
import Storing

/// Repairs, at each opening, the impossible values that cannot just be ignored when they are read.
///
/// SQL itself computes with some of them: with the counters, and with the end of a call, from which the time of its
/// deletion follows. Impossible times of revocations are repaired as well, because the nearest valid time, with which
/// they would be read, might revoke nothing. Calls with an impossible number are only recorded.
///
/// Damaged calls are found by an index, so that an undamaged database costs almost nothing. Only the small tables of
/// counters and revocations are read as a whole.
struct Repair {
    let connection: Connection
    let damages: DamageLog
    let now: Moment

    /// Repairs the values in one transaction, whose first statement is the fence.
    func run(after fence: Connection.Step) throws(PostgresError) {
        var steps = [Connection.Step(OwnerTable.begin), fence] + (try find())
        steps.append(Connection.Step(Self.mendEndings, moment))
        steps.append(Connection.Step(Self.mendRevocations, moment))
        steps.append(Connection.Step(Self.advancePositions))
        steps.append(Connection.Step(OwnerTable.commit))
        try connection.run(steps)
    }

    /// Records the values, and changes nothing.
    ///
    /// - Returns: The statements that repair the counters.
    func find() throws(PostgresError) -> [Connection.Step] {
        var steps: [Connection.Step] = []
        try findCounters(&steps)
        try find("call", "ended_at", outside: StorableRange.moments, named: "number", .replaced)
        try find("revocation", "before", outside: StorableRange.moments, named: #""user""#, .replaced)
        // These rows stay in the database, but no call record is created from them.
        try find("call", "number", outside: StorableRange.numbers, named: "number", .leftOut)
        return steps
    }

    private var moment: Parameters {
        var parameters = Parameters()
        parameters.add(min(max(now.milliseconds, range.lowerBound), range.upperBound))
        return parameters
    }

    private var range: ClosedRange<Int64> { StorableRange.moments }

    /// Records impossible counters, and adds the statements that repair them.
    ///
    /// The claim has already repaired the count of unclean starts; ``StateReader`` records whether it was impossible.
    private func findCounters(_ steps: inout [Connection.Step]) throws(PostgresError) {
        let found = try connection.run(SQL("read counters", "SELECT name, value FROM meta"))
        for index in 0..<found.count {
            let (name, value) = (found[index].text(0), found[index].int64(1))
            switch name {
            case "last_call_number" where !(0...StorableRange.numbers.upperBound).contains(value):
                // This counter is only for deleted calls; the stored calls contain their own numbers.
                steps.append(
                    Connection.Step(SQL("mend counter", "UPDATE meta SET value = 0 WHERE name = 'last_call_number'"))
                )
            case "forgetting_before" where !range.contains(value):
                // With a damaged value, the whole history might be deleted.
                steps.append(
                    Connection.Step(SQL("mend forgetting", "DELETE FROM meta WHERE name = 'forgetting_before'"))
                )
            case "directory_version" where !(0...StorableRange.numbers.upperBound).contains(value),
                "directory_oldest" where !(0...StorableRange.numbers.upperBound).contains(value),
                "directory_numbers" where !(0...StorableRange.numbers.upperBound).contains(value):
                steps.append(Connection.Step(Self.mendDirectory))
            default: continue
            }
            damages.record(DamagedValue(table: "meta", column: "value", row: name, remedy: .replaced))
        }
    }

    /// Counts the call directory's numbers and versions anew; every client then reads its list from the beginning.
    private static let mendDirectory = SQL(
        "mend the directory",
        """
        INSERT INTO meta (name, value)
        SELECT name, value FROM (
            SELECT 1 + coalesce(max(version) FILTER (
                    WHERE version BETWEEN 0 AND \(StorableRange.numbers.upperBound - 1)), 0) AS newest,
                count(*) FILTER (WHERE owner = '' AND list = 0 AND removed_at IS NULL) AS numbers
            FROM directory) AS found
        CROSS JOIN LATERAL (VALUES ('directory_version', newest), ('directory_oldest', newest),
            ('directory_numbers', numbers)) AS row (name, value)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """
    )

    /// Records the rows whose column is outside a range; `name` is the column or expression that names a row.
    private func find(
        _ table: String,
        _ column: String,
        outside range: ClosedRange<Int64>,
        named name: String,
        _ remedy: DamagedValue.Remedy
    ) throws(PostgresError) {
        for condition in ["< \(range.lowerBound)", "> \(range.upperBound)"] {
            let found = try connection.run(
                SQL(
                    "damaged \(table).\(column) \(condition)",
                    "SELECT \(name)::text FROM \(table) WHERE \(column) IS NOT NULL AND \(column) \(condition)"
                )
            )
            for index in 0..<found.count {
                damages.record(DamagedValue(table: table, column: column, row: found[index].text(0), remedy: remedy))
            }
        }
    }

    private static let impossible =
        "NOT BETWEEN \(StorableRange.moments.lowerBound) AND \(StorableRange.moments.upperBound)"

    /// Replaces impossible ends of calls, with which a call would be forgotten immediately, or never.
    private static let mendEndings = SQL(
        "mend endings",
        """
        UPDATE call SET ended_at = CASE
            WHEN started_at BETWEEN \(StorableRange.moments.lowerBound) AND \(StorableRange.moments.upperBound)
            THEN started_at ELSE $1 END
        WHERE ended_at IS NOT NULL
            AND (ended_at < \(StorableRange.moments.lowerBound) OR ended_at > \(StorableRange.moments.upperBound))
        """
    )

    /// Lets the positions of new events begin after those that exist.
    ///
    /// If rows were copied into the table, PostgreSQL would generate positions that are taken already, and the commits
    /// with these events would fail.
    private static let advancePositions = SQL(
        "advance positions",
        """
        SELECT setval(s.name::regclass, taken.last)
        FROM (SELECT pg_get_serial_sequence('event', 'position') AS name) s,
            (SELECT max(position) AS last FROM event WHERE position <= \(StorableRange.numbers.upperBound)) taken
        WHERE taken.last > coalesce(pg_sequence_last_value(s.name::regclass), 0)
        """
    )

    /// Replaces impossible times of revocations.
    ///
    /// The right time is unknown, so all tokens of the user that were issued up to now are refused.
    private static let mendRevocations = SQL(
        "mend revocations",
        "UPDATE revocation SET before = $1 WHERE before \(impossible)"
    )
}
