import CallCore
import CallPorts
import CallTesting
import Foundation
import Glibc
import SQLiteStore
import Storing
import Testing

@Suite("Reading the data folder while a server may run on it")
struct DataFolderReaderTests {
    private let folder: TemporaryDataFolder

    init() throws { folder = try TemporaryDataFolder() }

    private func store(with event: String) throws -> SQLiteCallStore {
        let reports = StoreReports()
        let store = SQLiteCallStore(folder: folder.path) { reports.add($0) }
        _ = try store.open(at: Moment(milliseconds: 0))
        let record = TimelineRecord(at: Moment(milliseconds: 3), event: .other(name: event, details: ""))
        store.commit([.call(try sampleCall(1)), .event(CallNumber(rawValue: 1), record)], as: Ticket(rawValue: 1))
        try reports.wait { $0 == ["committed 1"] }
        return store
    }

    private func read() throws -> [String]? {
        let reader = try SQLiteCallStore.reader(of: folder.path)
        #expect(try reader.integrityErrors() == [])
        #expect(try reader.history(of: try #require(UserID("10")), limit: 5, before: nil).count == 1)
        return try reader.timeline(of: try #require(CallID("11-10")))?.1.map(\.event.name)
    }

    @Test("A reader works after a clean stop, when there is no -wal")
    func stopped() throws {
        try store(with: "offer").close()
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/ringline.sqlite-wal"))
        #expect(try read() == ["offer"])
    }

    @Test("A reader works in a folder without write permission")
    func readOnly() throws {
        try store(with: "offer").close()
        // If root runs the test, these modes change nothing, because root may write anywhere.
        #expect(chmod(folder.path, 0o555) == 0)
        defer { chmod(folder.path, 0o700) }
        #expect(chmod(folder.path + "/ringline.sqlite", 0o444) == 0)
        #expect(try read() == ["offer"])
    }

    @Test("A missing database is reported, and no database is created")
    func none() throws {
        #expect(throws: StoreFailure.self) { try SQLiteCallStore.reader(of: folder.path) }
        #expect(throws: StoreFailure.self) { try SQLiteCallStore.reader(of: folder.path + "/none") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test("A backup of a database in use can be read like the database, and never overwrites a file")
    func backUp() throws {
        let store = try store(with: "offer")
        let copy = folder.path + "/copy"
        try SQLiteCallStore.reader(of: folder.path).backUp(to: copy)
        let record = TimelineRecord(at: Moment(milliseconds: 4), event: .other(name: "ended", details: ""))
        store.commit([.event(CallNumber(rawValue: 1), record)], as: Ticket(rawValue: 2))
        store.close()
        let id = try #require(CallID("11-10"))
        let reader = try SQLiteCallStore.reader(of: copy)
        #expect(try reader.integrityErrors() == [])
        #expect(try reader.timeline(of: id)?.1.map(\.event.name) == ["offer"])
        let before = FileManager.default.contents(atPath: copy)
        #expect(throws: StoreFailure.self) { try SQLiteCallStore.reader(of: folder.path).backUp(to: copy) }
        #expect(throws: StoreFailure.self) { try reader.backUp(to: folder.path + "/none/copy") }
        #expect(FileManager.default.contents(atPath: copy) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains("part") } == [])
        var status = stat()
        #expect(stat(copy, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test("A backup is restored only after the server has stopped, and the replaced database's -wal is not applied")
    func restore() throws {
        let store = try store(with: "offer")
        let copy = folder.path + "/copy"
        try SQLiteCallStore.reader(of: folder.path).backUp(to: copy)
        #expect(throws: StoreFailure.self) { try SQLiteCallStore.restore(copy, into: folder.path, keeping: "old") }
        store.close()
        // A killed server leaves such a file behind.
        #expect(FileManager.default.createFile(atPath: folder.path + "/ringline.sqlite-wal", contents: Data(count: 9)))
        #expect(try SQLiteCallStore.restore(copy, into: folder.path, keeping: "old"))
        #expect(try read() == ["offer"])
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.contains("old") && files.contains("old-wal") && !files.contains("ringline.sqlite-wal"))
        #expect(throws: StoreFailure.self) { try SQLiteCallStore.restore(copy, into: folder.path, keeping: "old") }
        #expect(try !SQLiteCallStore.restore(copy, into: folder.path + "/new", keeping: "old"))
    }
}

extension DataFolderReader {
    /// Returns the newest call under a callId, and its timeline.
    func timeline(of id: CallID, user: UserID? = nil) throws -> (CallRecord, [TimelineRecord])? {
        let choice = CallSelector(id, of: user.map { [$0] } ?? [])
        return try calls(choice, limit: 1).first.map { ($0, try timeline(of: $0.number)) }
    }
}
