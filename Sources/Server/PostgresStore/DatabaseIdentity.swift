import CallCore
import CallPorts
import Postgres

/// What tells a database from one that was made of its backup.
///
/// A restored database has lost events that readers may have seen, and uses their positions again. So a new incarnation
/// begins (`EventIncarnation`) when a start finds another identity than the last one did. `pg_restore` makes new tables.
/// A copy of the whole cluster that is recovered from its WAL begins a new timeline; so does a standby that takes over,
/// which may lack commits as well.
///
/// Not detected are a copy of the files, or a snapshot of the disk, that is put back without recovery from an archive;
/// a backup from before the server stored an identity; and an identity that the role may not read.
struct DatabaseIdentity {
    /// The values, by their names in `meta`; 0 = it is not known.
    private let values: [(name: String, value: Int64)]

    /// Reads the identity, outside of any transaction.
    ///
    /// Some hosted databases refuse what an ordinary one allows every role.
    init(of connection: Connection) throws(PostgresError) {
        var values: [(String, Int64)] = []
        for (name, sql) in Self.queries {
            do throws(PostgresError) { values.append((name, try connection.run(sql).first?.int64(0) ?? 0)) } catch {
                if error.endsConnection || connection.isLost { throw error }
                values.append((name, 0))
            }
        }
        self.values = values
    }

    /// The statements that begin a new incarnation at a moment, if the identity is another one than the stored one, and
    /// that store the identity.
    func steps(at now: Moment) -> [Connection.Step] {
        var (names, numbers) = (Column<String>(), Column<Int64>())
        for (name, value) in values where value != 0 {
            names.append(name)
            numbers.append(value)
        }
        var found = Parameters()
        found.add(names)
        found.add(numbers)
        var renewal = found
        renewal.add(Int64(EventIncarnation.first.next(at: now).rawValue))
        return [Connection.Step(Self.renew, renewal), Connection.Step(Self.store, found)]
    }

    private static let queries = [
        ("event_table", SQL("table", "SELECT 'app_event'::regclass::oid::bigint")),
        ("event_system", SQL("system", "SELECT system_identifier FROM pg_control_system()")),
        (
            "event_timeline",
            SQL(
                "timeline",
                "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"
            )
        ),
    ]

    private static let renew = SQL(
        "begin incarnation",
        """
        INSERT INTO meta (name, value)
        SELECT 'event_incarnation', greatest($3, 1 + coalesce((
            SELECT value FROM meta WHERE name = 'event_incarnation'), \(EventIncarnation.first.rawValue)))
        WHERE EXISTS (
            SELECT FROM unnest($1, $2) AS found (name, value) JOIN meta ON meta.name = found.name
            WHERE meta.value <> found.value)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """
    )

    private static let store = SQL(
        "store identity",
        """
        INSERT INTO meta (name, value) SELECT * FROM unnest($1, $2)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value <> excluded.value
        """
    )
}
