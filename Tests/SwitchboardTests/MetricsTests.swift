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

    @Test("A call that was not answered adds no time")
    func unanswered() throws {
        let talk = try Talk()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(talk.world.switchboard.metrics.answerMilliseconds.counts.reduce(0, +) == 0)
    }
}
