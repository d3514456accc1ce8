import CSQLite

/// A connection to one SQLite database (`sqlite3`), with its prepared statements.
///
/// A connection is not `Sendable`: only its owner uses it, on one thread at a time (`SQLITE_OPEN_NOMUTEX`). The
/// database is closed once the connection and the last of its statements are released.
package final class Connection {
    let handle: Handle
    private var prepared: [SQL: Statement] = [:]

    /// The place of a database.
    package enum Place: Equatable, Sendable {
        /// In a file.
        case file(path: String, Access)
        /// In memory, shared by the connections of this process that use the same name, and deleted with the last of
        /// these connections (`vfs=memdb`).
        ///
        /// The name contains letters, digits and `-` only.
        case memory(named: String)
    }

    /// The permitted access to a file.
    package enum Access: Sendable {
        /// Read and write; a missing file is created with mode 0644, less the process's umask.
        case create
        /// Read and write; the file must exist.
        case readWrite
        /// Read and write; the file must exist. Databases that are only read can be attached.
        case copying
        /// Read only; in WAL mode SQLite may still need to create the `-shm` file.
        case readOnly
        /// Read only, for a file that no process changes meanwhile: SQLite uses no lock, no `-wal` and no `-shm`
        /// (`immutable=1`).
        case immutable
    }

    /// Opens a database (`sqlite3_open_v2`); the file is not read before the first statement runs.
    /// - Parameters:
    ///   - place: Where the database is.
    ///   - followsLinks: Whether the path of a file may contain symbolic links (`SQLITE_OPEN_NOFOLLOW`).
    ///   - busyTimeoutMilliseconds: How long to wait for another connection's lock (`sqlite3_busy_timeout`).
    /// - Throws: SQLite's error, mostly ``SQLiteError/Code/cannotOpen``.
    package init(
        _ place: Place,
        followsLinks: Bool = true,
        busyTimeoutMilliseconds: Int32 = 5_000
    ) throws(SQLiteError) {
        var flags = SQLITE_OPEN_NOMUTEX | (followsLinks ? 0 : SQLITE_OPEN_NOFOLLOW)
        let name: String
        switch place {
        case .file(let path, .create):
            name = path
            flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .file(let path, .readWrite):
            name = path
            flags |= SQLITE_OPEN_READWRITE
        case .file(let path, .copying):
            name = path
            flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI
        case .file(let path, .readOnly):
            name = path
            flags |= SQLITE_OPEN_READONLY
        case .file(let path, .immutable):
            name = Self.uri(path, .immutable)
            flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        case .memory(let memory):
            name = "file:/\(memory)?vfs=memdb"
            flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI
        }
        handle = try Handle(path: name, flags: flags)
        sqlite3_busy_timeout(handle.pointer, busyTimeoutMilliseconds)
    }

    /// Returns the statement for this SQL, which is compiled at the first call and kept for later ones.
    package func statement(_ sql: SQL) throws(SQLiteError) -> Statement {
        if let known = prepared[sql] { return known }
        let new = try Statement(sql, on: handle)
        prepared[sql] = new
        return new
    }

    /// Runs SQL with any number of statements, without bound values or result rows (`sqlite3_exec`).
    package func execute(_ sql: SQL) throws(SQLiteError) {
        guard sqlite3_exec(handle.pointer, sql.text, nil, nil, nil) == SQLITE_OK else {
            throw handle.error(in: sql.name)
        }
    }

    /// Sets or reads a pragma (`PRAGMA name = value`, or `PRAGMA name` without a value).
    /// - Returns: The first column of the first row as text; `nil` when there is no row.
    @discardableResult
    package func pragma(_ name: String, _ value: String? = nil) throws(SQLiteError) -> String? {
        let text = value.map { "PRAGMA \(name) = \($0)" } ?? "PRAGMA \(name)"
        let statement = try Statement(SQL("pragma \(name)", text), on: handle)
        return try statement.step() ? statement.optionalText(0) : nil
    }

    /// Adds the database in a file to a connection that was opened with ``Access/copying``, as the schema `name`.
    package func attach(_ path: String, _ access: Access, as name: String) throws(SQLiteError) {
        let attach = try Statement(SQL("attach", "ATTACH ?1 AS \(name)"), on: handle)
        try attach.bind(Self.uri(path, access), at: 1)
        try attach.run()
    }

    /// Removes a database that ``attach(_:_:as:)`` has added.
    package func detach(_ name: String) throws(SQLiteError) {
        try execute(SQL("detach", "DETACH \(name)"))
    }

    /// Runs `body` in a transaction that holds the write lock from its start (`BEGIN IMMEDIATE`).
    ///
    /// The transaction is committed when `body` returns, and rolled back when `body` or the commit throws.
    package func transaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try statement(Self.begin).run()
        do throws(SQLiteError) {
            let value = try body()
            try statement(Self.commit).run()
            return value
        } catch {
            // Some errors (full, I/O) roll back by themselves. If the rollback fails too, the first error is still the
            // cause.
            if isInTransaction { try? statement(Self.rollback).run() }
            throw error
        }
    }

    /// Whether a transaction is open (`sqlite3_get_autocommit`).
    package var isInTransaction: Bool { sqlite3_get_autocommit(handle.pointer) == 0 }

    /// The number of rows that the last statement inserted, updated or deleted (`sqlite3_changes64`).
    package var changes: Int { Int(sqlite3_changes64(handle.pointer)) }

    private static let begin = SQL("begin", "BEGIN IMMEDIATE")
    private static let commit = SQL("commit", "COMMIT")
    private static let rollback = SQL("rollback", "ROLLBACK")

    /// The URI of a file that is read.
    private static func uri(_ path: String, _ access: Access) -> String {
        "file:\(escaped(path))?\(access == .immutable ? "immutable=1" : "mode=ro")"
    }

    /// Escapes a path for a `file:` URI.
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
