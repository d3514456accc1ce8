/// Something of the pure modules that is done many times over, on the same inputs in every run.
struct Operation: Sendable {
    /// The name in the table.
    let name: String
    /// How many times it is done.
    let times: Int
    /// Makes all that is not to be counted; what it returns is counted, and says how often it has done its work.
    let prepare: @Sendable () throws -> () -> Int
}

/// An input that is not what the modules take it for.
struct Broken: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Where the counting begins and ends.
///
/// `Tests/Benchmarks/instructions` knows both functions by their names. They change something and are not inlined, so that
/// no compiler leaves them out.
struct Counter {
    private(set) var done = -1

    @inline(never)
    mutating func begin() { done = 0 }

    @inline(never)
    mutating func finish(_ times: Int) { done = times }
}

/// The value, or an error that names it.
func made<Value>(_ value: Value?, _ what: String) throws -> Value {
    guard let value else { throw Broken("\(what) is not of the form") }
    return value
}
