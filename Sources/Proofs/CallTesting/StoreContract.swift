package import CallPorts

/// The requirements on every `CallStore`, as cases that the tests of any adapter can run.
///
/// This module imports no test library, so that it can be a library target. A case throws the first violation that it
/// finds.
///
///     @Test("keeps the contract", arguments: StoreContract.cases)
///     func contract(_ item: StoreContract.Case) throws { try item.run(at: MyPlace()) }
package enum StoreContract {
    /// A place where a store can keep data.
    ///
    /// A place is empty at first, and each case gets a place of its own.
    package protocol Storage: AnyObject {
        /// Returns a store at this place, not yet opened. Once opened, it finds the data that an earlier store at this
        /// place has committed.
        ///
        /// The earlier store was closed, or all references to it were dropped, which simulates a crash.
        func makeStore(report: @escaping @Sendable (StoreReport) -> Void) -> any CallStore
    }

    /// One requirement on a store.
    package struct Case: Sendable, CustomStringConvertible {
        /// The requirement, for example "an entry keeps all its fields".
        package let description: String
        private let body: @Sendable (StoreBench) throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (StoreBench) throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Runs the case.
        /// - Throws: ``Violation``, or the failure of the store itself.
        package func run(at storage: any Storage) throws {
            let bench = StoreBench(storage: storage)
            defer { bench.closeIfOpen() }
            try body(bench)
        }
    }

    /// A requirement that a store does not meet.
    package struct Violation: Error, CustomStringConvertible {
        /// A description of what was expected and what was found.
        package let description: String
    }

    /// All cases.
    package static let cases: [Case] =
        keeping + schedules + replacing + reporting + forgetting + querying + numbers + restarting + epochs + appEvents
}
