import CallCore
import Testing

@testable import Switchboard

@Suite("The ends of many calls at rest")
struct RestNoticeTests {
    /// Returns a world with calls at rest that the caller cancelled while the devices that had rung were away.
    private func missed(_ count: Int, by devices: [String]) throws -> SwitchboardWorld {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        for number in 1...count {
            let callees = try devices.map { try world.open("10", $0) }
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)"))
            for callee in callees { world.give(.closed(callee)) }
            world.send(caller, SwitchboardWorld.plain("end", "c-\(number)", id: "e\(number)"))
            world.pong(caller)
            world.wait(20)
            world.pong(caller)
        }
        try world.putToRest(count)
        return world
    }

    @Test("Of many calls that ended while a device was away, the newest are loaded at once, the others with its pings")
    func manyNotices() throws {
        let world = try missed(12, by: ["b1"])
        let back = try world.open("10", "b1")
        #expect(world.takeFrames(of: back).states.count == 8)
        #expect(world.switchboard.calls.count == 8, "the others are still at rest")
        world.settle()
        #expect(world.takeFrames(of: back).states.count == 4)
    }

    @Test("A device learns of every end, although another device of its user never comes back for the newer ones")
    func noticesOfAnotherDevice() throws {
        let world = try missed(20, by: ["b1", "b2"])
        let back = try world.open("10", "b1")
        #expect(world.takeFrames(of: back).states.count == 8)
        world.pong(back)
        #expect(world.takeFrames(of: back).states.count == 8, "the pong asks for the next ones")
        world.pong(back)
        #expect(world.takeFrames(of: back).states.count == 4)
        world.pong(back)
        try world.putToRest(20)
        world.settle()
        #expect(world.switchboard.calls.count == 0, "nothing is loaded again for a device that knows of all ends")
        #expect(world.takeFrames(of: back).states.isEmpty)
    }

    @Test("A device learns of an old end although it knew of all the newer ones that another device still misses")
    func oldNotice() throws {
        let world = try missed(20, by: ["b1", "b2"])
        let first = try world.open("10", "b1")
        world.pong(first)
        world.give(.closed(first))
        try world.putToRest(20)
        let second = try world.open("10", "b1")
        #expect(world.takeFrames(of: second).states.isEmpty, "the newest ones are known")
        var told = 0
        for _ in 1...3 {
            world.pong(second)
            told += world.takeFrames(of: second).states.count
        }
        #expect(told == 12, "a batch without notices is followed by a ping, whose pong asks for the next one")
    }

    @Test("The call that ended last is among the first to be loaded, even if it began before all others")
    func longCall() throws {
        let world = SwitchboardWorld()
        let (caller, other) = (try world.open("11", "a1"), try world.open("12", "c1"))
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("long", to: "10", id: "long"))
        world.send(callee, SwitchboardWorld.answer("long"))
        for number in 1...9 {
            let away = try world.open("10", "b2")
            world.send(other, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)"))
            world.give(.closed(away))
            world.send(other, SwitchboardWorld.plain("end", "c-\(number)", id: "e\(number)"))
            for one in [caller, other, callee] { world.pong(one) }
            world.wait(20)
            for one in [caller, other, callee] { world.pong(one) }
        }
        world.give(.closed(callee))
        world.send(caller, SwitchboardWorld.plain("end", "long", id: "end"))
        try world.putToRest(10)
        #expect(world.takeFrames(of: try world.open("10", "b1")).states.contains("ended hangup"))
    }

    @Test("While the store cannot read ended calls, a device is not pinged for them again and again")
    func storeFails() throws {
        let world = try missed(20, by: ["b1", "b2"])
        world.failsQueries = true
        let back = try world.open("10", "b1")
        let before = world.pings[back]
        for _ in 1...5 { world.pong(back) }
        #expect(world.pings[back] == before)
        #expect(world.takeFrames(of: back).states.isEmpty)
        world.failsQueries = false
        for _ in 1...3 {
            world.wait(26)
            world.pong(back)
        }
        #expect(world.takeFrames(of: back).states.count == 20)
    }
}
