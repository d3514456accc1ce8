import ArgumentParser
import FoundationEssentials
import Glibc
import Simulation

/// Runs simulated worlds until an invariant breaks or enough calls were made; for the developers of Ringline.
@main
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ringline-simulate",
        abstract: "Simulate hostile worlds, and check the call session's invariants after every step.",
        discussion: """
            The server's and the clients' own logic, between simulated sockets, requests, pushes, phones, crashes and
            clocks. One seed is one course of events on every machine. Exits with 1 when an invariant breaks, and prints
            the smallest world found that breaks it, step by step.
            """
    )

    @Option(help: "The run's seed.") var seed: UInt64 = 1
    @Option(help: "How many calls to simulate.") var calls = 20_000
    @Flag(help: "Print the table of visited states and events (Markdown), and fail if one was not visited.")
    var coverage = false
    @Option(help: "Live this one world alone, by its seed as a failure names it, and print its ladder.")
    var world: UInt64?
    @Option(help: "The faults of --world, as a failure names them.") var faults: UInt32 = Faults.all.rawValue
    @Option(help: "How many calls the users of --world set out to make.") var worldCalls = 12
    @Option(
        help: ArgumentHelp(
            "Live the worlds of a table again, one a line: seed, calls, faults, and a comment behind #.",
            valueName: "file"
        )
    )
    var replay: String?

    func validate() throws {
        guard calls > 0 else { throw ValidationError("--calls must be more than 0.") }
        guard worldCalls > 0 else { throw ValidationError("--world-calls must be more than 0.") }
    }

    func run() throws {
        do throws(Failure) {
            try simulate()
            // A closed stdout, and a reader that has stopped reading, are deliberate.
            guard fflush(nil) != 0, errno != EBADF, errno != EPIPE else { return }
            throw Failure("the output cannot be written: \(String(cString: strerror(errno)))")
        } catch {
            error.show()
            throw ExitCode.failure
        }
    }

    private func simulate() throws(Failure) {
        if let world { return try live(world) }
        if let replay { return try live(table: replay) }
        let began = ContinuousClock.now
        let outcome = Simulation.run(seed: seed, calls: calls) { statistics in
            Failure("\(statistics.calls) calls after \(ContinuousClock.now - began)").show()
        }
        switch outcome {
        case .broken(let violation, _):
            print(violation)
            throw Failure("\(violation.invariant) broke after \(violation.foundAfterCalls) calls.")
        case .clean(let statistics):
            let report = Self.report(statistics, after: ContinuousClock.now - began)
            guard coverage else { return print(report) }
            print(statistics.coverage.markdown(calls: statistics.calls, seed: seed), terminator: "")
            let missing = statistics.coverage.missing
            for pair in missing {
                Failure("not visited: \(pair.event) by \(pair.part.rawValue) while \(pair.state)").show()
            }
            if !missing.isEmpty { throw Failure("\(missing.count) pairs of state and event were not visited.") }
        }
    }

    private func live(_ world: UInt64) throws(Failure) {
        let (_, violation, ladder) = Simulation.world(seed: world, calls: worldCalls, faults: Faults(rawValue: faults))
        for line in ladder { print(line) }
        if let violation { throw Failure("\(violation.invariant) broke: \(violation.message)") }
    }

    private func live(table path: String) throws(Failure) {
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw Failure("cannot read \(path)")
        }
        let worlds: [KnownWorld]
        do throws(KnownWorld.Unreadable) { worlds = try KnownWorld.table(text) } catch {
            throw Failure("\(path), line \(error.number): must be SEED CALLS FAULTS.")
        }
        for one in worlds {
            let (_, violation, _) = Simulation.world(seed: one.seed, calls: one.calls, faults: one.faults)
            guard let violation else { continue }
            print(violation)
            throw Failure("\(violation.invariant) broke again in world \(one.seed).")
        }
        print("\(worlds.count) worlds that once broke an invariant keep them all.")
    }

    static func report(_ all: Statistics, after span: Duration) -> String {
        let seconds = Double(span.components.seconds) + Double(span.components.attoseconds) / 1e18
        let endings = all.endings.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return """
            \(all.calls) calls in \(all.worlds) worlds kept every invariant, in \(Int(seconds.rounded())) s: \
            \(all.steps) events, \(all.milliseconds / 3_600_000) hours of their time, \(all.frames) frames, \
            \(all.acknowledged) signals acknowledged, \(all.pushes) pushes, \(all.crashes) crashes.
            Ended: \(endings).
            Trace \(String(all.trace, radix: 16)).
            """
    }
}

/// The reason why a run failed, or a line about its progress.
private struct Failure: Error {
    let text: String

    init(_ text: String) { self.text = text }

    /// Prints it to stderr as one line.
    func show() {
        _ = Array("ringline-simulate: \(text)\n".utf8).withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }
}
