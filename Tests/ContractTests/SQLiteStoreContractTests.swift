import CallPorts
import CallTesting
import Foundation
import SQLiteStore
import Testing

@Suite("The SQLite store")
struct SQLiteStoreContractTests {
    @Test("The SQLite store meets the contract of a call store", arguments: StoreContract.cases)
    func inFolder(_ promise: StoreContract.Case) throws { try promise.run(at: try TemporaryDataFolder()) }
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
