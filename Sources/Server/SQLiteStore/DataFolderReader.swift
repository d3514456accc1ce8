package import CallCore
package import CallPorts
import Glibc
import SQLite
import Storing

/// Reads a data folder, whether its server runs or not, or a backup of one; for `ringline explain` and similar
/// commands.
///
/// A reader does not lock the data folder, and writes no row. Use it from one thread only. It can also read a folder in
/// which this process may not write, if the server was stopped in good order.
package final class DataFolderReader: StoreReader {
    let queries: QueryRunner

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
        queries = QueryRunner(connection: connection, database: database, damages: DamageLog())
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

    /// Returns the calls that have not ended; see `StoreReader.liveCalls(limit:)`.
    package func liveCalls(limit: Int) throws(StoreFailure) -> [CallRecord] { try queries.liveCalls(limit: limit) }

    /// Returns the calls that have ended; see `StoreReader.endedCalls(limit:)`.
    package func endedCalls(limit: Int) throws(StoreFailure) -> [CallRecord] { try queries.endedCalls(limit: limit) }

    /// Returns a user's calls; see `StoreReader.history(of:limit:before:)`.
    package func history(of user: UserID, limit: Int, before: CallNumber?) throws(StoreFailure) -> [CallRecord] {
        try queries.history(of: user, limit: limit, before: before)
    }

    /// Returns the calls that a selector chooses; see `StoreReader.calls(_:limit:)`.
    package func calls(_ choice: CallSelector, limit: Int) throws(StoreFailure) -> [CallRecord] {
        try queries.calls(choice, limit: limit)
    }

    /// Returns the timeline of a call; see `StoreReader.timeline(of:)`.
    package func timeline(of number: CallNumber) throws(StoreFailure) -> [TimelineRecord] {
        try queries.events(of: number)
    }

    /// Returns the stored log of a call; see `StoreReader.log(of:)`.
    package func log(of number: CallNumber) throws(StoreFailure) -> [EntryRecord] {
        try queries.log(of: number)
    }

    /// Returns a user's registered devices; see `StoreReader.devices(of:)`.
    package func devices(of user: UserID) throws(StoreFailure) -> [DeviceRecord] { try queries.devices(of: user) }

    /// Returns the bundle ids of the apps on all registered devices; see `StoreReader.bundleIDs(limit:)`.
    package func bundleIDs(limit: Int) throws(StoreFailure) -> [String] { try queries.bundleIDs(limit: limit) }

    /// Returns the kinds of push for which a device has a token; see `StoreReader.registeredKinds()`.
    package func registeredKinds() throws(StoreFailure) -> Set<PushKind> { try queries.registeredKinds() }

    /// Returns the invalid values that were read so far; see `StoreReader.takeDamages()`.
    package func takeDamages() -> [DamagedValue] { queries.damages.take() }

    /// Returns what SQLite finds wrong with the database (`PRAGMA integrity_check`); empty if it is intact.
    ///
    /// The check reads the whole database.
    package func integrityErrors() throws(StoreFailure) -> [String] {
        try queries.reading { () throws -> [String] in
            let rows = try queries.connection.statement(SQL("integrity check", "PRAGMA integrity_check"))
            var found: [String] = []
            while try rows.step() { found.append(rows.text(0)) }
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

    /// Opens a database to which nobody can write meanwhile; no file is created or changed, except that the `-shm` of
    /// a killed server may be.
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
