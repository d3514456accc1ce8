import CallClient
import CallCore
import Testing

@Suite("Descriptions and candidates")
struct NegotiationTests {
    private let one = #"{"candidate":"1"}"#
    private let two = #"{"candidate":"2"}"#

    @Test("A candidate that comes before its description waits for that description (I5)")
    func early() {
        var bench = ClientBench()
        bench.start()
        _ = bench.event(.init(.ringing))
        #expect(bench.signal(.ice(one, round: nil)).isEmpty)
        let outputs = bench.signal(.answer(sdp: "v=0 answer", round: nil))
        #expect(
            outputs.prefix(2) == [
                .setRemoteDescription(ClientBench.ownUUID, .answer, sdp: "v=0 answer"),
                .addRemoteCandidate(ClientBench.ownUUID, one),
            ]
        )
        #expect(bench.signal(.ice(nil, round: nil)) == [.addRemoteCandidate(ClientBench.ownUUID, nil)])
    }

    @Test("Candidates of a ringing call wait for the answer, and candidates of a replaced offer are dropped")
    func ringing() {
        var bench = ClientBench()
        _ = bench.offered(sdp: "v=0 first")
        _ = bench.signal(.ice(one, round: nil))
        _ = bench.offered(sdp: "v=0 second")
        _ = bench.signal(.ice(two, round: nil))
        let outputs = bench.take(.answer(ClientBench.uuid()))
        #expect(
            outputs == [
                .setRemoteDescription(ClientBench.uuid(), .offer, sdp: "v=0 second"),
                .addRemoteCandidate(ClientBench.uuid(), two), .makeAnswer(ClientBench.uuid(), round: 1),
            ]
        )
    }

    @Test("A candidate belongs to its device's description, even if another device uses the same round (I5)")
    func otherDevice() {
        var bench = ClientBench()
        _ = bench.signal(.offer(IncomingOffer(sdp: "v=0 first", round: 1)), device: "phone")
        _ = bench.signal(.ice(one, round: 1), device: "phone")
        _ = bench.signal(.offer(IncomingOffer(sdp: "v=0 second", round: 1)), device: "tablet")
        _ = bench.signal(.ice(two, round: 1), device: "tablet")
        #expect(
            bench.take(.answer(ClientBench.uuid())) == [
                .setRemoteDescription(ClientBench.uuid(), .offer, sdp: "v=0 second"),
                .addRemoteCandidate(ClientBench.uuid(), two), .makeAnswer(ClientBench.uuid(), round: 1),
            ]
        )
        #expect(bench.signal(.ice(one, round: 1), device: "phone").isEmpty)
        #expect(bench.signal(.ice(nil, round: 1), device: "tablet") == [.addRemoteCandidate(ClientBench.uuid(), nil)])
    }

    @Test("A candidate of a later round waits for the description of that round, also in a renegotiation")
    func nextRound() {
        var bench = ClientBench()
        _ = bench.signal(.offer(IncomingOffer(sdp: "v=0 first", round: 1)))
        bench.take(.answer(ClientBench.uuid()))
        bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0"))
        #expect(bench.signal(.ice(two, round: 2)).isEmpty)
        #expect(bench.signal(.ice(one, round: 1)) == [.addRemoteCandidate(ClientBench.uuid(), one)])
        let outputs = bench.signal(.offer(IncomingOffer(sdp: "v=0 second", round: 2)))
        #expect(outputs.contains(.addRemoteCandidate(ClientBench.uuid(), two)))
        #expect(bench.signal(.ice(one, round: 1)).isEmpty)
    }

    @Test("Our candidates are sent after our description")
    func ours() {
        var bench = ClientBench()
        _ = bench.offered()
        bench.acknowledgeAll()
        bench.take(.answer(ClientBench.uuid()))
        #expect(bench.take(.localCandidate(ClientBench.uuid(), round: 1, one)).sent.isEmpty)
        let outputs = bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0"))
        #expect(outputs.sent == [.answer, .ice])
        #expect(bench.take(.localCandidate(ClientBench.uuid(), round: 7, two)).isEmpty)
    }

    @Test("The callee is polite: it rolls back its own offer, answers the caller's, and offers again afterwards")
    func polite() {
        var bench = ClientBench.talking()
        bench.take(.renegotiate(ClientBench.uuid(), hasVideo: true))
        bench.take(.localDescription(ClientBench.uuid(), round: 2, .offer, sdp: "v=0 ours"))
        let outputs = bench.offered(sdp: "v=0 theirs")
        #expect(outputs.starts(with: [.rollback(ClientBench.uuid())]))
        #expect(outputs.contains(.makeAnswer(ClientBench.uuid(), round: 3)))
        let made = bench.take(.localDescription(ClientBench.uuid(), round: 3, .answer, sdp: "v=0 answer"))
        #expect(made.sent == [.answer])
        #expect(made.contains { if case .makeOffer(_, 4, true, _) = $0 { true } else { false } })
    }

    @Test("The caller is impolite: while its own offer is open, it ignores the callee's offer and its candidates")
    func impolite() {
        var bench = ClientBench.talkingAsCaller()
        bench.take(.renegotiate(ClientBench.ownUUID, hasVideo: true))
        #expect(bench.offered(sdp: "v=0 theirs").isEmpty)
        bench.take(.localDescription(ClientBench.ownUUID, round: 2, .offer, sdp: "v=0 ours"))
        #expect(bench.signal(.ice(one, round: nil)).isEmpty)
        let outputs = bench.signal(.answer(sdp: "v=0 answer 2", round: nil))
        #expect(outputs == [.setRemoteDescription(ClientBench.ownUUID, .answer, sdp: "v=0 answer 2")])
        #expect(bench.signal(.ice(two, round: nil)) == [.addRemoteCandidate(ClientBench.ownUUID, two)])
    }

    @Test("A description or candidate that the media engine made for a withdrawn offer is not sent")
    func stale() {
        var bench = ClientBench.talking()
        bench.take(.renegotiate(ClientBench.uuid()))
        _ = bench.offered(sdp: "v=0 theirs")
        #expect(bench.take(.localDescription(ClientBench.uuid(), round: 2, .offer, sdp: "v=0 ours")).isEmpty)
        #expect(bench.take(.localCandidate(ClientBench.uuid(), round: 2, one)).isEmpty)
    }

    @Test("If a crash lost the answer and another device has answered since, the caller makes a new offer")
    func answeredByAnother() {
        var bench = ClientBench.talkingAsCaller()
        #expect(bench.event(.init(.active, answeredBy: ClientBench.device("peer"))).isEmpty)
        let outputs = bench.event(.init(.answered, answeredBy: ClientBench.device("tablet")))
        #expect(outputs == [.makeOffer(ClientBench.ownUUID, round: 2, hasVideo: false, restartsICE: true)])
        #expect(bench.event(.init(.active, answeredBy: ClientBench.device("tablet"))).isEmpty, "once is enough")
        bench.take(.localDescription(ClientBench.ownUUID, round: 2, .offer, sdp: "v=0 anew"))
        let set = bench.signal(.answer(sdp: "v=0 of tablet", round: 2), device: "tablet")
        #expect(set == [.setRemoteDescription(ClientBench.ownUUID, .answer, sdp: "v=0 of tablet")])
        #expect(bench.event(.init(.active, answeredBy: ClientBench.device("tablet"))).isEmpty)
    }

    @Test("Two cores that renegotiate at the same time agree on the caller's offer", arguments: [true, false])
    func crossing(_ callerFirst: Bool) throws {
        var caller = ClientBench.talkingAsCaller()
        var callee = ClientBench.talking()
        caller.take(.renegotiate(ClientBench.ownUUID))
        caller.take(.localDescription(ClientBench.ownUUID, round: 2, .offer, sdp: "v=0 of caller"))
        callee.take(.renegotiate(ClientBench.uuid()))
        callee.take(.localDescription(ClientBench.uuid(), round: 2, .offer, sdp: "v=0 of callee"))
        func callerHears() { #expect(caller.offered(sdp: "v=0 of callee").isEmpty) }
        if callerFirst { callerHears() }
        let outputs = callee.offered(sdp: "v=0 of caller")
        #expect(outputs.contains(.setRemoteDescription(ClientBench.uuid(), .offer, sdp: "v=0 of caller")))
        #expect(outputs.contains(.makeAnswer(ClientBench.uuid(), round: 3)))
        if !callerFirst { callerHears() }
        let made = callee.take(.localDescription(ClientBench.uuid(), round: 3, .answer, sdp: "v=0 yes"))
        #expect(made.sent.contains(.answer))
        let set = caller.signal(.answer(sdp: "v=0 yes", round: 3))
        #expect(set == [.setRemoteDescription(ClientBench.ownUUID, .answer, sdp: "v=0 yes")])
    }
}
