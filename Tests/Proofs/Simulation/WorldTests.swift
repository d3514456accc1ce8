import Testing

@testable import Simulation

@Suite("A simulated world")
struct WorldTests {
    @Test("Every invariant holds in a world, no matter which faults occur", arguments: [1, 2, 3] as [UInt64])
    func holds(seed: UInt64) {
        switch Simulation.run(seed: seed, calls: 150) {
        case .clean(let statistics):
            #expect(statistics.calls >= 150)
            #expect(statistics.acknowledged > 0)
            #expect(statistics.pushes > 0)
        case .broken(let violation, _): Issue.record("\(violation)")
        }
    }

    @Test("Every invariant holds on a server of several nodes", arguments: [1, 3])
    func nodes(count: Int) {
        switch Simulation.run(seed: 5, calls: 150, nodes: count) {
        case .clean(let statistics):
            #expect(statistics.takeOvers > 0)
            #expect(statistics.acknowledged > 0)
            #expect(count == 1 || statistics.adoptions > 0)
        case .broken(let violation, _): Issue.record("\(violation)")
        }
    }

    @Test("Every invariant holds while other nodes take the calls over, and deposed owners live on")
    func takeOvers() {
        switch Simulation.run(seed: 6, calls: 600, always: .takeOver, nodes: 3) {
        case .clean(let statistics):
            #expect(statistics.takeOvers > 0)
            #expect(statistics.adoptions > 0)
            #expect(statistics.deposedFrames > 0)
        case .broken(let violation, _): Issue.record("\(violation)")
        }
    }

    @Test("Every invariant holds while an app's backend is told of the calls", arguments: [0, 3])
    func backend(nodes: Int) {
        switch Simulation.run(seed: 9, calls: 200, nodes: nodes, backend: true) {
        case .clean(let statistics):
            #expect(statistics.events > 400)
            #expect(statistics.deliveries > 400)
        case .broken(let violation, _): Issue.record("\(violation)")
        }
    }

    @Test("Every invariant holds for scheduled calls", arguments: [1, 2] as [UInt64])
    func schedules(seed: UInt64) {
        switch Simulation.runSchedules(seed: seed, calls: 300) {
        case .clean(let statistics):
            #expect(statistics.calls >= 300)
            #expect(statistics.crashes > 0 && statistics.pushes > 0)
            for reason in ["confirmed", "given_up", "missed", "unanswered", "declined", "hangup"] {
                #expect(statistics.endings[reason, default: 0] > 0, "\(reason)")
            }
        case .broken(let violation, _): Issue.record("\(violation)")
        }
    }

    @Test("A world with schedules that runs again prints exactly the same ladder")
    func repeatsSchedules() {
        for seed in 40..<46 as Range<UInt64> {
            let (first, _, ladder) = Simulation.scheduleWorld(seed: seed, actions: 40, faults: .all)
            let (second, _, again) = Simulation.scheduleWorld(seed: seed, actions: 40, faults: .all)
            #expect(first.trace == second.trace)
            #expect(ladder == again && ladder.count > 40)
        }
    }

    @Test("The line that repeats a broken world names its nodes, its backend or its schedules")
    func namesNodes() {
        var violation = Violation(invariant: "I1", message: "m", seed: 7, calls: 3, faults: [])
        #expect(violation.description.contains("--world 7 --faults 0 --world-calls 3\n"))
        violation.nodes = 3
        #expect(violation.description.contains("--world 7 --faults 0 --world-calls 3 --nodes 3\n"))
        violation.hasBackend = true
        #expect(violation.description.contains("--world-calls 3 --nodes 3 --backend\n"))
        violation.hasBackend = false
        violation.nodes = 0
        violation.hasSchedules = true
        #expect(violation.description.contains("--world 7 --faults 0 --world-calls 3 --schedules\n"))
    }

    @Test("Only servers of several nodes are taken over, have unnamed devices and half-cut links, and all withhold")
    func drawn() {
        let drawn = (1...2_000 as ClosedRange<UInt64>)
        let alone = drawn.map { Simulation.faults(for: $0) }
        #expect(alone.allSatisfy { $0.isDisjoint(with: [.takeOver, .unnamed, .halfCuts]) })
        #expect(alone.contains { $0.contains(.withholding) } && alone.contains { !$0.contains(.withholding) })
        let several = drawn.map { Simulation.faults(for: $0, nodes: 3) }
        #expect(several.contains { $0.contains(.takeOver) } && several.contains { !$0.contains(.takeOver) })
        #expect(several.contains { $0.contains(.unnamed) } && several.contains { !$0.contains(.unnamed) })
        #expect(several.contains { $0.contains(.halfCuts) } && several.contains { !$0.contains(.halfCuts) })
        #expect(several.allSatisfy { $0.contains(.withholding) })
        let scenario = Scenario(seed: 1, calls: 1, faults: [], nodes: 3, isRecording: false)
        #expect(scenario.faults.contains(.withholding))
    }

    @Test("A world that runs again takes the same course and prints exactly the same ladder")
    func repeats() {
        for seed in 40..<46 as Range<UInt64> {
            let (first, _, ladder) = Simulation.world(seed: seed, calls: 8, faults: .all)
            let (second, _, again) = Simulation.world(seed: seed, calls: 8, faults: .all)
            #expect(first.trace == second.trace)
            #expect(ladder == again)
            #expect(!ladder.isEmpty)
            let (third, _, nodes) = Simulation.world(seed: seed, calls: 8, faults: .known, nodes: 3)
            let (fourth, _, nodesAgain) = Simulation.world(seed: seed, calls: 8, faults: .known, nodes: 3)
            #expect(third.trace == fourth.trace)
            #expect(nodes == nodesAgain)
        }
    }

    @Test("A world with another seed takes another course")
    func differs() {
        let (first, _, _) = Simulation.world(seed: 1, calls: 4, faults: .all)
        let (second, _, _) = Simulation.world(seed: 2, calls: 4, faults: .all)
        #expect(first.trace != second.trace)
    }

    @Test(
        "The trace leaves out the message of an error, up to its last quotation mark, and nothing else",
        arguments: [
            (#"{"type":"error","code":"x","message":"a \"b\" c","field":"to"}"#, #"a \"b\" c"#),
            (#"{"type":"about:blank","status":404,"message":"d"}"#, "d"),
            (#"{"type":"info","data":{"message":"e"}}"#, ""),
            (#"{"type":"error","code":"x"}"#, ""),
            ("no JSON", ""),
        ]
    )
    func leavesOut(frame: String, message: String) {
        let bytes = Array(frame.utf8)
        #expect(String(decoding: bytes[Course.errorMessage(in: bytes)], as: UTF8.self) == message)
    }
}
