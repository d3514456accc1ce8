import CallClient
import CallCore
import Testing

@Suite("A VoIP push that the connection contradicts")
struct ContradictedPushTests {
    private func offer(_ at: Moment) -> IncomingOffer {
        IncomingOffer(
            sdp: "v=0 offer",
            hasVideo: false,
            displayName: "Eleven",
            callUUID: ClientBench.uuid(),
            ringUntil: at + .seconds(45),
            isWaiting: false
        )
    }

    /// Hands in the call's offer as the connection delivers it, with its times by the server's clock.
    private func offered(_ bench: inout ClientBench, at: Moment, id: String = "o1") -> [CallClient.Output] {
        let envelope = ServerMessage.Envelope(
            callID: ClientBench.call("c1"),
            epoch: 1,
            seq: 1,
            at: at,
            room: "p2p:11-10",
            from: ClientBench.user("11"),
            fromDevice: ClientBench.device("peer"),
            id: SignalID(id)
        )
        return bench.take(.received(.signal(envelope, .offer(offer(at)))))
    }

    @Test("A push that seems late because the device's clock is ahead rings when the connection delivers its offer")
    func clockAhead() {
        var bench = ClientBench(isOpen: false)
        let server = bench.now
        // The device's clock is ten minutes ahead, and the core does not know that.
        bench.advanceClock(by: .seconds(600))
        let push = ClientBench.push(at: server)
        let first = bench.take(.pushed(push))
        #expect(first.reported.count == 1)
        bench.advanceClock(by: .seconds(1))
        bench.take(.connectionOpened)
        let outputs = offered(&bench, at: server)
        #expect(outputs.reported.count == 1)
        #expect(bench.phase == .ringing)
        #expect(Set(first.reported + outputs.reported).count == 2, "CallKit accepts a UUID only once")
    }

    @Test("A push that is late by the server's clock too does not ring when the connection delivers its offer")
    func trulyLate() {
        var bench = ClientBench()
        let server = bench.now
        _ = bench.event(.init(.ended, reason: .cancelled), call: "other")
        bench.advanceClock(by: .seconds(600))
        bench.take(.pushed(ClientBench.push(at: server)))
        #expect(offered(&bench, at: server).reported == [])
    }

    @Test("A later call that got an ended call's epoch after a crash rings when its offer arrives after its push")
    func epochAgain() {
        var bench = ClientBench()
        _ = offered(&bench, at: bench.now)
        _ = bench.take(.end(ClientBench.uuid(), nil))
        bench.take(.connectionClosed)
        bench.advanceClock(by: .seconds(5))
        let first = bench.take(.pushed(ClientBench.push(at: bench.now)))
        bench.take(.connectionOpened)
        let second = offered(&bench, at: bench.now, id: "o2")
        #expect(bench.phase == .ringing, "\(first) \(second)")
    }

    @Test("A ring that a push began ends when its ringing signal is refused with already_answered")
    func ringingRefused() throws {
        var bench = ClientBench()
        bench.take(.pushed(ClientBench.push(at: bench.now, ["offer": .string("v=0 offer")])))
        let ringing = try #require(bench.history.compactMap(\.sent).last)
        #expect(ringing.kind == .ringing)
        #expect(bench.take(.received(.error(ringing.id, code: "already_answered"))).ends == [.answeredElsewhere])
        #expect(bench.phase == .ended)
    }

    @Test("A push does not ring if the pushed call ended while an outgoing call waited under the same callId")
    func endedBeforeOwnCall() throws {
        var bench = ClientBench(isOpen: false)
        let offer = try #require(bench.start().compactMap(\.posted).last)
        bench.take(.posted(offer.id, .failure(.unreachable)))
        bench.take(.connectionOpened)
        _ = bench.event(.init(.ended, reason: .answeredElsewhere))
        #expect(bench.phase == .calling)
        #expect(bench.take(.received(.error(offer.id, code: "already_answered"))).ends == [.failed])
        #expect(bench.take(.pushed(ClientBench.push(at: bench.now))).ends == [.answeredElsewhere])
    }
}
