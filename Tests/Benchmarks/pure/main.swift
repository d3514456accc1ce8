// pure-benchmarks -- the operations that `Tests/Benchmarks/instructions` counts, one each run: without an argument their
// names, with a name that one, and then how many times it was done. See ../README.md.
import Glibc

let operations = wireOperations + sessionOperations + switchboardOperations + socketIOOperations

func fail(_ text: String) -> Never {
    let line = Array("pure-benchmarks: \(text)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(2)
}

var counter = Counter()
guard let name = CommandLine.arguments.dropFirst().first else {
    for operation in operations { print(operation.name) }
    exit(0)
}
guard let operation = operations.first(where: { $0.name == name }) else { fail("no operation \(name)") }
do {
    // What the first use of anything costs (metadata, tables, the allocator's arenas) is not counted.
    _ = try operation.prepare()()
    let body = try operation.prepare()
    counter.begin()
    counter.finish(body())
    // What was refused on its way would be cheap, and prove nothing.
    guard counter.done == operation.times else { fail("\(name) was done \(counter.done) of \(operation.times) times") }
    print(counter.done)
} catch {
    fail("\(name): \(error)")
}
