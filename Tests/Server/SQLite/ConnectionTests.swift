import Foundation
import SQLite
import Testing

@Suite("A connection to SQLite")
struct ConnectionTests {
    private let connection: Connection

    init() throws { connection = try Connection(.memory(named: UUID().uuidString)) }

    @Test("Values are read as they were bound")
    func values() throws {
        try connection.execute(SQL("create", "CREATE TABLE t (i INTEGER, r REAL, s TEXT, b BLOB)"))
        let insert = try connection.statement(SQL("insert", "INSERT INTO t VALUES (?1, ?2, ?3, ?4)"))
        let texts = ["", "a", "nul\0inside", "山田 \u{1F4DE}", String(repeating: "long ", count: 5_000)]
        let blobs: [[UInt8]] = [[], [0], Array(0...255), Array(repeating: 7, count: 70_000), [0xff, 0xfe]]
        let integers: [Int64] = [.min, -1, 0, 1, .max]
        for (index, text) in texts.enumerated() {
            try insert.bind(integers[index], at: 1)
            try insert.bind(1.5 * Double(index), at: 2)
            try insert.bind(text, at: 3)
            if index.isMultiple(of: 2) {
                try insert.bind(blobs[index], at: 4)
                try insert.run()
            } else {
                try insert.run(borrowing: blobs[index][...], at: 4)
            }
        }
        let select = try connection.statement(
            SQL("select", "SELECT i, r, s, b, typeof(s), typeof(b) FROM t ORDER BY rowid")
        )
        for (index, text) in texts.enumerated() {
            #expect(try select.step())
            #expect(select.int64(0) == integers[index])
            #expect(select.double(1) == 1.5 * Double(index))
            #expect(select.text(2) == text)
            #expect(select.bytes(3) == blobs[index])
            #expect(select.text(4) == "text")
            #expect(select.text(5) == "blob")
        }
        #expect(try !select.step())
    }

    @Test("NULL is distinguished from an empty value")
    func null() throws {
        let select = try connection.statement(SQL("select", "SELECT ?1, ?2, ?3, ?4"))
        try select.bind(nil as Int64?, at: 1)
        try select.bind(nil as String?, at: 2)
        try select.bind("" as String?, at: 3)
        try select.bind([], at: 4)
        #expect(try select.step())
        #expect(select.optionalInt64(0) == nil && select.isNull(0))
        #expect(select.optionalText(1) == nil && select.text(1) == "")
        #expect(select.optionalText(2) == "")
        #expect(!select.isNull(3) && select.bytes(3) == [])
    }

    @Test("Borrowed bytes are released after the run")
    func borrowed() throws {
        let select = try connection.statement(SQL("select", "SELECT ?1"))
        try select.run(borrowing: [1, 2, 3], at: 1)
        #expect(try select.step())
        #expect(select.isNull(0))
    }

    @Test("A statement is compiled once")
    func cached() throws {
        let sql = SQL("one", "SELECT 1")
        #expect(try connection.statement(sql) === connection.statement(sql))
    }

    @Test("An error names the statement that failed and the code, but no value")
    func errors() throws {
        try connection.execute(SQL("create", "CREATE TABLE t (a TEXT UNIQUE)"))
        let insert = try connection.statement(SQL("insert secret", "INSERT INTO t VALUES (?1)"))
        try insert.bind("s3cret", at: 1)
        try insert.run()
        let error = #expect(throws: SQLiteError.self) { try insert.run() }
        #expect(error?.code == .constraint)
        #expect(error?.extendedCode == 2_067)
        #expect(error?.statement == "insert secret")
        #expect(error?.description.contains("s3cret") == false)
        #expect(throws: SQLiteError.self) { try connection.statement(SQL("wrong", "SELEKT")) }
        #expect(throws: SQLiteError.self) { try connection.statement(SQL("nothing", "  ")) }
        #expect(throws: SQLiteError.self) { try insert.bind(1 as Int64, at: 9) }
        // A statement can be used again after an error.
        try insert.bind("other", at: 1)
        try insert.run()
    }

    @Test("A transaction is rolled back when its body throws")
    func rollback() throws {
        try connection.execute(SQL("create", "CREATE TABLE t (a INTEGER)"))
        let insert = SQL("insert", "INSERT INTO t VALUES (1)")
        #expect(throws: SQLiteError.self) {
            try connection.transaction { () throws(SQLiteError) in
                try connection.execute(insert)
                try connection.execute(SQL("wrong", "SELEKT"))
            }
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.pragma("user_version") == "0")
        try connection.transaction { () throws(SQLiteError) in try connection.execute(insert) }
        let count = try connection.statement(SQL("count", "SELECT count(*) FROM t"))
        #expect(try count.step())
        #expect(count.int64(0) == 1)
        count.reset()
    }

    @Test("A missing file is not opened, and a read-only connection writes nothing")
    func access() throws {
        let path = NSTemporaryDirectory() + "ringline-sqlite-\(UUID().uuidString) 100%?#.db"
        // The test does not fail if the file cannot be removed from /tmp.
        defer { try? FileManager.default.removeItem(atPath: path) }
        let missing = #expect(throws: SQLiteError.self) { try Connection(.file(path: path, .readWrite)) }
        #expect(missing?.code == .cannotOpen)
        try Connection(.file(path: path, .create)).execute(SQL("create", "CREATE TABLE t (a INTEGER)"))
        #expect(FileManager.default.fileExists(atPath: path))
        for access in [Connection.Access.readOnly, .immutable] {
            let reader = try Connection(.file(path: path, access))
            #expect(try reader.statement(SQL("read", "SELECT a FROM t")).step() == false)
            let refused = #expect(throws: SQLiteError.self) { try reader.execute(SQL("write", "DELETE FROM t")) }
            #expect(refused?.code == .readOnly)
        }
    }

    @Test("A connection whose wait of 1 ms for a lock ends fails with `busy`, and works once the lock is free")
    func busy() throws {
        let path = NSTemporaryDirectory() + "ringline-sqlite-\(UUID().uuidString).db"
        // The test does not fail if the file cannot be removed from /tmp.
        defer { try? FileManager.default.removeItem(atPath: path) }
        let first = try Connection(.file(path: path, .create))
        let second = try Connection(.file(path: path, .create), busyTimeoutMilliseconds: 1)
        try first.transaction { () throws(SQLiteError) in
            let refused = #expect(throws: SQLiteError.self) { try second.transaction { () throws(SQLiteError) in } }
            #expect(refused?.code == .busy)
        }
        try second.transaction { () throws(SQLiteError) in }
    }
}
