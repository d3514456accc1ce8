import CallClient
import CallCore
import Testing

@Suite("Descriptions that an engine refuses in a call that has media")
struct RefusedDescriptionTests {
    private let call = ClientBench.uuid()

    @Test("An offer that the engine cannot make is withdrawn, the call goes on, and the next offer is made")
    func offer() {
        var bench = ClientBench.talking()
        bench.take(.renegotiate(call, hasVideo: true))
        #expect(bench.client.calls.last?.displayedPeer.hasVideo == true)
        #expect(bench.take(.negotiationFailed(call, round: 2)) == [.rollback(call)])
        #expect(bench.phase == .active && bench.client.calls.last?.displayedPeer.hasVideo == false)
        let outputs = bench.take(.renegotiate(call, restartsICE: true))
        #expect(outputs == [.makeOffer(call, round: 3, hasVideo: false, restartsICE: true)])
    }

    @Test("A change that waited for a failed exchange is carried out")
    func nextWish() {
        var bench = ClientBench.talking()
        bench.take(.renegotiate(call, hasVideo: true))
        bench.take(.renegotiate(call, restartsICE: true))
        let outputs = bench.take(.negotiationFailed(call, round: 2))
        #expect(outputs.first == .rollback(call))
        #expect(outputs.contains { if case .makeOffer(_, 3, _, true) = $0 { true } else { false } })
    }

    @Test("A peer's offer that the engine refuses gets no answer; the next one does")
    func answer() {
        var bench = ClientBench.talking()
        _ = bench.offered(sdp: "v=0 bad")
        #expect(bench.take(.negotiationFailed(call, round: 2)).isEmpty && bench.phase == .active)
        #expect(bench.take(.localDescription(call, round: 2, .answer, sdp: "v=0")).isEmpty)
        #expect(bench.offered(sdp: "v=0 good").contains(.makeAnswer(call, round: 3)))
        #expect(bench.take(.localDescription(call, round: 3, .answer, sdp: "v=0")).sent == [.answer])
    }

    @Test("A late report about a replaced exchange changes nothing")
    func late() {
        var bench = ClientBench.talking()
        _ = bench.offered(sdp: "v=0 bad")
        _ = bench.offered(sdp: "v=0 good")
        #expect(bench.take(.negotiationFailed(call, round: 2)).isEmpty)
        #expect(bench.take(.localDescription(call, round: 3, .answer, sdp: "v=0")).sent == [.answer])
        #expect(bench.take(.negotiationFailed(call, round: 3)).isEmpty, "the answer is out")
        #expect(bench.phase == .active)
    }

    @Test("A peer's answer that cannot be set leaves the call as it was")
    func peersAnswer() {
        var bench = ClientBench.talkingAsCaller()
        bench.take(.renegotiate(ClientBench.ownUUID, hasVideo: true))
        bench.take(.localDescription(ClientBench.ownUUID, round: 2, .offer, sdp: "v=0"))
        _ = bench.signal(.answer(sdp: "v=0 bad", round: 2))
        #expect(bench.take(.negotiationFailed(ClientBench.ownUUID, round: 2)).isEmpty)
        #expect(bench.phase == .active)
        let outputs = bench.take(.renegotiate(ClientBench.ownUUID, restartsICE: true))
        #expect(outputs.contains { if case .makeOffer(_, 3, _, true) = $0 { true } else { false } })
    }

    @Test("An offer without an answer is withdrawn after 30 s, unless the server does not have it yet")
    func unanswered() {
        var bench = ClientBench.talkingAsCaller()
        let own = ClientBench.ownUUID
        bench.take(.renegotiate(own, hasVideo: true))
        bench.take(.localDescription(own, round: 2, .offer, sdp: "v=0"))
        bench.take(.renegotiate(own, restartsICE: true))
        #expect(!bench.handleDeadlines(for: .seconds(40)).contains(.rollback(own)), "it has no ack")
        bench.acknowledgeAll()
        let outputs = bench.handleDeadlines(for: .seconds(30))
        #expect(outputs.contains(.rollback(own)) && bench.phase == .active)
        #expect(outputs.contains { if case .makeOffer(_, 3, _, true) = $0 { true } else { false } })
    }

    @Test("An answered offer is not withdrawn, and leaves no deadline")
    func answered() {
        var bench = ClientBench.talkingAsCaller()
        let own = ClientBench.ownUUID
        bench.take(.renegotiate(own))
        bench.take(.localDescription(own, round: 2, .offer, sdp: "v=0"))
        bench.acknowledgeAll()
        _ = bench.signal(.answer(sdp: "v=0 yes", round: 2))
        bench.acknowledgeAll()
        #expect(bench.client.deadline == nil)
        #expect(bench.handleDeadlines(for: .seconds(60)).isEmpty)
    }

    @Test("Before the answer, a description that is refused ends the call")
    func before() {
        var bench = ClientBench()
        bench.start()
        bench.take(.negotiationFailed(ClientBench.ownUUID, round: 1))
        #expect(bench.client.calls.last?.reason == .failed)
        bench = ClientBench()
        _ = bench.offered()
        #expect(bench.take(.negotiationFailed(call, round: 1)).isEmpty && bench.phase == .ringing)
    }
}
