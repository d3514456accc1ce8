// pure-benchmarks -- the operations that `Tests/Benchmarks/instructions` counts. Without an argument it prints their
// names. With a name it runs that operation and prints how many times it was done. `pure-benchmarks ended-calls COUNT`
// and `pure-benchmarks live-calls COUNT` measure the memory of so many calls. See ../README.md.
import Glibc

let operations = wireOperations + sessionOperations + switchboardOperations + linkOperations + socketIOOperations

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
if let count = CommandLine.arguments.dropFirst(2).first.flatMap({ Int($0) }) {
    do {
        var calls = ManyCalls()
        switch name {
        case "ended-calls": try calls.end(count)
        case "live-calls": try calls.keepLive(count)
        default: fail("\(name) takes no number")
        }
        exit(0)
    } catch { fail("\(error)") }
}
guard let operation = operations.first(where: { $0.name == name }) else { fail("no operation \(name)") }
do {
    // Run the operation once without counting, because the first use has extra costs (metadata, tables, the
    // allocator's arenas).
    _ = try operation.prepare()()
    let body = try operation.prepare()
    counter.begin()
    counter.finish(body())
    // Refused work would be cheap and prove nothing, so all repetitions must have been done.
    guard counter.done == operation.times else { fail("\(name) was done \(counter.done) of \(operation.times) times") }
    print(counter.done)
} catch {
    fail("\(name): \(error)")
}
