import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("State that the switchboard keeps or forgets")
struct RememberedTests {
    @Test("Users that have used up their quota are forgotten once it has refilled")
    func quota() throws {
        let world = SwitchboardWorld { $0.storedBytesPerDay = 20_000 }
        let talk = try Talk.answered(world)
        let text = String(repeating: "x", count: 9_000)
        for number in 0..<4 {
            world.send(
                talk.caller,
                SwitchboardWorld.plain("info", "c-1", id: "\(number)", more: #","data":"\#(text)""#)
            )
        }
        #expect(!world.switchboard.limits.quotas.exhausted.isEmpty)
        world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.give(.closed(talk.caller))
        world.give(.closed(talk.callee))
        world.wait(2 * 86_400)
        #expect(world.switchboard.limits.quotas.count == 0)
        #expect(world.switchboard.limits.quotas.exhausted.isEmpty)
        let mayRefuse = world.switchboard.mayRefuseSignals
        #expect(!mayRefuse)
    }

    @Test("Do-not-disturb set while a call rang still stops that call's pushes after a restart")
    func silenced() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(600))))
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: nil)))
        world.give(.closed(callee))
        #expect(world.pushes.isEmpty)
        let next = world.restarted(uncleanStarts: 0)
        next.wait(10)
        #expect(next.pushes.isEmpty)
    }

    @Test("An alert token without a device id joins the newest row without an id, also after a restart")
    func order() throws {
        for seed in 1...8 as ClosedRange<UInt64> {
            let world = SwitchboardWorld(seed: seed)
            try world.register(try principal("10"), nil, voip: "aa")
            world.wait(10)
            try world.register(try principal("10"), nil, voip: "bb")
            world.wait(10)
            let next = SwitchboardWorld(stored: try sorted(world.switchboard))
            try next.register(try principal("10"), nil, voip: nil, alert: "cc")
            let row = next.switchboard.directory.devices(of: try user("10")).first { $0.token(for: .alert) == "cc" }
            #expect(row?.token(for: .voip) == "bb", "seed \(seed)")
        }
    }

    /// The state as the database returns it: sorted by device id.
    private func sorted(_ switchboard: borrowing Switchboard) throws -> StoredState {
        var state = StoredState()
        state.devices = switchboard.directory.devices(of: try user("10")).sorted { $0.id.text < $1.id.text }
        return state
    }

    /// Makes a call of 12 and 10, which is then at rest, and an answered call of 11 and 10 under the same callId.
    ///
    /// From then on the store's results are held back.
    private func namesakes(_ world: SwitchboardWorld) throws -> (caller: SocketID, callee: SocketID) {
        let earlier = try world.open("12", "c1")
        let callee = try world.open("10", "b1")
        world.send(earlier, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(callee, SwitchboardWorld.answer("c-1"))
        world.send(earlier, SwitchboardWorld.plain("end", "c-1", id: "e"))
        for _ in 0..<3 {
            world.wait(25)
            for connection in [earlier, callee] { world.pong(connection) }
        }
        #expect(world.switchboard.calls.resting.count == 1)
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(
            callee,
            SwitchboardWorld.plain("answer", "c-1", id: "a2", more: #","to":"11","sdp":"v=0\r\ns=c\r\n""#)
        )
        #expect(world.takeFrames(of: caller).types.contains("answer"))
        world.holdsResults = true
        return (caller, callee)
    }

    @Test("An end takes effect even if its sender disconnects before the store's result arrives")
    func endBeforeClose() throws {
        let world = SwitchboardWorld()
        let (caller, callee) = try namesakes(world)
        world.send(callee, SwitchboardWorld.plain("end", "c-1", id: "e2"))
        world.give(.closed(callee))
        world.deliverResults()
        #expect(world.takeFrames(of: caller).states == ["ended hangup"])
    }

    @Test("A DELETE takes effect even if its client disconnects before the store's result arrives")
    func deleteBeforeAbandoned() throws {
        let world = SwitchboardWorld()
        let (caller, _) = try namesakes(world)
        let id = world.request(try principal("10"), .end(try call("c-1"), device: try device("b1")))
        world.give(.abandoned(id))
        world.deliverResults()
        #expect(world.takeFrames(of: caller).states == ["ended hangup"])
    }

    @Test("An end has no effect if its user's tokens are revoked before the store's result arrives")
    func endBeforeRevocation() throws {
        let world = SwitchboardWorld()
        let (caller, callee) = try namesakes(world)
        world.send(callee, SwitchboardWorld.plain("end", "c-1", id: "e2"))
        _ = try world.reply(try principal("10", token: 3), .credentials(.revokeTokens(nil)))
        world.deliverResults()
        #expect(world.takeFrames(of: caller).states.isEmpty)
    }

    @Test("When a device connects, ended calls whose end every device has confirmed are not read from the store")
    func told() throws {
        let world = SwitchboardWorld()
        let talk = try Talk.answered(world)
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        for _ in 0..<3 {
            world.wait(25)
            for connection in [talk.caller, talk.callee] { world.pong(connection) }
        }
        #expect(world.switchboard.calls.resting.count == 1)
        #expect(world.switchboard.calls.endNotices.isEmpty)
        let asked = world.queries.count
        _ = try world.open("10", "b1")
        #expect(world.queries.count == asked)
        #expect(world.switchboard.calls.count == 0)
    }
}
