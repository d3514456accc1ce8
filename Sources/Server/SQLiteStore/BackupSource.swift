import CallPorts
import Glibc
import SQLite

/// A backup of which the rows are copied into another database.
///
/// The schema stays behind: a trigger would run in the server, and a view or a computed column in the command that
/// restores. Only ordinary tables with ringline's own columns are read.
struct BackupSource {
    /// The backup as the operator named it.
    private let named: String
    private let place: TrustedPath

    init(_ named: String) throws(StoreFailure) {
        self.named = named
        place = try TrustedPath(named)
        guard place.missing.isEmpty else { throw AtomicFile.failure("read", named, ENOENT) }
        guard place.isFile else { throw StoreFailure("The file \(named) is not a regular file.") }
    }

    /// Copies the rows of the backup, including those in its `-wal`, into an empty file, and checks that all of them can
    /// be read.
    func copy(to path: String, _ finally: SQL) throws(StoreFailure) {
        do {
            let connection = try Connection(.file(path: path, .copying), followsLinks: false)
            try connection.pragma("trusted_schema", "OFF")
            // A crash leaves the unfinished file outside of any database, so it needs no journal.
            try connection.pragma("journal_mode", "OFF")
            try connection.pragma("synchronous", "OFF")
            let version = try place.user().act { () throws(StoreFailure) in try attach(to: connection) }
            try Schema.migrations.run(on: connection, upTo: version)
            try copyTables(connection)
            try connection.detach(Self.name)
            let check = try connection.pragma("integrity_check")
            guard check == "ok" else { throw StoreFailure("The file \(named) is damaged: \(check ?? "")") }
            try connection.execute(finally)
        } catch { throw failure(error, path) }
    }

    private func failure(_ error: any Error, _ path: String? = nil) -> StoreFailure {
        switch error {
        case let failure as StoreFailure: failure
        case let failure as Migrations.Failure: StoreFailure(failure, database: named)
        case let error as SQLiteError where error.code == .full: StoreFailure(error, database: path ?? named)
        case let error as SQLiteError where error.code == .constraint:
            StoreFailure("The file \(named) is damaged: \(error.message)")
        case let error as SQLiteError: StoreFailure(error, database: named)
        default: StoreFailure("The file \(named) cannot be copied: \(error).")
        }
    }

    /// Attaches the backup, and returns the version of its schema, by which SQLite opens every file that it needs.
    private func attach(to connection: Connection) throws(StoreFailure) -> Int {
        do {
            do throws(SQLiteError) {
                try connection.attach(place.path, .readOnly, as: Self.name)
                try connection.pragma("\(Self.name).schema_version")
            } catch {
                // As in `DataFolderReader.connect(to:)`.
                guard error.code == .cannotOpen || error.code == .readOnly, !DataFolderReader.hasLog(place.path) else {
                    throw error
                }
                // The connection ends with the command, whatever this says.
                try? connection.detach(Self.name)
                try connection.attach(place.path, .immutable, as: Self.name)
            }
            let version = try Schema.migrations.versionFound(in: connection, Self.name)
            guard version > 0 else {
                throw StoreFailure("The file \(named) is a database, but not one of ringline's.")
            }
            return version
        } catch { throw failure(error) }
    }

    /// The name of the backup's schema on the connection.
    private static let name = "backup"

    /// Copies the rows of each table in one transaction.
    private func copyTables(_ connection: Connection) throws {
        let found = try Self.tables(of: Self.name, connection)
        var steps = "BEGIN;"
        for (table, type) in try Self.tables(of: "main", connection) {
            guard found[table] == type,
                try Self.columns(of: table, Self.name, connection) == Self.columns(of: table, "main", connection)
            else {
                throw StoreFailure("The file \(named) is a database, but its table \(table) is not ringline's.")
            }
            steps += "DELETE FROM main.\(table); INSERT INTO main.\(table) SELECT * FROM \(Self.name).\(table);"
        }
        try connection.execute(SQL("copy tables", steps + "COMMIT"))
    }

    /// Returns the tables by name, each with its type: `table`, `view`, `virtual` or `shadow`.
    private static func tables(of schema: String, _ connection: Connection) throws(SQLiteError) -> [String: String] {
        let rows = try connection.statement(SQL("tables of \(schema)", "PRAGMA \(schema).table_list"))
        defer { rows.reset() }
        var tables: [String: String] = [:]
        while try rows.step() {
            let table = rows.text(1)
            if rows.text(0) == schema, !table.hasPrefix("sqlite_") { tables[table] = rows.text(2) }
        }
        return tables
    }

    /// Returns the name of each column, in order, with 0 for one that is not computed.
    private static func columns(
        of table: String,
        _ schema: String,
        _ connection: Connection
    ) throws(SQLiteError) -> [String] {
        let name = "columns of \(schema).\(table)"
        let rows = try connection.statement(SQL(name, "PRAGMA \(schema).table_xinfo(\(table))"))
        defer { rows.reset() }
        var columns: [String] = []
        while try rows.step() { columns.append("\(rows.text(1)) \(rows.int64(6))") }
        return columns
    }
}
