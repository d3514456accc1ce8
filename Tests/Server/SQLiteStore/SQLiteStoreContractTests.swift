import CallCore
import CallPorts
import CallTesting
import Foundation
import SQLite
import SQLiteStore
import Testing

@Suite("The SQLite store")
struct SQLiteStoreContractTests {
    @Test("The SQLite store meets the contract of a call store", arguments: StoreContract.cases + StoreContract.lanes)
    func inFolder(_ promise: StoreContract.Case) throws { try promise.run(at: try TemporaryDataFolder()) }

    @Test("The reader of a data folder meets the contract of a reader", arguments: ReaderContract.cases)
    func reader(_ promise: ReaderContract.Case) throws { try promise.run(at: try TemporaryDataFolder()) }

    @Test(
        "The SQLite store meets the contract of a store with impossible values",
        arguments: DamageContract.cases + DamageContract.flags
    )
    func damage(_ promise: ReaderContract.Case) throws { try promise.run(at: try TemporaryDataFolder()) }

    @Test("An event with an impossible position gets the next one, so that timelines keep their order")
    func order() throws {
        let folder = try TemporaryDataFolder()
        let store = SQLiteCallStore(folder: folder.path) { _ in }
        _ = try store.open(at: Moment(milliseconds: 0))
        store.commit(StoreSample.changes, as: Ticket(rawValue: 1))
        store.close()
        let call = StoreSample.numbers[0]
        let events = try folder.makeReader().timeline(of: call)
        try folder.execute(
            "UPDATE event SET position = \(Int64.max) WHERE position = (SELECT max(position) FROM event WHERE call = 1)"
        )
        let again = SQLiteCallStore(folder: folder.path) { _ in }
        #expect(try again.open(at: Moment(milliseconds: 0)).damages.map(\.column) == ["position"])
        again.commit([.event(call, events[0])], as: Ticket(rawValue: 1))
        again.close()
        #expect(try folder.makeReader().timeline(of: call) == events + [events[0]])
    }
}

/// A data folder that is removed when the object is released.
final class TemporaryDataFolder: StoreContract.Storage {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "ringline-store-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        // The test does not fail if the folder cannot be removed from /tmp.
        try? FileManager.default.removeItem(atPath: path)
    }

    func makeStore(report: @escaping @Sendable (StoreReport) -> Void) -> any CallStore {
        SQLiteCallStore(folder: path, report: report)
    }
}

extension TemporaryDataFolder: ReaderContract.Storage {
    var version: Int { 6 }

    func makeReader() throws -> any StoreReader { try SQLiteCallStore.reader(of: path) }

    func execute(_ sql: String) throws {
        try Connection(.file(path: path + "/ringline.sqlite", .readWrite)).execute(SQL("test", sql))
    }

    func setVersion(_ version: Int) throws { try execute("PRAGMA user_version = \(version)") }
}
