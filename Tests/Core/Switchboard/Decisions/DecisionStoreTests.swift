import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Decisions about offers that wait for the store")
struct DecisionStoreTests {
    @Test("An offer that reads its epoch again after the decision begins its call, and the backend is asked once")
    func epoch() throws {
        let first = SwitchboardWorld()
        let earlier = try first.open("11", "a1")
        first.send(earlier, SwitchboardWorld.offer("11-10", to: "10", id: "o1"))
        first.send(earlier, SwitchboardWorld.plain("end", "11-10", id: "e1"))
        first.wait(700)
        let world = first.restarted({ $0.decisions = DecisionPolicy(timeout: .seconds(1), failure: .refuse) })
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2"))
        let question = try #require(world.questions.first)
        world.give(.decided(question.id, .response(status: 200, body: Array(#"{"allow":true}"#.utf8))))
        #expect(world.questions.count == 1)
        #expect(world.takeFrames(of: caller).of("ack").map { $0["epoch"] } == ["2"])
        world.send(caller, SwitchboardWorld.plain("end", "11-10", id: "e2"))
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o3"))
        #expect(world.questions.count == 2, "the decision counts for one offer")
    }

    @Test("The response to a refused request has the app's code")
    func appCode() {
        var error = WireError(.refusedByApp, "not now")
        error.appCode = "closed"
        #expect(String(decoding: Reply(error).body, as: UTF8.self).contains(#""appCode":"closed""#))
    }
}
