public import CallCore
import Glibc
import SQLite
public import Switchboard

/// Reads a data folder, whether its server runs or not, or a back-up of one: for `ringline explain` and the like.
///
/// Takes no lock and writes no row. For one thread. Works as well when the folder cannot be written, if the server was stopped in good order.
public final class StoreReader {
    let questions: Questions

    /// Opens the database in a data folder for reading; a path that is no folder's is taken for a database's itself.
    /// - Throws: `StoreFailure` when there is none, or one that this version cannot read.
    public init(folder: String) throws(StoreFailure) {
        let database = try Self.database(at: folder)
        let connection: Connection
        do {
            connection = try Self.connect(to: database)
        } catch { throw StoreFailure(error, database: database) }
        do {
            let found = try Schema.migrations.versionFound(in: connection)
            guard found == Schema.migrations.version else {
                throw StoreFailure(
                    "The database \(database) was written by an older ringline; start the server once to bring it up."
                )
            }
        } catch let failure as Migrations.Failure {
            throw StoreFailure(failure, database: database)
        } catch let failure as StoreFailure {
            throw failure
        } catch { throw StoreFailure("The database \(database) cannot be read: \(error).") }
        questions = Questions(connection: connection, database: database, damages: DamageLog())
    }

    private static func database(at path: String) throws(StoreFailure) -> String {
        if SQLiteCallStore.isCopy(path) { return path }
        let folder = Folder(path: path)
        try folder.requireFolder()
        guard access(folder.database, F_OK) == 0 else {
            throw StoreFailure("There is no database in \(path): no ringline has run with it as its data folder.")
        }
        return folder.database
    }

    /// The calls that have not ended, newest first, as the last commit has them.
    public func liveCalls(limit: Int) throws(StoreFailure) -> [CallRecord] { try questions.liveCalls(limit: limit) }

    /// A user's calls; see `Question.history(_:limit:before:)`.
    public func history(of user: UserID, limit: Int, before: CallNumber? = nil) throws(StoreFailure) -> [CallRecord] {
        try questions.history(of: user, limit: limit, before: before)
    }

    /// The calls that fit, newest first, as far as they are kept; at most so many.
    public func calls(_ choice: CallChoice, limit: Int) throws(StoreFailure) -> [CallRecord] {
        try questions.calls(choice, limit: limit)
    }

    /// What happened in a call, oldest first.
    public func timeline(of number: CallNumber) throws(StoreFailure) -> [TimelineRecord] {
        try questions.events(of: number)
    }

    /// The log of a call as far as it is still kept; of one that can no longer be fetched the timeline tells it.
    public func log(of number: CallNumber) throws(StoreFailure) -> [EntryRecord] {
        try questions.log(of: number)
    }

    /// A user's registered devices.
    public func devices(of user: UserID) throws(StoreFailure) -> [DeviceRecord] { try questions.devices(of: user) }

    /// The apps of all registered devices, at most so many of them.
    public func bundleIDs(limit: Int) throws(StoreFailure) -> [String] { try questions.bundleIDs(limit: limit) }

    /// The values read so far that cannot be, and were replaced or left out; each is told once.
    public func takeDamages() -> [DamagedValue] { questions.damages.take() }

    /// What SQLite finds wrong with the database (`PRAGMA integrity_check`); empty when it is sound.
    ///
    /// Reads all of it.
    public func damage() throws(StoreFailure) -> [String] {
        try questions.reading { () throws -> [String] in
            let rows = try questions.connection.statement(SQL("integrity check", "PRAGMA integrity_check"))
            var found: [String] = []
            while try rows.step() { found.append(rows.text(0)) }
            return found == ["ok"] ? [] : found
        }
    }

    /// Opens the database as it may be read.
    ///
    /// Reading a database in WAL mode needs its `-shm`, which SQLite makes if it may. Where it may not, and no `-wal`
    /// holds anything that is not in the database, nobody writes there, and the file can be read as it stands.
    static func connect(to database: String) throws(SQLiteError) -> Connection {
        do throws(SQLiteError) {
            let connection = try Connection(.file(path: database, .readOnly))
            try connection.pragma("schema_version")
            return connection
        } catch {
            var log = stat()
            let hasLog = stat(database + "-wal", &log) == 0 && log.st_size > 0
            guard error.code == .cannotOpen || error.code == .readOnly, !hasLog else { throw error }
            return try Connection(.file(path: database, .immutable))
        }
    }
}

extension SQLiteCallStore {
    /// Whether a path leads to a database itself, such as a back-up, and not to a data folder.
    public static func isCopy(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether a server runs on a data folder.
    public static func isHeld(folder: String) -> Bool { Folder(path: folder).isHeld }

    /// Reads a data folder beside whatever server runs on it.
    public static func reader(folder: String) throws(StoreFailure) -> StoreReader { try StoreReader(folder: folder) }
}
