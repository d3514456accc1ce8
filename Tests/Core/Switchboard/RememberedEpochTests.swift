import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("The epoch of a callId that is not a UUID")
struct RememberedEpochTests {
    private func call(_ world: SwitchboardWorld, _ id: String) throws -> String? {
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer(id, to: "10", id: "o\(world.now.milliseconds)"))
        let epoch = world.takeFrames(of: caller).ack?["epoch"]
        world.send(caller, SwitchboardWorld.plain("end", id, id: "e\(world.now.milliseconds)"))
        world.give(.closed(caller))
        return epoch
    }

    /// The number of epochs that a world has asked its store for.
    private func asked(_ world: SwitchboardWorld) -> Int {
        world.queries.count { query, _ in if case StoreQuery.epoch = query { true } else { false } }
    }

    @Test("The epoch is forgotten with the history, and not before")
    func forgotten() throws {
        let world = SwitchboardWorld { $0.historyFor = .seconds(4 * 3_600) }
        #expect(try call(world, "11-10") == "1")
        world.wait(4 * 3_600 - 60)
        #expect(try call(world, "11-10") == "2")
        #expect(world.switchboard.directory.epochCount >= 1)
        world.wait(5 * 3_600 + 700)
        #expect(world.switchboard.directory.epochCount == 0)
        #expect(try call(world, "11-10") == "1")
    }

    @Test("The epoch is remembered from the end of the last call that used it")
    func longCall() throws {
        let world = SwitchboardWorld { $0.historyFor = .seconds(4 * 3_600) }
        let epochs = Epochs(keptFor: world.policy.historyFor, at: world.now)
        var used = epochs
        let key = CallKey(id: try SwitchboardTests.call("c"), pair: Pair(try user("11"), try user("10")))
        used.use(3, of: key, at: world.now)
        used.use(3, of: key, at: world.now + .seconds(10 * 3_600))
        used.forgetOld(at: world.now + .seconds(13 * 3_600))
        #expect(used[key] == 3)
        used.forgetOld(at: world.now + .seconds(15 * 3_600))
        #expect(used[key] == nil && used.count == 0)
    }

    @Test("After a start, the first call under a callId waits for its stored epoch, and only the first")
    func stored() throws {
        let first = SwitchboardWorld()
        #expect(try call(first, "11-10") == "1")
        #expect(asked(first) == 0, "a store without calls has no epoch")
        first.wait(700)
        let world = first.restarted()
        world.holdsResults = true
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o"))
        // The caller's further signals wait behind the offer.
        world.send(caller, SwitchboardWorld.ice("11-10", id: "i"))
        world.send(caller, #"{"type":"ice","to":"10","id":"j","candidate":{"candidate":"candidate:2"}}"#)
        #expect(asked(world) == 1)
        #expect(world.takeFrames(of: caller).of("ack").isEmpty && world.switchboard.metrics.callsBegun == 0)
        world.deliverResults()
        let acks = world.takeFrames(of: caller).of("ack")
        #expect(acks.map { $0["id"] } == ["o", "i", "j"] && acks.first?["epoch"] == "2")
        world.holdsResults = false
        world.send(caller, SwitchboardWorld.plain("end", "11-10", id: "e"))
        world.wait(700)
        #expect(try call(world, "11-10") == "3")
        #expect(asked(world) == 1)
    }

    @Test("Crossing offers under one callId wait for one query, and are then a glare as usual")
    func glare() throws {
        let first = SwitchboardWorld()
        #expect(try call(first, "11-10") == "1")
        first.wait(700)
        let world = first.restarted()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.holdsResults = true
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o"))
        world.send(callee, SwitchboardWorld.offer("11-10", to: "11", id: "p"))
        #expect(asked(world) == 1)
        world.deliverResults()
        #expect(world.takeFrames(of: caller).ack?["epoch"] == "2")
        #expect(world.takeFrames(of: callee).code == "call_exists")
    }

    @Test("A refused offer's epoch is not remembered; a UUID and a callId made by the server need no query")
    func refused() throws {
        let first = SwitchboardWorld()
        #expect(try call(first, "11-10") == "1")
        first.wait(700)
        let world = first.restarted()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("6ba7b810-9dad-11d1-80b4-00c04fd430c8", to: "10", id: "u"))
        world.send(caller, #"{"type":"offer","id":"n","to":"10","sdp":"v=0\r\n"}"#)
        #expect(asked(world) == 0)
        for number in 0..<200 {
            world.send(caller, SwitchboardWorld.offer("x-\(number)", to: "10", id: "x\(number)"))
        }
        #expect(world.switchboard.directory.epochCount == world.switchboard.metrics.callsBegun - 2)
        #expect(world.switchboard.metrics.callsBegun < 200)
    }

    @Test("If the store cannot be read, the offer is refused, and accepted when it is resent")
    func unreadable() throws {
        let first = SwitchboardWorld()
        #expect(try call(first, "11-10") == "1")
        first.wait(700)
        let world = first.restarted()
        let caller = try world.open("11", "a1")
        world.failsQueries = true
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o"))
        #expect(world.takeFrames(of: caller).code == "store_unavailable")
        world.failsQueries = false
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o"))
        #expect(world.takeFrames(of: caller).ack?["epoch"] == "2")
    }
}
