import CallCore
import Testing

@testable import Switchboard

@Suite("The metrics")
struct MetricsTests {
    @Test("The time from offer to answer is counted once, when the answer comes and not when the call ends")
    func answers() throws {
        let talk = try Talk()
        talk.world.wait(3)
        #expect(talk.world.switchboard.metrics.answerMilliseconds.sum == 0)
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        #expect(talk.world.switchboard.metrics.answerMilliseconds.sum == 3_000)
        talk.world.send(talk.caller, SwitchboardWorld.plain("connected", "c-1", id: "k"))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let times = talk.world.switchboard.metrics.answerMilliseconds
        #expect(times.sum == 3_000 && times.counts.reduce(0, +) == 1)
    }

    @Test("Each live call is counted in its present state, also after a restart, and no ended call is counted")
    func liveCalls() throws {
        let talk = try Talk()
        func counts(_ world: SwitchboardWorld) -> [Int?] {
            [CallState.ringing, .answered, .active].map { world.switchboard.countCalls()[$0] }
        }
        #expect(counts(talk.world) == [1, 0, 0])
        talk.world.send(talk.caller, SwitchboardWorld.offer("c-2", to: "12", id: "o2"))
        #expect(counts(talk.world) == [2, 0, 0])
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        #expect(counts(talk.world) == [1, 1, 0])
        talk.world.send(talk.caller, SwitchboardWorld.plain("connected", "c-1", id: "k"))
        #expect(counts(talk.world) == [1, 0, 1] && counts(talk.world.restarted()) == [1, 0, 1])
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-2", id: "e2"))
        #expect(counts(talk.world) == [0, 0, 1])
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(counts(talk.world) == [0, 0, 0])
        talk.world.wait(3_600)
        #expect(counts(talk.world) == [0, 0, 0] && counts(talk.world.restarted()) == [0, 0, 0])
    }

    @Test("A call that was not answered adds no time")
    func unanswered() throws {
        let talk = try Talk()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(talk.world.switchboard.metrics.answerMilliseconds.counts.reduce(0, +) == 0)
    }
}
