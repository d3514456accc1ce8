import Foundation
import SQLite
import Testing

@Suite("Migrations")
struct MigrationsTests {
    private let connection: Connection

    init() throws { connection = try Connection(.memory(named: UUID().uuidString)) }

    private let one = SQL("one", "CREATE TABLE a (x INTEGER); CREATE TABLE b (x INTEGER);")
    private let two = SQL("two", "CREATE TABLE c (x INTEGER)")

    @Test("Each step runs once, and a newer version continues after the last step that ran")
    func steps() throws {
        try Migrations([one]).run(on: connection)
        #expect(try connection.pragma("user_version") == "1")
        try Migrations([one, two]).run(on: connection)
        try Migrations([one, two]).run(on: connection)
        #expect(try Migrations([one, two]).versionFound(in: connection) == 2)
        _ = try connection.statement(SQL("read", "SELECT * FROM a, b, c"))
    }

    @Test("A database of a newer version is refused and left unchanged")
    func newer() throws {
        try Migrations([one, two]).run(on: connection)
        #expect(throws: Migrations.Failure.newer(found: 2, known: 1)) { try Migrations([one]).run(on: connection) }
        #expect(try connection.pragma("user_version") == "2")
    }

    @Test("A step that fails halfway is rolled back, and the steps before it are kept")
    func failing() throws {
        let half = SQL("half", "CREATE TABLE c (x INTEGER); CREATE TABLE a (x INTEGER);")
        #expect(throws: Migrations.Failure.self) { try Migrations([one, half]).run(on: connection) }
        #expect(try connection.pragma("user_version") == "1")
        try Migrations([one, two]).run(on: connection)
    }
}
