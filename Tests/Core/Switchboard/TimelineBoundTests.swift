import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The limits of a timeline")
struct TimelineBoundTests {
    private func count(_ world: SwitchboardWorld) -> Int {
        world.changes.count { if case .event = $0 { true } else { false } }
    }

    @Test(
        "Without a push or a dead connection, a device's first connect in a phase is recorded, the others counted"
    )
    func connects() throws {
        let world = SwitchboardWorld { $0.connectionsPerUser = 4 }
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        for _ in 0..<1_000 { world.pong(try world.open("10", "b1")) }
        #expect(world.events("delivered.socket").count == 1)
        #expect(world.events("probe").count == 1)
        #expect(world.events("repeated").isEmpty)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(
            world.events("repeated") == [
                #""device":"b1","of":"delivered.socket","count":999"#, #""device":"b1","of":"probe","count":999"#,
            ]
        )
        #expect(count(world) < 10)
        #expect(world.switchboard.metrics.limited[.timeline] == 1_998)
    }

    @Test("A timeline contains at most 512 events, including the call's end and the number of omitted events")
    func bounded() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        for number in 0..<3_000 {
            let connection = try world.open("10", "b\(number)")
            world.pong(connection)
            world.give(.closed(connection))
        }
        #expect(world.events("ended").isEmpty)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.events("ended").count == 1)
        #expect(world.events("omitted").count == 1)
        world.wait(700)
        #expect(count(world) <= 512)
    }

    @Test("A timeline shows that a device connected after its push, even if the device was connected before the push")
    func waves() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        let caller = try world.open("11", "a1")
        let first = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.wait(3)
        #expect(world.closes[first] == 1_001)
        #expect(world.events("push.sent").count == 1)
        world.pong(try world.open("10", "b1"))
        #expect(world.events("delivered.socket").count == 2)
    }

    @Test("The callee is shown the counts of repeated events, and the caller is not")
    func hidden() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        for _ in 0..<3 { world.pong(try world.open("10", "b1")) }
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let shown = try world.reply(try principal("11"), .calls(.timeline(try call("c-1")))).text
        #expect(!shown.contains("repeated"))
        #expect(
            try world.reply(try principal("10"), .calls(.timeline(try call("c-1")))).text.contains(
                #""of":"probe","count":2"#
            )
        )
    }
}
