import CallCore
package import CallPorts
import Postgres
import Storing
import Threads

/// The properties of a database that an operator should know before a server uses it.
package struct DatabaseFacts: Equatable, Sendable {
    /// The version of the server, such as 150018 for 15.18.
    package var version: Int
    /// Whether commits are written to the disk (`fsync`).
    package var syncsToDisk: Bool
    /// Whether a page that was torn in a crash can be restored (`full_page_writes`).
    package var writesFullPages: Bool
    /// `synchronous_commit` as the server, the database and the role set it; the store raises `off` and `local`.
    package var synchronousCommit: String
    /// `synchronous_standby_names`; empty if commits wait for no standby.
    package var synchronousStandbys: String
    /// By how many milliseconds the database's clock is ahead of this machine's; negative if it is behind.
    package var clockAheadMilliseconds: Int64
    /// The version of the tables; `nil` if there are none yet.
    package var schemaVersion: Int64?
    /// Whether the role may create the schema, if it is missing.
    package var mayCreateSchema: Bool
    /// The server that owns the database, or has owned it last; `nil` if there was none.
    package var owner: DatabaseOwner?

    /// The version of the tables that this program writes.
    package static var knownSchemaVersion: Int64 { Schema.version }
}

/// Inspects a database with the connection that a server would use, for `ringline doctor`; it changes nothing.
package final class DatabaseInspector {
    private let options: StoreOptions
    private let connection: Connection

    /// Connects to the database, as a server does.
    /// - Throws: `StoreFailure` if a server could not use the database.
    package init(_ options: StoreOptions) throws(StoreFailure) {
        self.options = options
        connection = try Connection.open(options, for: .operators)
    }

    /// Returns the properties of the database.
    package func facts() throws(StoreFailure) -> DatabaseFacts {
        do throws(PostgresError) {
            guard let row = try connection.run(Self.settings).first else {
                throw PostgresError(state: .connection, message: "no row", statement: Self.settings.name)
            }
            let version = try Schema.versionFound(connection, options)
            return DatabaseFacts(
                version: connection.serverVersion,
                syncsToDisk: row.int64(0) != 0,
                writesFullPages: row.int64(1) != 0,
                synchronousCommit: row.text(2),
                synchronousStandbys: row.text(3),
                clockAheadMilliseconds: try clockAhead(),
                schemaVersion: version,
                mayCreateSchema: row.int64(4) != 0,
                owner: version == nil ? nil : try DatabaseOwner.read(connection)
            )
        } catch { throw StoreFailure(error, options) }
    }

    /// Returns the impossible values in what a start of the server reads, and in the columns that a start repairs.
    ///
    /// The tables must have the version of this program.
    package func damages() throws(StoreFailure) -> [DamagedValue] {
        let damages = DamageLog()
        do throws(PostgresError) {
            _ = try Repair(connection, damages: damages, now: Moment(milliseconds: 0)).find()
            let starts = try connection.run(Self.uncleanStarts).first?.int64(0) ?? 0
            return try QueryRunner(connection, damages: damages).state(uncleanStarts: starts).damages
        } catch { throw StoreFailure(error, options) }
    }

    /// Returns the servers that are nodes of the database, the one that was seen last first.
    ///
    /// The tables must have the version of this program.
    package func nodes() throws(StoreFailure) -> [DatabaseNode] {
        do throws(PostgresError) { return try DatabaseNode.all(connection) } catch {
            throw StoreFailure(error, options)
        }
    }

    /// Compares the clocks: the database read its own one in the middle of the round trip, give or take half of it.
    private func clockAhead() throws(PostgresError) -> Int64 {
        var best: (trip: Int64, ahead: Int64)?
        for _ in 0..<3 {
            let before = SystemClock.wall()
            let there = try connection.run(Self.clock).first?.int64(0) ?? before
            let after = SystemClock.wall()
            if best.map({ after - before < $0.trip }) ?? true { best = (after - before, there - (before + after) / 2) }
        }
        return best?.ahead ?? 0
    }

    private static let settings = SQL(
        "settings",
        """
        SELECT current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
            (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
            current_setting('synchronous_standby_names'),
            has_database_privilege(current_database(), 'CREATE')
        """
    )
    private static let clock = SQL("clock", "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
    private static let uncleanStarts = SQL("unclean starts", "SELECT value FROM meta WHERE name = 'crashes'")
}
