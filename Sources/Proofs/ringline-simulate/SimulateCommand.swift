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
            Runs the server's and the clients' own logic with simulated sockets, requests, pushes, devices, crashes and \
            clocks. A seed gives the same course of events on every machine. If an invariant breaks, prints the smallest \
            world found that breaks it, step by step, and exits with 1.
            """
    )

    @Option(help: "The seed of the run.") var seed: UInt64 = 1
    @Option(help: "The number of calls to simulate.") var calls = 20_000
    @Option(help: "The faults that every world of the run has, beside its own: a bit mask.") var always: UInt32 = 0
    @Option(
        help: """
            The number of nodes of each world's server, 1 to 8: owner and edges, links and a database, with their faults. \
            0: one server, which is no node.
            """
    )
    var nodes = 0
    @Flag(help: "Let the server report its calls to an app's backend, whose endpoints fail in most worlds.")
    var backend = false
    @Flag(
        help: """
            Simulate scheduled calls instead: users with schedules but without sockets. With it, --world-calls is the \
            number of the users' actions.
            """
    )
    var schedules = false
    @Flag(help: "Print the table of visited states and events (Markdown); exit with 1 if one was not visited.")
    var coverage = false
    @Option(help: "Run one world only, by the seed that a failure prints, and print its messages as a ladder.")
    var world: UInt64?
    @Option(help: "The faults of --world: the bit mask that a failure prints.") var faults: UInt32 = Faults.all.rawValue
    @Option(help: "The number of calls that the users of --world try to make.") var worldCalls = 12
    @Option(
        help: ArgumentHelp(
            "Run the worlds of a table again. A line is SEED CALLS FAULTS [NODES] [schedules | backend], with an optional # comment.",
            valueName: "file"
        )
    )
    var replay: String?

    func validate() throws {
        guard calls > 0 else { throw ValidationError("--calls must be more than 0.") }
        guard nodes == 0 || Simulation.nodeCounts ~= nodes else {
            throw ValidationError("--nodes must be 1 to \(Simulation.nodeCounts.upperBound), or 0.")
        }
        guard !schedules || (nodes == 0 && !backend && always == 0 && !coverage && replay == nil) else {
            throw ValidationError(
                "--schedules cannot be combined with --nodes, --backend, --always, --coverage or --replay."
            )
        }
        guard worldCalls > 0 else { throw ValidationError("--world-calls must be more than 0.") }
    }

    func run() throws {
        do throws(Failure) {
            try simulate()
            // A closed stdout (EBADF) and a reader that has stopped reading (EPIPE) count as deliberate and are no
            // failure.
            guard fflush(nil) != 0, errno != EBADF, errno != EPIPE else { return }
            throw Failure("cannot write the output: \(String(cString: strerror(errno)))")
        } catch {
            error.show()
            throw ExitCode.failure
        }
    }

    private func simulate() throws(Failure) {
        if let world { return try live(world) }
        if let replay { return try live(table: replay) }
        let began = ContinuousClock.now
        switch schedules ? Simulation.runSchedules(seed: seed, calls: calls) : run(since: began) {
        case .broken(let violation, _):
            print(violation)
            throw Failure("\(violation.invariant) broke after \(violation.foundAfterCalls) calls.")
        case .clean(let statistics):
            let report = Self.report(statistics, after: ContinuousClock.now - began)
            guard coverage else { return print(report) }
            print(statistics.coverage.markdown(calls: statistics.calls, seed: seed), terminator: "")
            let missing = statistics.coverage.missing
            for cell in missing {
                Failure("not visited: \(cell.event) by \(cell.part.rawValue) while \(cell.state)").show()
            }
            if !missing.isEmpty {
                throw Failure("\(missing.count) pairs of state and event were not visited: simulate more --calls.")
            }
        }
    }

    private func run(since began: ContinuousClock.Instant) -> Outcome {
        Simulation.run(seed: seed, calls: calls, always: Faults(rawValue: always), nodes: nodes, backend: backend) {
            statistics in
            Failure("\(statistics.calls) calls simulated in \(ContinuousClock.now - began)").show()
        }
    }

    private func live(_ world: UInt64) throws(Failure) {
        let faults = Faults(rawValue: faults)
        let (_, violation, ladder) =
            schedules
            ? Simulation.scheduleWorld(seed: world, actions: worldCalls, faults: faults)
            : Simulation.world(seed: world, calls: worldCalls, faults: faults, nodes: nodes, backend: backend)
        for line in ladder { print(line) }
        if let violation { throw Failure("\(violation.invariant) broke: \(violation.message)") }
    }

    private func live(table path: String) throws(Failure) {
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw Failure("--replay: cannot read \(path)")
        }
        let worlds: [KnownWorld]
        do throws(KnownWorld.Unreadable) { worlds = try KnownWorld.table(text) } catch {
            let form = "SEED CALLS FAULTS [NODES] [schedules | backend], with an optional # comment"
            throw Failure("\(path), line \(error.number): must be \(form).")
        }
        for one in worlds {
            let (_, violation, _) =
                one.hasSchedules
                ? Simulation.scheduleWorld(seed: one.seed, actions: one.calls, faults: one.faults)
                : Simulation.world(
                    seed: one.seed,
                    calls: one.calls,
                    faults: one.faults,
                    nodes: one.nodes,
                    backend: one.hasBackend
                )
            guard let violation else { continue }
            print(violation)
            throw Failure("\(violation.invariant) broke again in world \(one.seed).")
        }
        print("\(worlds.count) worlds that once broke an invariant keep every invariant now.")
    }

    static func report(_ all: Statistics, after span: Duration) -> String {
        let seconds = Double(span.components.seconds) + Double(span.components.attoseconds) / 1e18
        let endings = all.endings.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let decisions = all.decisions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let decided = all.questions == 0 ? "" : "\nDecided: \(decisions), in \(all.questions) questions."
        let told = all.events == 0 ? "" : "; \(all.events) events for the backend in \(all.deliveries) requests"
        return """
            \(all.calls) calls in \(all.worlds) worlds kept every invariant, in \(Int(seconds.rounded())) s: \
            \(all.steps) events, \(all.milliseconds / 3_600_000) hours of their time, \(all.frames) frames, \
            \(all.acknowledged) signals acknowledged, \(all.pushes) pushes, \(all.crashes) crashes, \
            \(all.takeOvers) take-overs with \(all.adoptions) adopted sockets and \(all.deposedFrames) frames of deposed \
            owners\(told).
            Ended: \(endings).\(decided)
            Trace \(String(all.trace, radix: 16)).
            """
    }
}

/// The reason why a run failed, or a line about its progress.
private struct Failure: Error {
    let text: String

    init(_ text: String) { self.text = text }

    /// Prints the text to stderr as one line.
    func show() {
        _ = Array("ringline-simulate: \(text)\n".utf8).withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }
}
