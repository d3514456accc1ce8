import CallCore
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
        let epochs = Epochs([:], keptFor: world.policy.historyFor, at: world.now)
        var used = epochs
        let key = CallKey(id: try SwitchboardTests.call("c"), pair: Pair(try user("11"), try user("10")))
        used.use(3, of: key, at: world.now)
        used.use(3, of: key, at: world.now + .seconds(10 * 3_600))
        used.forgetOld(at: world.now + .seconds(13 * 3_600))
        #expect(used[key] == 3)
        used.forgetOld(at: world.now + .seconds(15 * 3_600))
        #expect(used[key] == nil && used.count == 0)
    }

    @Test("After a start, a stored epoch is remembered for 1.25 times the time for which history is kept")
    func stored() throws {
        let key = CallKey(id: try SwitchboardTests.call("c"), pair: Pair(try user("11"), try user("10")))
        var epochs = Epochs([key: 7], keptFor: .seconds(400), at: SwitchboardWorld.start)
        epochs.forgetOld(at: SwitchboardWorld.start + .seconds(499))
        #expect(epochs[key] == 7)
        epochs.forgetOld(at: SwitchboardWorld.start + .seconds(500))
        #expect(epochs[key] == nil)
    }
}
