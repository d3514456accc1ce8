/// Work of the pure modules that is repeated many times, with the same inputs in every run.
struct Operation: Sendable {
    /// The name of the operation in the table.
    let name: String
    /// The number of repetitions.
    let times: Int
    /// Prepares the work, and returns a closure that does it.
    ///
    /// Only the instructions and allocations of the closure are counted. The closure returns how many times it did the
    /// work.
    let prepare: @Sendable () throws -> () -> Int
}

/// The error for an input that the modules refuse.
struct Broken: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The two functions between which instructions and allocations are counted.
///
/// `Tests/Benchmarks/instructions` finds them by their names. They change state and are not inlined, so that the
/// compiler does not remove them.
struct Counter {
    private(set) var done = -1

    @inline(never)
    mutating func begin() { done = 0 }

    @inline(never)
    mutating func finish(_ times: Int) { done = times }
}

/// Returns the value; throws an error that names it if it is `nil`.
func made<Value>(_ value: Value?, _ what: String) throws -> Value {
    guard let value else { throw Broken("\(what) is not of the form") }
    return value
}
