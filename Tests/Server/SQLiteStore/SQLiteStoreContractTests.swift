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
    var version: Int { 5 }

    func makeReader() throws -> any StoreReader { try SQLiteCallStore.reader(of: path) }

    func execute(_ sql: String) throws {
        try Connection(.file(path: path + "/ringline.sqlite", .readWrite)).execute(SQL("test", sql))
    }

    func setVersion(_ version: Int) throws { try execute("PRAGMA user_version = \(version)") }
}
