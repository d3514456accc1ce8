import CallCore
import CallPorts
import CallTesting
import Foundation
import Postgres
import SQLite
import SQLiteStore
import Storing
import Testing

@testable import PostgresStore

@Suite("Bringing a data folder into a database")
struct DatabaseImportTests {
    private let now = Moment(milliseconds: 1_700_000_000_000)
    private let schema: TemporarySchema
    private let folder: String

    init() throws {
        schema = try TemporarySchema()
        folder = NSTemporaryDirectory() + "ringline-import-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    /// Runs a server on the folder that commits the sample records, and stops or kills it.
    private func fill(isKilled: Bool = false) throws {
        let reports = StoreReports()
        let store = SQLiteCallStore(folder: folder) { reports.add($0) }
        _ = try store.open(at: now)
        store.commit(StoreSample.changes, as: Ticket(rawValue: 1))
        try reports.wait { $0 == ["committed 1"] }
        let files = try isKilled ? files() : [:]
        store.close()
        for (name, content) in files { try content.write(to: URL(filePath: "\(folder)/\(name)")) }
    }

    private func damage(_ sql: String) throws {
        try Connection(.file(path: folder + "/ringline.sqlite", .readWrite)).execute(SQLite.SQL("damage", sql))
    }

    private typealias Connection = SQLite.Connection

    /// Brings the folder in, and returns the damages.
    @discardableResult
    private func move(then end: @escaping () throws(StoreFailure) -> Void = {}) throws -> [DamagedValue] {
        let export = try DataFolderExport(folder: folder, at: now)
        let move = DatabaseImport(uncleanStarts: export.uncleanStarts, lastCallNumber: export.lastCallNumber)
        try move.run(into: schema.options) { take throws(StoreFailure) in
            try export.read(take)
            try end()
        }
        return export.takeDamages()
    }

    private func failure(_ body: () throws -> Void) throws -> String {
        do { try body() } catch let failure as StoreFailure { return failure.message }
        Issue.record("no failure")
        return ""
    }

    private func state(of store: any CallStore) throws -> StoredState {
        defer { store.close() }
        return try store.open(at: now)
    }

    private func count(_ table: String) throws -> Int64? {
        try schema.connection().run(Postgres.SQL("count", "SELECT count(*) FROM \(table)")).first?.int64(0)
    }

    /// Returns the names and the contents of the folder's files.
    private func files() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            files[name] = FileManager.default.contents(atPath: "\(folder)/\(name)")
        }
        return files
    }

    @Test("The database then has all that the folder has, and the folder is as it was", arguments: [false, true])
    func everything(isKilled: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try fill(isKilled: isKilled)
        let before = try files()
        #expect(try move() == [])
        let after = try files()
        #expect(before.keys.contains("ringline.sqlite-wal") == isKilled)
        // SQLite's index of the -wal is no content.
        #expect(after.filter { !$0.key.hasSuffix("-shm") } == before.filter { !$0.key.hasSuffix("-shm") })
        #expect(Set(after.keys) == Set(before.keys))

        let (old, new): (any StoreReader, any StoreReader) =
            (try SQLiteCallStore.reader(of: folder), try DatabaseReader(schema.options))
        #expect(try new.history(of: StoreSample.user, limit: 99, before: nil).count == StoreSample.numbers.count)
        #expect(
            try new.history(of: StoreSample.user, limit: 99, before: nil)
                == (try old.history(of: StoreSample.user, limit: 99, before: nil))
        )
        for number in StoreSample.numbers {
            #expect(try new.timeline(of: number) == (try old.timeline(of: number)))
            #expect(try new.log(of: number) == (try old.log(of: number)))
        }
        let found = try state(of: PostgresCallStore(schema.options) { _ in })
        #expect(found == (try state(of: SQLiteCallStore(folder: folder) { _ in })))
        #expect(found.uncleanStarts == (isKilled ? 1 : 0) && found.lastCallNumber == 4)
        #expect(found.calls.count + found.ended.count == 2)
        #expect(found.devices.count == 4 && found.revocations.count == 1 && found.blocks.count == 1)
    }

    @Test("The counters that guard numbers after a crash are those of the folder, though the calls were forgotten")
    func counters() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try fill()
        try damage(
            "UPDATE meta SET value = 77 WHERE name = 'last_call_number'; UPDATE meta SET value = 5 WHERE name = 'crashes'"
        )
        try move()
        let found = try state(of: PostgresCallStore(schema.options) { _ in })
        #expect(found.lastCallNumber == 77 && found.uncleanStarts == 5)
        #expect(
            try state(of: PostgresCallStore(schema.options) { _ in }).uncleanStarts == 5,
            "no start was unclean since"
        )
    }

    @Test("A database with records is refused, and stays as it is", arguments: ["device", "block", "call"])
    func notEmpty(_ table: String) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try fill()
        try move()
        for other in ["call", "entry", "event", "device", "block", "do_not_disturb", "revocation"] where other != table
        {
            try schema.execute("DELETE FROM \(other)")
        }
        let words = try failure { try move() }
        #expect(words.contains("has \(table)s already") && words.contains(schema.options.settings.shown))
        #expect(try count(table) ?? 0 > 0)
        #expect(try count("revocation") == 0)
    }

    @Test("A move that fails half-way leaves nothing behind, and the database is free")
    func halfWay() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try fill()
        let words = try failure { try move { () throws(StoreFailure) in throw StoreFailure("the folder burns") } }
        #expect(words == "the folder burns")
        #expect(try DatabaseReader(schema.options).owner()?.state == .released)
        for table in ["call", "device", "block", "revocation", "event"] { #expect(try count(table) == 0) }
        try move()
        #expect(try state(of: PostgresCallStore(schema.options) { _ in }).uncleanStarts == 0)
    }

    @Test("A folder that a server uses is refused, and so is a database that a server owns")
    func inUse() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let running = SQLiteCallStore(folder: folder) { _ in }
        _ = try running.open(at: now)
        #expect(try failure { try move() }.contains("\(folder) is in use by another ringline"))
        running.close()
        let owner = PostgresCallStore(schema.options) { _ in }
        _ = try owner.open(at: now)
        #expect(try failure { try move() }.contains("in use by another ringline, on \(schema.options.machine)"))
        owner.close()
    }

    @Test("No server can start on the folder while it is read")
    func keepsServersOut() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try fill()
        let export = try DataFolderExport(folder: folder, at: now)
        let words = try failure { _ = try SQLiteCallStore(folder: folder) { _ in }.open(at: now) }
        #expect(words.contains("is in use by another ringline"))
        withExtendedLifetime(export) {}
    }

    @Test("A folder of another version, without a database, or that is a file, is refused")
    func unreadable() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(try failure { try move() }.contains("No database in"))
        try fill()
        for (version, words) in [(1, "written by an older ringline"), (9, "written by a newer ringline")] {
            try damage("PRAGMA user_version = \(version)")
            #expect(try failure { try move() }.contains(words))
        }
        #expect(
            try failure { _ = try DataFolderExport(folder: folder + "/ringline.sqlite", at: now) }.contains("is a file")
        )
        #expect(throws: PostgresError.self) { try count("call") }
    }

    @Test("Impossible values are brought in as a start would repair them, and reported")
    func impossible() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try fill()
        try damage(
            """
            UPDATE call SET ended_at = 1 << 62 WHERE number = 3; UPDATE call SET epoch = -1 WHERE number = 1;
            UPDATE revocation SET before = -9; UPDATE meta SET value = -3 WHERE name = 'crashes';
            UPDATE meta SET value = 1 << 62 WHERE name = 'last_call_number'
            """
        )
        let damages = try move()
        #expect(
            Set(damages.map { "\($0.table).\($0.column) \($0.row)" }) == [
                "call.ended_at 3", "call.epoch 1", "revocation.before alice@example.org", "meta.value crashes",
                "meta.value last_call_number",
            ]
        )
        let calls = try DatabaseReader(schema.options).history(of: StoreSample.user, limit: 9, before: nil)
        try #require(calls.map(\.number.rawValue) == [4, 3, 2])
        #expect(calls[1].endedAt == calls[1].startedAt)
        #expect(try count("event WHERE call = 1") == 0)
        let found = try state(of: PostgresCallStore(schema.options) { _ in })
        #expect(found.revocations.values.map { $0 } == [now] && found.uncleanStarts == 0 && found.lastCallNumber == 4)
        #expect(found.damages == [])
    }

    @Test("Calls whose deletion has begun are not brought in, and their numbers are not given again")
    func forgotten() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try fill()
        try damage("INSERT INTO meta VALUES ('forgetting_before', 3500)")
        try move()
        let calls = try DatabaseReader(schema.options).history(of: StoreSample.user, limit: 9, before: nil)
        #expect(calls.map(\.number.rawValue) == [4, 3, 2])
        try damage("UPDATE call SET number = 99 WHERE number = 1")
        #expect(try DataFolderExport(folder: folder, at: now).lastCallNumber == 99)
    }
}
