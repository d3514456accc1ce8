import CallCore
import CallPorts
import CallTesting
import MemoryStore
import Testing

@Suite("The store in memory")
struct MemoryStoreContractTests {
    @Test("The memory store meets the contract of a call store", arguments: StoreContract.cases)
    func contract(_ promise: StoreContract.Case) throws { try promise.run(at: SharedMemory()) }

    @Test("A commit in memory is durable immediately")
    func durableAtOnce() {
        let store = MemoryCallStore { _ in }
        _ = store.open(at: Moment(milliseconds: 0))
        #expect(store.commit([], as: Ticket(rawValue: 1)))
    }
}

/// A memory that outlives the stores which use it.
private final class SharedMemory: StoreContract.Storage {
    private let memory = Memory()

    func makeStore(report: @escaping @Sendable (StoreReport) -> Void) -> any CallStore {
        MemoryCallStore(memory, report: report)
    }
}
