public import CallCore
public import Switchboard
import Synchronization

/// Calls, devices and blocks in the memory of this process: what `--data :memory:` means.
///
/// There is nothing to wait for: what is committed is as durable at once as it will ever be. Any thread may call it.
public final class MemoryCallStore: CallStore {
    private let memory: Memory
    private let report: @Sendable (StoreReport) -> Void

    /// A store over a memory.
    /// - Parameters:
    ///   - memory: Where it is kept; a store that is made of the same one later finds it again.
    ///   - report: Told the answers to questions, from within ``ask(_:as:)``.
    public init(_ memory: Memory = Memory(), report: @escaping @Sendable (StoreReport) -> Void) {
        self.memory = memory
        self.report = report
    }

    /// Reads what an earlier store has left here; see `CallStore.open(at:)`.
    public func open(at now: Moment) -> StoredState {
        memory.tables.withLock { tables in
            defer { tables.crashes += 1 }
            return tables.state
        }
    }

    /// Keeps changes; see `CallStore.commit(_:as:)`.
    /// - Returns: `true`, always.
    @discardableResult
    public func commit(_ changes: [Change], as ticket: Ticket) -> Bool {
        memory.tables.withLock { tables in for change in changes { tables.keep(change) } }
        return true
    }

    /// Answers before it returns; see `CallStore.ask(_:as:)`.
    public func ask(_ question: Question, as id: QuestionID) {
        report(.answered(id, memory.tables.withLock { $0.answer(question) }))
    }

    /// Takes note that the end was in good order.
    public func close() {
        memory.tables.withLock { $0.crashes = max(0, $0.crashes - 1) }
    }
}

/// What memory stores keep; empty at first, gone with the last reference.
public final class Memory: Sendable {
    let tables = Mutex(Tables())

    /// An empty memory.
    public init() {}
}
