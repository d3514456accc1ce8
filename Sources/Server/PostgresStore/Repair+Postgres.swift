import CallCore
import CallPorts
import Postgres
import Storing

extension Repair<Connection> {
    /// Repairs the impossible values in one transaction, whose first statement is the fence, and begins a new
    /// incarnation of the events for the app's backend if the database was restored from a backup.
    ///
    /// The claim has already repaired the count of unclean starts; `finished(_:uncleanStarts:)` records whether it was
    /// impossible.
    static func run(
        on connection: Connection,
        after fence: Connection.Step,
        damages: DamageLog,
        now: Moment
    ) throws(PostgresError) {
        let identity = try DatabaseIdentity(of: connection)
        var steps = [Connection.Step(OwnerTable.begin), fence]
        for step in try Repair(connection, damages: damages, now: now).find() {
            steps.append(Connection.Step(step.text, step.values))
        }
        steps += identity.steps(at: now)
        try connection.run(steps + [Connection.Step(advancePositions), Connection.Step(OwnerTable.commit)])
    }

    /// Lets the positions of new events begin after those that exist.
    ///
    /// If rows were copied into the table, PostgreSQL would generate positions that are taken already, and the commits
    /// with these events would fail.
    private static var advancePositions: SQL {
        SQL(
            "advance positions",
            """
            SELECT setval(s.name::regclass, taken.last)
            FROM (SELECT pg_get_serial_sequence('event', 'position') AS name) s,
                (SELECT max(position) AS last FROM event WHERE position <= \(StorableRange.numbers.upperBound)) taken
            WHERE taken.last > coalesce(pg_sequence_last_value(s.name::regclass), 0)
            """
        )
    }
}
