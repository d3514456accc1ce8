import CallClient
import CallCore
import Testing

/// Tests of a client core after a crash of the server, or after its connection was closed for a while.
@Suite("A call after a crash or an outage")
struct LostCallTests {
    private func older() -> FetchedCall {
        FetchedCall(callID: ClientBench.call("c1"), epoch: 1, state: .ended, reason: .hangup)
    }

    /// Plays a server that lost epoch 2 and has epoch 1.
    ///
    /// It refuses every signal with `code`, and answers every fetch with `log`, or with `not_found` if `log` is `nil`.
    private func lost(_ bench: inout ClientBench, _ outputs: [CallClient.Output], code: String, log: FetchedCall?) {
        var left = outputs
        var turns = 0
        while !left.isEmpty, turns < 200 {
            turns += 1
            let output = left.removeFirst()
            if let signal = output.sent { left += bench.take(.received(.error(signal.id, code: code))) }
            if let signal = output.posted { left += bench.take(.posted(signal.id, .failure(.refused(code: code)))) }
            if let number = output.fetched {
                if let log {
                    left += bench.take(.fetched(number, .success(log)))
                } else {
                    left += bench.take(.fetched(number, .failure(.refused(code: "not_found"))))
                }
            }
        }
    }

    @Test("A call that a crash lost ends here, even if an earlier call under its callId can be fetched")
    func lostUnderAKnownName() throws {
        var bench = ClientBench()
        let uuid = ClientBench.uuid(epoch: 2)
        _ = bench.offered(epoch: 2)
        bench.take(.answer(uuid))
        bench.take(.localDescription(uuid, round: 1, .answer, sdp: "v=0 answer"))
        bench.take(.mediaConnected(uuid))
        bench.take(.connectionClosed)
        lost(&bench, bench.take(.connectionOpened), code: "call_ended", log: older())
        for _ in 0..<600 { lost(&bench, bench.handleDeadlines(for: .seconds(1)), code: "call_ended", log: older()) }
        #expect(bench.phase == .ended, "ten minutes later the device is in a call that only it knows")
    }

    @Test("An answered call that a crash lost ends here, even if a new call rings elsewhere under its callId and epoch")
    func lostAndBegunAnew() throws {
        var bench = ClientBench()
        let uuid = ClientBench.uuid(epoch: 2)
        _ = bench.offered(epoch: 2)
        bench.take(.connectionClosed)
        bench.take(.answer(uuid))
        bench.take(.localDescription(uuid, round: 1, .answer, sdp: "v=0 answer"))
        bench.take(.mediaConnected(uuid))
        var outputs = bench.take(.connectionOpened)
        let fetch = try #require(outputs.compactMap(\.fetched).last)
        for _ in 0..<20 {
            for signal in outputs.compactMap(\.sent) {
                bench.take(.received(.error(signal.id, code: "not_found")))
            }
            outputs = bench.handleDeadlines(for: .seconds(1))
        }
        #expect(bench.phase == .active, "the caller may still begin the call again")
        let anew = FetchedCall(callID: ClientBench.call("c1"), epoch: 2, state: .ringing)
        lost(&bench, bench.take(.fetched(fetch, .success(anew))), code: "forbidden", log: anew)
        for _ in 0..<60 { lost(&bench, bench.handleDeadlines(for: .seconds(1)), code: "forbidden", log: anew) }
        #expect(bench.phase == .ended, "a minute later the device is in a call that only it knows")
    }

    @Test("An offer under the epoch of a call that has ended here rings if it begins another call")
    func epochAgain() {
        var bench = ClientBench()
        _ = bench.signal(.offer(.init(sdp: "v=0 first", hasVideo: false)), id: "one")
        _ = bench.event(.init(.ended, reason: .cancelled))
        bench.acknowledgeAll()
        bench.take(.connectionClosed)
        bench.advanceClock(by: .seconds(20))
        bench.take(.connectionOpened)
        bench.nextSeq = 1_025
        let offer = IncomingOffer(sdp: "v=0 second", hasVideo: false, ringUntil: bench.now + .seconds(45))
        #expect(bench.signal(.offer(offer), seq: 1, id: "one").reported.isEmpty, "the lost call itself is over here")
        #expect(bench.signal(.offer(offer), seq: 4, id: "two").reported.isEmpty, "and so is its renegotiation")
        #expect(bench.signal(.offer(offer), id: "another").reported.count == 1)
    }

    @Test("A call of the peer that got the callId and epoch of this device's lost call is answered")
    func callExistsAfterCrash() throws {
        var bench = ClientBench()
        bench.start()
        let own = try #require(bench.history.compactMap(\.sent).last)
        _ = bench.event(.init(.ringing, offerID: own.id))
        bench.take(.connectionClosed)
        bench.take(.connectionOpened)
        bench.take(.received(.error(own.id, code: "call_exists")))
        #expect(bench.phase == .answering)
        var outputs: [CallClient.Output] = []
        for _ in 0..<25 {
            for number in (bench.history + outputs).compactMap(\.fetched) {
                let envelope = ServerMessage.Envelope(
                    callID: ClientBench.call("c1"),
                    epoch: 1,
                    seq: 1_025,
                    at: bench.now,
                    room: "p2p:11-10",
                    from: ClientBench.user("11"),
                    fromDevice: ClientBench.device("peer"),
                    id: SignalID("theirs")
                )
                let log = FetchedCall(
                    callID: ClientBench.call("c1"),
                    epoch: 1,
                    room: "p2p:11-10",
                    state: .ringing,
                    signals: [.signal(envelope, .offer(.init(sdp: "v=0 theirs", hasVideo: false)))]
                )
                outputs += bench.take(.fetched(number, .success(log)))
            }
            outputs += bench.handleDeadlines(for: .seconds(1))
        }
        #expect(outputs.contains(.setRemoteDescription(ClientBench.ownUUID, .offer, sdp: "v=0 theirs")))
        outputs += bench.handleDeadlines(for: .seconds(10))
        let wasTold = outputs.compactMap(\.sent).contains { $0.kind == .end && $0.epoch == 1 }
        #expect(wasTold || bench.phase != .ended, "the device gives up, and the peer's call rings on")
    }

    @Test("The log of a call that was given up is fetched after its offer got store_unavailable")
    func withdrawnAndStoreUnavailable() throws {
        var bench = ClientBench(isOpen: false)
        let offer = try #require(bench.start().compactMap(\.posted).last)
        #expect(offer.kind == .offer)
        bench.take(.end(ClientBench.ownUUID))
        // The server has accepted and relayed the offer; only its commit stalls.
        let refused = bench.take(.posted(offer.id, .failure(.refused(code: "store_unavailable"))))
        let later = refused + bench.handleDeadlines(for: .seconds(45))
        #expect(!later.compactMap(\.fetched).isEmpty, "its end waits for an epoch that is never requested")
    }

    @Test("A call that is live although a renegotiation got call_ended can be renegotiated again")
    func renegotiationLost() throws {
        var bench = ClientBench.talking()
        bench.take(.renegotiate(ClientBench.uuid(), hasVideo: true, restartsICE: false))
        bench.take(.localDescription(ClientBench.uuid(), round: 2, .offer, sdp: "v=0 renegotiated"))
        let offer = try #require(bench.history.compactMap(\.sent).last)
        let asked = bench.take(.received(.error(offer.id, code: "call_ended")))
        let number = try #require(asked.compactMap(\.fetched).last)
        bench.take(.fetched(number, .success(FetchedCall(callID: ClientBench.call("c1"), epoch: 1, state: .active))))
        #expect(bench.phase == .active)
        bench.handleDeadlines(for: .seconds(60))
        let again = bench.take(.renegotiate(ClientBench.uuid(), hasVideo: nil, restartsICE: true))
        let makesOffer = again.contains { if case .makeOffer = $0 { true } else { false } }
        #expect(makesOffer, "no offer is made in this call any more")
    }

    @Test("A new call that gets the epoch of a lost call is not ended instead of the lost call")
    func redialUnderTheEpochOfALostCall() throws {
        var bench = ClientBench()
        bench.start()
        let first = try #require(bench.history.compactMap(\.sent).last)
        _ = bench.event(.init(.ringing, offerID: first.id))
        _ = bench.event(.init(.ended, reason: .declined))
        bench.take(.connectionClosed)
        bench.take(.connectionOpened)
        bench.nextSeq = 1_025
        bench.start(uuid: ClientBench.made(CallUUID("AAAAAAAA-0000-4000-8000-000000000002")))
        let second = try #require(bench.history.compactMap(\.sent).last)
        #expect(bench.event(.init(.ringing, offerID: second.id)).sent == [])
        #expect(bench.phase == .calling && bench.client.calls.last?.epoch == 1)
    }

    @Test(
        "A call that has ended here but is live on the server is ended there, however long ago it ended here",
        arguments: [100, 200]
    )
    func lateCallOfKilledApp(seconds: Int64) {
        var bench = ClientBench.talkingAsCaller()
        bench.take(.end(ClientBench.ownUUID))
        bench.take(.connectionClosed)
        bench.handleDeadlines(for: .seconds(seconds))
        let opened = bench.take(.connectionOpened).sent
        #expect(opened + bench.event(.init(.active, answeredBy: ClientBench.device("peer"))).sent == [.end])
    }

    @Test("The end of a lost call does not end the new call that got its epoch")
    func endOfLostCall() throws {
        var bench = ClientBench()
        bench.start()
        let first = try #require(bench.history.compactMap(\.sent).last)
        _ = bench.event(.init(.ringing, offerID: first.id))
        bench.take(.connectionClosed)
        bench.take(.end(ClientBench.ownUUID))
        let redial = ClientBench.made(CallUUID("AAAAAAAA-0000-4000-8000-000000000002"))
        bench.start(uuid: redial)
        for signal in bench.history.compactMap(\.posted) { bench.take(.posted(signal.id, .failure(.unreachable))) }
        let opened = bench.take(.connectionOpened).compactMap(\.sent)
        #expect(opened.map(\.kind) == [.end, .offer])
        bench.take(.received(.error(opened[0].id, code: "not_found")))
        bench.take(
            .received(.ack(opened[1].id, Ack(callID: ClientBench.call("c1"), epoch: 1, seq: 1_025)))
        )
        #expect(bench.client.calls.last?.epoch == 1 && bench.phase == .calling)
        let later = bench.handleDeadlines(for: .seconds(9)).compactMap(\.sent)
        #expect(
            !later.contains { $0.kind == .end && $0.epoch == 1 },
            "the end of the previous call ends the redial"
        )
    }

    @Test("If the server accepted the answer to a replaced offer, the device makes a new offer or ends the call")
    func answerToReplacedOffer() throws {
        var bench = ClientBench()
        _ = bench.offered()
        bench.take(.answer(ClientBench.uuid()))
        bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0 answer"))
        bench.acknowledgeAll()
        // The caller's app was killed and dialled again while the call rang. Our answer reached the server just after
        // the new offer.
        _ = bench.signal(.offer(.init(sdp: "v=0 of the new run", hasVideo: false)), id: "q-1")
        let sent = bench.take(.localDescription(ClientBench.uuid(), round: 2, .answer, sdp: "v=0 answer 2"))
        let second = try #require(sent.compactMap(\.sent).last)
        #expect(second.kind == .answer)
        let after = bench.take(.received(.error(second.id, code: "already_answered")))
        let makesOffer = after.contains { if case .makeOffer = $0 { true } else { false } }
        #expect(makesOffer || bench.phase == .ended, "the two sides keep different descriptions for ever")
    }

    @Test("An end that came before the epoch was known is applied once it is known", arguments: [true, false])
    func earlyEnd(byRequest: Bool) throws {
        var bench = ClientBench()
        bench.start()
        let offer = try #require(bench.history.compactMap(\.sent).last)
        #expect(
            bench.event(.init(.ended, reason: .busy), epoch: 2).ends.isEmpty,
            "the event may be about another call under the callId"
        )
        let receipt = Ack(callID: ClientBench.call("c1"), epoch: 2, seq: 1, state: byRequest ? .ringing : nil)
        let outputs = bench.take(byRequest ? .posted(offer.id, .success(receipt)) : .received(.ack(offer.id, receipt)))
        #expect(outputs.ends == [.remoteEnded] && bench.phase == .ended)
    }

    @Test("After the connection was closed for a while, the log of a call is fetched until a response arrives")
    func missed() throws {
        var bench = ClientBench()
        _ = bench.offered()
        bench.take(.connectionClosed)
        var asked = bench.take(.connectionOpened).compactMap(\.fetched)
        bench.take(.fetched(try #require(asked.last), .failure(.unreachable)))
        asked = bench.handleDeadlines(for: .seconds(3)).compactMap(\.fetched)
        let over = FetchedCall(callID: ClientBench.call("c1"), epoch: 1, state: .ended, reason: .declined)
        bench.take(.fetched(try #require(asked.last), .success(over)))
        #expect(bench.phase == .ended)
    }
}
