public import Switchboard

/// What every `CallStore` must do, as cases that any adapter's tests can run.
///
/// It imports no test library, so that it can stand in a library target: a case throws what it finds wrong.
///
///     @Test("keeps the contract", arguments: StoreContract.cases)
///     func contract(_ item: StoreContract.Case) throws { try item.run(at: MyPlace()) }
public enum StoreContract {
    /// Somewhere to keep things, empty at first; each case gets one of its own.
    public protocol Place: AnyObject {
        /// A store here, not yet opened; it finds what an earlier one at this place has committed.
        ///
        /// The earlier one was closed, or all references to it were dropped, which stands for a crash.
        func makeStore(report: @escaping @Sendable (StoreReport) -> Void) -> any CallStore
    }

    /// One thing that is promised.
    public struct Case: Sendable, CustomStringConvertible {
        /// The promise: "an entry keeps all its fields".
        public let description: String
        private let body: @Sendable (Bench) throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (Bench) throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Tries it.
        /// - Throws: ``Violation``, or the store's own failure.
        public func run(at place: any Place) throws {
            let bench = Bench(place: place)
            defer { bench.leave() }
            try body(bench)
        }
    }

    /// A promise that was not kept.
    public struct Violation: Error, CustomStringConvertible {
        /// What was expected and what was found.
        public let description: String
    }

    /// All of them.
    public static let cases: [Case] = keeping + replacing + reporting + forgetting + asking + restarting
}
