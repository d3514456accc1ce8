import CSQLite

/// A connection to one SQLite database (`sqlite3`), with its prepared statements.
///
/// Not `Sendable`: whoever opens it uses it, on one thread at a time (`SQLITE_OPEN_NOMUTEX`). Closed when let go of.
public final class Connection {
    let handle: Handle
    private var prepared: [SQL: Statement] = [:]

    /// Where the database is.
    public enum Place: Equatable, Sendable {
        /// In a file.
        case file(path: String, Access)
        /// In memory, shared by the connections of this process that name it alike, gone with the last of them
        /// (`vfs=memdb`). The name holds letters, digits and `-` only.
        case memory(named: String)
    }

    /// What may be done with a file.
    public enum Access: Sendable {
        /// Read and write; made if it is missing, with the mode that the process's umask leaves of 0644.
        case create
        /// Read and write; must be there.
        case readWrite
        /// Read only; in WAL mode SQLite may still need to make the `-shm` file.
        case readOnly
        /// Read only, and nobody changes the file meanwhile: no lock, no `-wal`, no `-shm` (`immutable=1`).
        case immutable
    }

    /// Opens a database (`sqlite3_open_v2`); the file is first read by the first statement.
    /// - Parameters:
    ///   - place: Where it is.
    ///   - busyTimeoutMilliseconds: How long to wait for another connection's lock (`sqlite3_busy_timeout`).
    /// - Throws: What SQLite says, mostly ``SQLiteError/Code/cannotOpen``.
    public init(_ place: Place, busyTimeoutMilliseconds: Int32 = 5_000) throws(SQLiteError) {
        var flags = SQLITE_OPEN_NOMUTEX
        let name: String
        switch place {
        case .file(let path, .create):
            name = path
            flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .file(let path, .readWrite):
            name = path
            flags |= SQLITE_OPEN_READWRITE
        case .file(let path, .readOnly):
            name = path
            flags |= SQLITE_OPEN_READONLY
        case .file(let path, .immutable):
            name = "file:\(Self.escaped(path))?immutable=1"
            flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        case .memory(let memory):
            name = "file:/\(memory)?vfs=memdb"
            flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI
        }
        handle = try Handle(path: name, flags: flags)
        sqlite3_busy_timeout(handle.pointer, busyTimeoutMilliseconds)
    }

    /// The statement of this SQL: compiled at the first call, kept for the next ones.
    public func statement(_ sql: SQL) throws(SQLiteError) -> Statement {
        if let known = prepared[sql] { return known }
        let new = try Statement(sql, on: handle)
        prepared[sql] = new
        return new
    }

    /// Runs SQL of any number of statements without values or rows (`sqlite3_exec`).
    public func execute(_ sql: SQL) throws(SQLiteError) {
        guard sqlite3_exec(handle.pointer, sql.text, nil, nil, nil) == SQLITE_OK else {
            throw handle.error(in: sql.name)
        }
    }

    /// Sets a pragma (`PRAGMA name = value`) and reads what it answers.
    /// - Returns: The first column of the first row as text; `nil` when there is no row.
    @discardableResult
    public func pragma(_ name: String, _ value: String? = nil) throws(SQLiteError) -> String? {
        let text = value.map { "PRAGMA \(name) = \($0)" } ?? "PRAGMA \(name)"
        let statement = try Statement(SQL("pragma \(name)", text), on: handle)
        return try statement.step() ? statement.optionalText(0) : nil
    }

    /// Runs `body` in a transaction that holds the write lock from its start (`BEGIN IMMEDIATE`).
    ///
    /// Commits when `body` returns; rolls back when it, or the commit, throws.
    public func transaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try statement(Self.begin).run()
        do throws(SQLiteError) {
            let value = try body()
            try statement(Self.commit).run()
            return value
        } catch {
            // Some errors (full, I/O) roll back by themselves; and if the rollback fails, the first error is the cause.
            if isInTransaction { try? statement(Self.rollback).run() }
            throw error
        }
    }

    /// Whether a transaction is open (`sqlite3_get_autocommit`).
    public var isInTransaction: Bool { sqlite3_get_autocommit(handle.pointer) == 0 }

    /// How many rows the last statement inserted, updated or deleted (`sqlite3_changes64`).
    public var changes: Int { Int(sqlite3_changes64(handle.pointer)) }

    private static let begin = SQL("begin", "BEGIN IMMEDIATE")
    private static let commit = SQL("commit", "COMMIT")
    private static let rollback = SQL("rollback", "ROLLBACK")

    /// A path as it stands in a `file:` URI.
    private static func escaped(_ path: String) -> String {
        var text = ""
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
            }
        }
        return text
    }
}
