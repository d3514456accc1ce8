import CallClient
import CallCore
import Testing

@Suite("A call whose answer the system gave up")
struct AnswerTimedOutTests {
    @Test("A call that waits for its offer ends as failed, on this device and for the caller")
    func answering() {
        var bench = ClientBench()
        _ = bench.take(.pushed(ClientBench.push(at: bench.now)))
        bench.take(.answer(ClientBench.uuid()))
        #expect(bench.phase == .answering)
        let outputs = bench.take(.answerTimedOut(ClientBench.uuid()))
        #expect(outputs.ends == [.failed])
        #expect(outputs.compactMap(\.sent).map(\.content) == [.end(.failed)])
        #expect(bench.client.calls.last?.reason == .failed)
    }

    @Test("An answer that was sent already does not save the call: there is no screen left that shows it")
    func connecting() {
        var bench = ClientBench()
        _ = bench.offered()
        bench.take(.answer(ClientBench.uuid()))
        bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0 own answer"))
        #expect(bench.phase == .connecting)
        let outputs = bench.take(.answerTimedOut(ClientBench.uuid()))
        #expect(outputs.ends == [.failed] && outputs.contains(.closeMedia(ClientBench.uuid())))
        #expect(outputs.sent == [.end])
    }

    @Test("Neither a call that is over, nor an outgoing or unknown call, has an answer that times out")
    func others() {
        var bench = ClientBench.talking()
        bench.take(.end(ClientBench.uuid()))
        #expect(bench.take(.answerTimedOut(ClientBench.uuid())).isEmpty)
        #expect(bench.take(.answerTimedOut(ClientBench.uuid("c9"))).isEmpty)
        bench = ClientBench.talkingAsCaller()
        #expect(bench.take(.answerTimedOut(ClientBench.ownUUID)).isEmpty && bench.phase == .active)
    }
}
