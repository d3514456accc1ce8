package import CallPorts
import Glibc
package import SQLite
package import Storing

/// Reads a data folder, whether its server runs or not, or a backup of one; for `ringline explain` and similar
/// commands.
///
/// A reader does not lock the data folder, and writes no row. Use it from one thread only. It can also read a folder in
/// which this process may not write, if the server was stopped in good order.
package final class DataFolderReader: SQLReader {
    /// See `SQLReader.queries`.
    package let queries: QueryRunner<Connection>
    /// The path of the database, for error texts.
    let database: String

    /// Opens the database in a data folder for reading, or a file that is itself a database.
    ///
    /// - Throws: `StoreFailure` if there is no database, or none that this version can read.
    package convenience init(of path: String) throws(StoreFailure) {
        let place = try TrustedPath(path)
        if place.isFile {
            let connection = try place.user().act { () throws(StoreFailure) in
                try Self.open(place.path, Self.connect(to:))
            }
            self.init(connection, place.path)
        } else {
            try self.init(of: OperatorFolder(path), named: path, connect: Self.connect(to:))
        }
    }

    /// Opens the database in a data folder as the folder's owner.
    convenience init(
        of folder: OperatorFolder,
        named name: String,
        connect: (String) throws(SQLiteError) -> Connection
    ) throws(StoreFailure) {
        let database = DataFolder(path: folder.path).database
        let connection = try folder.act { () throws(StoreFailure) in
            guard try folder.hasDatabase() else {
                throw StoreFailure("No database in \(name): name the data folder of a server that has run.")
            }
            return try Self.open(database, connect)
        }
        self.init(connection, database)
    }

    /// Opens a copy that this process is writing.
    convenience init(ofCopy path: String) throws(StoreFailure) {
        self.init(try Self.open(path, Self.connect(to:)), path)
    }

    private init(_ connection: Connection, _ database: String) {
        queries = QueryRunner(connection, damages: DamageLog())
        self.database = database
    }

    /// Connects, and checks the version of the database, by which SQLite opens every file that it needs.
    private static func open(
        _ database: String,
        _ connect: (String) throws(SQLiteError) -> Connection
    ) throws(StoreFailure) -> Connection {
        let connection: Connection
        do {
            connection = try connect(database)
        } catch { throw StoreFailure(error, database: database) }
        do {
            let found = try Schema.migrations.versionFound(in: connection)
            guard found == Schema.migrations.version else {
                throw StoreFailure(
                    "The database \(database) was written by an older ringline; start the server once to update it."
                )
            }
        } catch let failure as Migrations.Failure {
            throw StoreFailure(failure, database: database)
        } catch let failure as StoreFailure {
            throw failure
        } catch { throw StoreFailure("The database \(database) cannot be read: \(error).") }
        return connection
    }

    /// Returns the failure of a query; see `SQLReader.failure(_:)`.
    package func failure(_ error: SQLiteError) -> StoreFailure { StoreFailure(error, database: database) }

    /// Returns what SQLite finds wrong with the database (`PRAGMA integrity_check`); empty if it is intact.
    ///
    /// The check reads the whole database.
    package func integrityErrors() throws(StoreFailure) -> [String] {
        try reading { queries throws(SQLiteError) in
            var found: [String] = []
            let check = try queries.session.statement(SQL("integrity check", "PRAGMA integrity_check"))
            while try check.step() { found.append(check.text(0)) }
            return found == ["ok"] ? [] : found
        }
    }

    /// Opens the database with the access that the file permissions allow.
    ///
    /// Reading a database in WAL mode needs its `-shm` file, which SQLite creates if it is allowed to. Without that
    /// permission, the database file can still be read as it is, provided that no `-wal` holds data, because then no
    /// process writes to the database.
    static func connect(to database: String) throws(SQLiteError) -> Connection {
        do throws(SQLiteError) {
            let connection = try Connection(.file(path: database, .readOnly), followsLinks: false)
            try connection.pragma("trusted_schema", "OFF")
            try connection.pragma("schema_version")
            return connection
        } catch {
            guard error.code == .cannotOpen || error.code == .readOnly, !hasLog(database) else { throw error }
            return try immutable(database)
        }
    }

    private static func immutable(_ database: String) throws(SQLiteError) -> Connection {
        let connection = try Connection(.file(path: database, .immutable), followsLinks: false)
        try connection.pragma("trusted_schema", "OFF")
        return connection
    }

    /// Opens an unused database read-only; may only recover a stale `-shm`.
    static func connect(toUnused database: String) throws(SQLiteError) -> Connection {
        hasLog(database) ? try connect(to: database) : try immutable(database)
    }

    /// Returns whether a `-wal` holds data.
    static func hasLog(_ database: String) -> Bool {
        var log = stat()
        return lstat(database + "-wal", &log) == 0 && log.st_size > 0
    }
}

extension SQLiteCallStore {
    /// Returns whether a path is a regular file, which is then taken for a database such as a backup, and not a data
    /// folder.
    package static func isFile(_ path: String) -> Bool {
        // The command that goes on with the path says what is wrong with it.
        (try? TrustedPath(path))?.isFile ?? false
    }

    /// Returns whether a server, or a restoration, holds a data folder at the moment.
    package static func isHeld(folder: String) -> Bool {
        // A folder that cannot be read is held by no server, as far as this user can know.
        guard let folder = try? OperatorFolder(folder) else { return false }
        // The same holds for its lock file.
        return (try? folder.act { () throws(StoreFailure) in DataFolder(path: folder.path).isHeld }) ?? false
    }

    /// Returns a reader of a data folder, or of a database file such as a backup.
    ///
    /// A server may run on the folder at the same time.
    package static func reader(of path: String) throws(StoreFailure) -> DataFolderReader {
        try DataFolderReader(of: path)
    }
}
