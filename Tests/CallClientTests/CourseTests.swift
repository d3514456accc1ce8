import CallClient
import CallCore
import Testing

@Suite("The course of a call")
struct CourseTests {
    @Test("An outgoing call goes through offer, ringing, answer, media and end")
    func caller() throws {
        var bench = Bench()
        let started = bench.start()
        #expect(started.contains(.makeOffer(Bench.ownUUID, round: 1, hasVideo: false, restartsICE: false)))
        #expect(started.sent == [.offer])
        _ = bench.event(.init(.ringing))
        #expect(bench.signal(.ringing) == [.peerRinging(Bench.ownUUID)])
        #expect(bench.signal(.ringing, device: "another").isEmpty)
        #expect(bench.signal(.answer(sdp: "v=0 a", round: 1)).contains(.reportConnecting(Bench.ownUUID)))
        let connected = bench.take(.mediaConnected(Bench.ownUUID))
        #expect(connected.contains(.reportConnected(Bench.ownUUID)) && connected.sent.contains(.connected))
        #expect(bench.take(.mediaConnected(Bench.ownUUID)).isEmpty)
        #expect(bench.signal(.end(.hangup)).ends == [.remoteEnded])
    }

    @Test("A signal that comes twice is applied once: it is recognized by its `seq`, or by its device and `id`")
    func once() {
        var bench = Bench.called()
        #expect(bench.signal(.dtmf("1"), seq: 50, id: "a") == [.receivedDTMF(Bench.ownUUID, "1")])
        #expect(bench.signal(.dtmf("1"), seq: 50, id: "a").isEmpty)
        #expect(bench.signal(.dtmf("1"), seq: 1_080, id: "a").isEmpty)
        #expect(bench.signal(.dtmf("1"), seq: 1_081, device: "other", id: "a").count == 1)
        #expect(bench.signal(.dtmf("2"), seq: 60, id: "b").isEmpty)
        #expect(bench.signal(.dtmf("3"), seq: 2_000).count == 1)
        #expect(bench.signal(.dtmf("3"), seq: 2_000).isEmpty)
    }

    @Test("Audio flows only while the audio session is active and the call is answered and not on hold")
    func audio() {
        var bench = Bench()
        _ = bench.offered()
        #expect(!bench.take(.audioActivated).contains(.startAudio(Bench.uuid())))
        #expect(!bench.take(.answer(Bench.uuid())).contains(.startAudio(Bench.uuid())))
        let answered = bench.take(.localDescription(Bench.uuid(), round: 1, .answer, sdp: "v=0"))
        #expect(answered.contains(.startAudio(Bench.uuid())))
        #expect(bench.take(.audioDeactivated) == [.stopAudio(Bench.uuid())])
        #expect(bench.take(.audioActivated) == [.startAudio(Bench.uuid())])
        #expect(bench.take(.setHeld(Bench.uuid(), true)).contains(.stopAudio(Bench.uuid())))
        #expect(bench.take(.setHeld(Bench.uuid(), false)).contains(.startAudio(Bench.uuid())))
        let ended = bench.signal(.end(nil))
        #expect(ended.contains(.stopAudio(Bench.uuid())))
    }

    @Test("Hold and mute are sent once each, and the peer's states are kept apart from this side's states")
    func media() {
        var bench = Bench.talking()
        #expect(bench.take(.setMuted(Bench.uuid(), audio: true)).sent == [.update])
        #expect(bench.take(.setMuted(Bench.uuid(), audio: true)).isEmpty)
        #expect(bench.take(.setHeld(Bench.uuid(), true)).sent == [.update])
        #expect(bench.take(.setHeld(Bench.uuid(), true)).isEmpty)
        let update = MediaUpdate(hold: true)
        #expect(bench.signal(.update(update)) == [.peerMedia(Bench.uuid(), update)])
        #expect(bench.signal(.update(update)).isEmpty)
        #expect(bench.client.calls.last?.media == MediaUpdate(hold: true, audioMuted: true))
    }

    @Test("A mute from before the answer is sent with the answer")
    func mutedBefore() throws {
        var bench = Bench()
        _ = bench.offered()
        #expect(bench.take(.setMuted(Bench.uuid(), audio: true)).sent.isEmpty)
        bench.take(.answer(Bench.uuid()))
        #expect(bench.take(.localDescription(Bench.uuid(), round: 1, .answer, sdp: "v=0")).sent == [.answer, .update])
    }

    @Test("A provider reset ends every call, notifies the server, and reports nothing to the system")
    func reset() {
        var bench = Bench.talking()
        _ = bench.offered(call: "c2", from: "12", isWaiting: true)
        bench.take(.audioActivated)
        let outputs = bench.take(.providerReset)
        #expect(outputs.sent == [.end, .end] && outputs.ends.isEmpty)
        #expect(outputs.contains(.stopAudio(Bench.uuid())) && outputs.contains(.closeMedia(Bench.uuid())))
        #expect(bench.client.calls.allSatisfy { !$0.isLive } && !bench.client.isAudioSessionActive)
    }

    @Test(
        "An end by the user gets the reason that fits the phase and the side",
        arguments: [
            (nil, EndReason.declined), (.busy, .busy), (.hangup, .declined), (.failed, .failed), (.glare, .declined),
        ] as [(EndReason?, EndReason)]
    )
    func reasons(_ wish: EndReason?, _ told: EndReason) {
        var bench = Bench()
        _ = bench.offered()
        let outputs = bench.take(.end(Bench.uuid(), wish))
        #expect(outputs.compactMap(\.sent).last?.content == .end(told) && outputs.ends.isEmpty)
        var talking = Bench.called()
        let hangup = talking.take(.end(Bench.ownUUID, .cancelled)).compactMap(\.sent).last
        #expect(hangup?.content == .end(.hangup))
    }

    @Test("An end that crosses another one changes nothing")
    func crossingEnds() {
        var bench = Bench.talking()
        bench.take(.end(Bench.uuid()))
        #expect(bench.signal(.end(.hangup)).isEmpty)
        #expect(bench.event(.init(.ended, reason: .hangup)).isEmpty)
        #expect(bench.take(.end(Bench.uuid())).isEmpty)
        #expect(bench.take(.answer(Bench.uuid())) == [.refused(Bench.uuid(), .unknownCall)])
    }

    @Test("A second call is refused if only one is allowed, and holds the first if two are allowed")
    func second() {
        var one = Bench.talking { $0.maximumCallGroups = 1 }
        #expect(one.start("c2", to: "12") == [.refused(Bench.ownUUID, .tooManyCalls)])
        var two = Bench.talking()
        #expect(two.start("c2", to: "12").contains(.holdMedia(Bench.uuid(), true)))
    }

    @Test("An offer that reaches no server is given up when the ring would have ended")
    func unreachable() {
        var bench = Bench(isOpen: false)
        bench.start()
        #expect(bench.pass(.seconds(51)).ends == [.unanswered])
    }

    @Test("The number of ended calls that are remembered is limited")
    func bounded() {
        var bench = Bench()
        for number in 0..<500 {
            _ = bench.offered(call: "c\(number)", from: "12")
            _ = bench.event(.init(.ended, reason: .cancelled), call: "c\(number)")
            bench.take(.end(Bench.uuid("c\(number)")))
        }
        #expect(bench.client.calls.count <= ClientLimits.endedCalls)
        #expect(bench.client.unacknowledgedCount <= ClientLimits.endedCalls)
    }
}

@Suite("A glare")
struct GlareTests {
    @Test("The loser answers the winning call immediately, under the UUID of its own call")
    func loser() {
        var bench = Bench()
        bench.start("m")
        let outputs = bench.offered(call: "a")
        #expect(outputs.reported.isEmpty && outputs.ends.isEmpty)
        #expect(outputs.contains(.rollback(Bench.ownUUID)))
        #expect(outputs.contains(.makeAnswer(Bench.ownUUID, round: 2)))
        let made = bench.take(.localDescription(Bench.ownUUID, round: 2, .answer, sdp: "v=0"))
        #expect(made.sent == [.answer] && made.contains(.reportConnecting(Bench.ownUUID)))
        #expect(bench.event(.init(.ended, reason: .glare, replacedBy: Bench.call("a")), call: "m").isEmpty)
        #expect(bench.client.calls.last?.callID == Bench.call("a") && bench.phase == .connecting)
    }

    @Test("If an ack names the winning call before its offer comes, the loser fetches that call and answers it")
    func told() throws {
        var bench = Bench()
        let offer = try #require(bench.start("m").compactMap(\.sent).first)
        let outcome = Acceptance(epoch: 1, state: .ended, reason: .glare, replacedBy: Bench.call("a"))
        let outputs = bench.take(.received(.ack(offer.id, outcome)))
        #expect(outputs.compactMap(\.fetched).count == 1 && outputs.ends.isEmpty)
        #expect(bench.offered(call: "a").contains(.makeAnswer(Bench.ownUUID, round: 2)))
    }

    @Test("If a push brings the winning call first, the loser reports its own call again and answers the winning call")
    func pushed() {
        var bench = Bench(isOpen: false)
        bench.start("m")
        let outputs = bench.take(.pushed(Bench.push(call: "a", at: bench.now, ["offer": .string("v=0 offer")])))
        #expect(outputs.contains { if case .reportRepeated(Bench.ownUUID, _) = $0 { true } else { false } })
        #expect(outputs.contains(.makeAnswer(Bench.ownUUID, round: 2)))
    }

    @Test("The winner shows nothing of the other call")
    func winner() {
        var bench = Bench()
        bench.start("a")
        #expect(bench.offered(call: "m").isEmpty)
        #expect(bench.phase == .shadowed)
        #expect(bench.event(.init(.ended, reason: .glare, replacedBy: Bench.call("a")), call: "m").isEmpty)
        #expect(bench.client.calls.first?.phase.name == .calling)
    }

    @Test("The other call rings after all when the winning call is given up")
    func hushed() {
        var bench = Bench()
        bench.start("a")
        _ = bench.offered(call: "m")
        #expect(bench.take(.end(Bench.ownUUID)).reported == [Bench.uuid("m")])
    }

    @Test("If the server hides the winner's call and lets the other call ring, the other call rings here too")
    func hidden() throws {
        var bench = Bench()
        bench.start("a")
        _ = bench.offered(call: "m")
        bench.acknowledgeAll()
        let number = try #require(bench.pass(.seconds(1)).compactMap(\.fetched).first)
        let log = FetchedCall(callID: Bench.call("m"), epoch: 1, state: .ringing)
        #expect(bench.take(.fetched(number, .success(log))).reported == [Bench.uuid("m")])
    }

    @Test("If both users choose the same callId, the user whose offer is refused answers the other user's offer")
    func sameName() throws {
        var bench = Bench()
        let offer = try #require(bench.start("x").compactMap(\.sent).first)
        bench.take(.received(.error(offer.id, code: "call_exists")))
        let outputs = bench.offered(call: "x")
        #expect(outputs.contains(.makeAnswer(Bench.ownUUID, round: 2)))
        #expect(!bench.history.sent.contains(.end))
    }

    @Test("A call to a peer whose call already rings here answers that call")
    func callBack() {
        var bench = Bench()
        _ = bench.offered(call: "m")
        let outputs = bench.start("a")
        #expect(outputs.contains(.refused(Bench.ownUUID, .answeredInstead(Bench.uuid("m")))))
        #expect(outputs.contains(.makeAnswer(Bench.uuid("m"), round: 1)))
    }
}
