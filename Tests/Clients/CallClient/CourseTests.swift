import CallClient
import CallCore
import Testing

@Suite("The course of a call")
struct CourseTests {
    @Test("An outgoing call goes through offer, ringing, answer, media and end")
    func caller() throws {
        var bench = ClientBench()
        let started = bench.start()
        #expect(started.contains(.makeOffer(ClientBench.ownUUID, round: 1, hasVideo: false, restartsICE: false)))
        #expect(started.sent == [.offer])
        _ = bench.event(.init(.ringing))
        #expect(bench.signal(.ringing) == [.peerRinging(ClientBench.ownUUID)])
        #expect(bench.signal(.ringing, device: "another").isEmpty)
        #expect(bench.signal(.answer(sdp: "v=0 a", round: 1)).contains(.reportConnecting(ClientBench.ownUUID)))
        let connected = bench.take(.mediaConnected(ClientBench.ownUUID))
        #expect(connected.contains(.reportConnected(ClientBench.ownUUID)) && connected.sent.contains(.connected))
        #expect(bench.take(.mediaConnected(ClientBench.ownUUID)).isEmpty)
        #expect(bench.signal(.end(.hangup)).ends == [.remoteEnded])
    }

    @Test("A signal that comes twice is applied once: it is recognized by its `seq`, or by its device and `id`")
    func once() {
        var bench = ClientBench.talkingAsCaller()
        #expect(bench.signal(.dtmf("1"), seq: 50, id: "a") == [.receivedDTMF(ClientBench.ownUUID, "1")])
        #expect(bench.signal(.dtmf("1"), seq: 50, id: "a").isEmpty)
        #expect(bench.signal(.dtmf("1"), seq: 1_080, id: "a").isEmpty)
        #expect(bench.signal(.dtmf("1"), seq: 1_081, device: "other", id: "a").count == 1)
        #expect(bench.signal(.dtmf("2"), seq: 60, id: "b").isEmpty)
        #expect(bench.signal(.dtmf("3"), seq: 2_000).count == 1)
        #expect(bench.signal(.dtmf("3"), seq: 2_000).isEmpty)
    }

    @Test("Audio flows only while the audio session is active and the call is answered and not on hold")
    func audio() {
        var bench = ClientBench()
        _ = bench.offered()
        #expect(!bench.take(.audioActivated).contains(.startAudio(ClientBench.uuid())))
        #expect(!bench.take(.answer(ClientBench.uuid())).contains(.startAudio(ClientBench.uuid())))
        let answered = bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0"))
        #expect(answered.contains(.startAudio(ClientBench.uuid())))
        #expect(bench.take(.audioDeactivated) == [.stopAudio(ClientBench.uuid())])
        #expect(bench.take(.audioActivated) == [.startAudio(ClientBench.uuid())])
        #expect(bench.take(.setHeld(ClientBench.uuid(), true)).contains(.stopAudio(ClientBench.uuid())))
        #expect(bench.take(.setHeld(ClientBench.uuid(), false)).contains(.startAudio(ClientBench.uuid())))
        let ended = bench.signal(.end(nil))
        #expect(ended.contains(.stopAudio(ClientBench.uuid())))
    }

    @Test("Hold and mute are sent once each, and the peer's states are kept apart from this side's states")
    func media() {
        var bench = ClientBench.talking()
        #expect(bench.take(.setMuted(ClientBench.uuid(), audio: true)).sent == [.update])
        #expect(bench.take(.setMuted(ClientBench.uuid(), audio: true)).isEmpty)
        #expect(bench.take(.setHeld(ClientBench.uuid(), true)).sent == [.update])
        #expect(bench.take(.setHeld(ClientBench.uuid(), true)).isEmpty)
        let update = MediaUpdate(hold: true)
        #expect(bench.signal(.update(update)) == [.peerMedia(ClientBench.uuid(), update)])
        #expect(bench.signal(.update(update)).isEmpty)
        #expect(bench.client.calls.last?.media == MediaUpdate(hold: true, audioMuted: true))
    }

    @Test("A mute that the user set before the answer is sent right after the answer")
    func mutedBefore() throws {
        var bench = ClientBench()
        _ = bench.offered()
        #expect(bench.take(.setMuted(ClientBench.uuid(), audio: true)).sent.isEmpty)
        bench.take(.answer(ClientBench.uuid()))
        #expect(
            bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0")).sent == [.answer, .update]
        )
    }

    @Test("A provider reset ends every call, notifies the server, and reports nothing to the system")
    func reset() {
        var bench = ClientBench.talking()
        _ = bench.offered(call: "c2", from: "12", isWaiting: true)
        bench.take(.audioActivated)
        let outputs = bench.take(.providerReset)
        #expect(outputs.sent == [.end, .end] && outputs.ends.isEmpty)
        #expect(outputs.contains(.stopAudio(ClientBench.uuid())) && outputs.contains(.closeMedia(ClientBench.uuid())))
        #expect(bench.client.calls.allSatisfy { !$0.isLive } && !bench.client.isAudioSessionActive)
    }

    @Test(
        "An end by the user gets the reason that fits the phase and the side",
        arguments: [
            (nil, EndReason.declined), (.busy, .busy), (.hangup, .declined), (.failed, .failed), (.glare, .declined),
        ] as [(EndReason?, EndReason)]
    )
    func reasons(_ wish: EndReason?, _ told: EndReason) {
        var bench = ClientBench()
        _ = bench.offered()
        let outputs = bench.take(.end(ClientBench.uuid(), wish))
        #expect(outputs.compactMap(\.sent).last?.content == .end(told) && outputs.ends.isEmpty)
        var talking = ClientBench.talkingAsCaller()
        let hangup = talking.take(.end(ClientBench.ownUUID, .cancelled)).compactMap(\.sent).last
        #expect(hangup?.content == .end(.hangup))
    }

    @Test("The peer's end, if it comes after this device's own end, changes nothing")
    func crossingEnds() {
        var bench = ClientBench.talking()
        bench.take(.end(ClientBench.uuid()))
        #expect(bench.signal(.end(.hangup)).isEmpty)
        #expect(bench.event(.init(.ended, reason: .hangup)).isEmpty)
        #expect(bench.take(.end(ClientBench.uuid())).isEmpty)
        #expect(bench.take(.answer(ClientBench.uuid())) == [.refused(ClientBench.uuid(), .unknownCall)])
    }

    @Test("A second call is refused if only one call is allowed, and puts the first on hold if two calls are allowed")
    func second() {
        var one = ClientBench.talking { $0.maximumCallGroups = 1 }
        #expect(one.start("c2", to: "12") == [.refused(ClientBench.ownUUID, .tooManyCalls)])
        var two = ClientBench.talking()
        #expect(two.start("c2", to: "12").contains(.holdMedia(ClientBench.uuid(), true)))
    }

    @Test("An offer that reaches no server is given up at the time at which its ring would have ended")
    func unreachable() {
        var bench = ClientBench(isOpen: false)
        bench.start()
        #expect(bench.handleDeadlines(for: .seconds(51)).ends == [.unanswered])
    }

    @Test("The number of ended calls that are remembered is limited")
    func bounded() {
        var bench = ClientBench()
        for number in 0..<500 {
            _ = bench.offered(call: "c\(number)", from: "12")
            _ = bench.event(.init(.ended, reason: .cancelled), call: "c\(number)")
            bench.take(.end(ClientBench.uuid("c\(number)")))
        }
        #expect(bench.client.calls.count <= ClientLimits.endedCalls)
        #expect(bench.client.unacknowledgedCount <= ClientLimits.endedCalls)
    }
}

@Suite("A glare")
struct GlareTests {
    @Test("The device whose call loses answers the winning call immediately, under the UUID of its own call")
    func loser() {
        var bench = ClientBench()
        bench.start("m")
        let outputs = bench.offered(call: "a")
        #expect(outputs.reported.isEmpty && outputs.ends.isEmpty)
        #expect(outputs.contains(.rollback(ClientBench.ownUUID)))
        #expect(outputs.contains(.makeAnswer(ClientBench.ownUUID, round: 2)))
        let made = bench.take(.localDescription(ClientBench.ownUUID, round: 2, .answer, sdp: "v=0"))
        #expect(made.sent == [.answer] && made.contains(.reportConnecting(ClientBench.ownUUID)))
        #expect(bench.event(.init(.ended, reason: .glare, replacedBy: ClientBench.call("a")), call: "m").isEmpty)
        #expect(bench.client.calls.last?.callID == ClientBench.call("a") && bench.phase == .connecting)
    }

    @Test("If an ack names the winning call before that call's offer comes, the loser fetches the call and answers")
    func told() throws {
        var bench = ClientBench()
        let offer = try #require(bench.start("m").compactMap(\.sent).first)
        let outcome = Ack(epoch: 1, state: .ended, reason: .glare, replacedBy: ClientBench.call("a"))
        let outputs = bench.take(.received(.ack(offer.id, outcome)))
        #expect(outputs.compactMap(\.fetched).count == 1 && outputs.ends.isEmpty)
        #expect(bench.offered(call: "a").contains(.makeAnswer(ClientBench.ownUUID, round: 2)))
    }

    @Test("If a push brings the winning call, the loser reports its own call again and answers the winning call")
    func pushed() {
        var bench = ClientBench(isOpen: false)
        bench.start("m")
        let outputs = bench.take(.pushed(ClientBench.push(call: "a", at: bench.now, ["offer": .string("v=0 offer")])))
        #expect(outputs.contains { if case .reportRepeated(ClientBench.ownUUID, _) = $0 { true } else { false } })
        #expect(outputs.contains(.makeAnswer(ClientBench.ownUUID, round: 2)))
    }

    @Test("The device whose call wins shows nothing of the other call")
    func winner() {
        var bench = ClientBench()
        bench.start("a")
        #expect(bench.offered(call: "m").isEmpty)
        #expect(bench.phase == .hiddenByOutgoingCall)
        #expect(bench.event(.init(.ended, reason: .glare, replacedBy: ClientBench.call("a")), call: "m").isEmpty)
        #expect(bench.client.calls.first?.phase.name == .calling)
    }

    @Test("The losing call rings after all when the winning call is given up")
    func hiddenCall() {
        var bench = ClientBench()
        bench.start("a")
        _ = bench.offered(call: "m")
        #expect(bench.take(.end(ClientBench.ownUUID)).reported == [ClientBench.uuid("m")])
    }

    @Test("If the server hides this device's winning call and lets the other call ring, the other call rings here too")
    func hidden() throws {
        var bench = ClientBench()
        bench.start("a")
        _ = bench.offered(call: "m")
        bench.acknowledgeAll()
        let number = try #require(bench.handleDeadlines(for: .seconds(1)).compactMap(\.fetched).first)
        let log = FetchedCall(callID: ClientBench.call("m"), epoch: 1, state: .ringing)
        #expect(bench.take(.fetched(number, .success(log))).reported == [ClientBench.uuid("m")])
    }

    @Test("If both users choose the same callId, the user whose offer is refused answers the other user's offer")
    func sameName() throws {
        var bench = ClientBench()
        let offer = try #require(bench.start("x").compactMap(\.sent).first)
        bench.take(.received(.error(offer.id, code: "call_exists")))
        let outputs = bench.offered(call: "x")
        #expect(outputs.contains(.makeAnswer(ClientBench.ownUUID, round: 2)))
        #expect(!bench.history.sent.contains(.end))
    }

    @Test(
        "A refusal of an earlier try does not end a call whose offer the server has accepted since",
        arguments: ["call_exists", "call_ended", "already_answered"]
    )
    func overtakenRefusal(_ code: String) throws {
        var bench = ClientBench(isOpen: false)
        let offer = try #require(bench.start("x").compactMap(\.posted).first)
        let again = try #require(bench.take(.connectionOpened).compactMap(\.sent).first)
        #expect(again.id == offer.id)
        _ = bench.event(.init(.ringing, offerID: offer.id), call: "x", epoch: 2)
        bench.take(.posted(offer.id, .failure(.refused(code: code))))
        #expect(bench.phase == .calling)
        bench.take(.received(.ack(offer.id, Ack(callID: offer.callID, epoch: 2, seq: 1))))
        _ = bench.signal(.answer(sdp: "v=0 answer", round: nil), call: "x", epoch: 2)
        #expect(bench.phase == .connecting)
    }

    @Test(
        "A call that the app's backend refuses, or does not decide, ends as failed, and is not offered again",
        arguments: ["refused_by_app", "decision_unavailable"]
    )
    func undecided(_ code: String) throws {
        var bench = ClientBench()
        let offer = try #require(bench.start("x").compactMap(\.sent).first)
        #expect(bench.take(.received(.error(offer.id, code: code))).ends == [.failed])
        let later = bench.handleDeadlines(for: .seconds(60))
        #expect(later.compactMap(\.sent).isEmpty && later.compactMap(\.posted).isEmpty)
        #expect(!bench.client.wantsConnection)
    }

    @Test("If the server refuses the offer again although it had stated an epoch, the peer's call is answered")
    func refusedAgain() throws {
        var bench = ClientBench(isOpen: false)
        let offer = try #require(bench.start("x").compactMap(\.posted).first)
        bench.take(.connectionOpened)
        _ = bench.event(.init(.ringing, offerID: offer.id), call: "x")
        bench.take(.posted(offer.id, .failure(.refused(code: "call_exists"))))
        let next = try #require(bench.handleDeadlines(for: .seconds(30)).compactMap(\.posted).first)
        #expect(next.id == offer.id)
        bench.take(.posted(offer.id, .failure(.refused(code: "call_exists"))))
        #expect(bench.phase == .answering)
    }

    @Test("A call to a peer whose call already rings here answers that call")
    func callBack() {
        var bench = ClientBench()
        _ = bench.offered(call: "m")
        let outputs = bench.start("a")
        #expect(outputs.contains(.refused(ClientBench.ownUUID, .answeredInstead(ClientBench.uuid("m")))))
        #expect(outputs.contains(.makeAnswer(ClientBench.uuid("m"), round: 1)))
    }
}
