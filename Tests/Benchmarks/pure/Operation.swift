/// Work of the pure modules that is repeated many times, with the same inputs in every run.
struct Operation: Sendable {
    /// The name of the operation in the table.
    let name: String
    /// The number of repetitions.
    let times: Int
    /// Prepares everything that must not be counted.
    ///
    /// The returned closure is counted; it returns how often it has done the work.
    let prepare: @Sendable () throws -> () -> Int
}

/// The error for an input that the modules refuse.
struct Broken: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The marks where counting begins and ends.
///
/// `Tests/Benchmarks/instructions` finds both functions by their names. They change state and are not inlined, so that
/// the compiler does not remove them.
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
