import CallClient
import CallCore
import Testing

@Suite("A call's course")
struct CourseTests {
    @Test("from the caller's side: offer, ringing, answer, media")
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

    @Test("a signal that comes twice is applied once: by its number, and by the name its sender gave it")
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

    @Test("sound starts only when the session is active and the call is answered, whichever comes first")
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

    @Test("hold and mute are told once each, and those of the other side are kept apart")
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

    @Test("what was muted before the answer is told with it")
    func mutedBefore() throws {
        var bench = Bench()
        _ = bench.offered()
        #expect(bench.take(.setMuted(Bench.uuid(), audio: true)).sent.isEmpty)
        bench.take(.answer(Bench.uuid()))
        #expect(bench.take(.localDescription(Bench.uuid(), round: 1, .answer, sdp: "v=0")).sent == [.answer, .update])
    }

    @Test("a provider reset ends every call, tells the server, and reports nothing")
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
        "the end that the user wants has the reason that fits",
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

    @Test("an end that crosses another changes nothing")
    func crossingEnds() {
        var bench = Bench.talking()
        bench.take(.end(Bench.uuid()))
        #expect(bench.signal(.end(.hangup)).isEmpty)
        #expect(bench.event(.init(.ended, reason: .hangup)).isEmpty)
        #expect(bench.take(.end(Bench.uuid())).isEmpty)
        #expect(bench.take(.answer(Bench.uuid())) == [.refused(Bench.uuid(), .unknownCall)])
    }

    @Test("a second call is refused when there may be only one, and holds the first when there may be two")
    func second() {
        var one = Bench.talking { $0.maximumCallGroups = 1 }
        #expect(one.start("c2", to: "12") == [.refused(Bench.ownUUID, .tooManyCalls)])
        var two = Bench.talking()
        #expect(two.start("c2", to: "12").contains(.holdMedia(Bench.uuid(), true)))
    }

    @Test("an offer that reaches no server is given up when ringing would have stopped")
    func unreachable() {
        var bench = Bench(isOpen: false)
        bench.start()
        #expect(bench.pass(.seconds(51)).ends == [.unanswered])
    }

    @Test("the memory of calls that are over is bounded")
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

@Suite("Two who call each other at once")
struct GlareTests {
    @Test("are both in the call whose id comes first: the loser answers it at once, under the UUID it has")
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

    @Test("and the loser learns it from the server first: it fetches the winner and answers")
    func told() throws {
        var bench = Bench()
        let offer = try #require(bench.start("m").compactMap(\.sent).first)
        let outcome = Acceptance(epoch: 1, state: .ended, reason: .glare, replacedBy: Bench.call("a"))
        let outputs = bench.take(.received(.ack(offer.id, outcome)))
        #expect(outputs.compactMap(\.fetched).count == 1 && outputs.ends.isEmpty)
        #expect(bench.offered(call: "a").contains(.makeAnswer(Bench.ownUUID, round: 2)))
    }

    @Test("and the loser learns it from a push: it reports, and answers")
    func pushed() {
        var bench = Bench(isOpen: false)
        bench.start("m")
        let outputs = bench.take(.pushed(Bench.push(call: "a", at: bench.now, ["offer": .string("v=0 offer")])))
        #expect(outputs.contains { if case .reportRepeated(Bench.ownUUID, _) = $0 { true } else { false } })
        #expect(outputs.contains(.makeAnswer(Bench.ownUUID, round: 2)))
    }

    @Test("and the winner shows nothing of the other call")
    func winner() {
        var bench = Bench()
        bench.start("a")
        #expect(bench.offered(call: "m").isEmpty)
        #expect(bench.phase == .shadowed)
        #expect(bench.event(.init(.ended, reason: .glare, replacedBy: Bench.call("a")), call: "m").isEmpty)
        #expect(bench.client.calls.first?.phase.name == .calling)
    }

    @Test("and the winner's call comes to nothing: the other one rings after all")
    func hushed() {
        var bench = Bench()
        bench.start("a")
        _ = bench.offered(call: "m")
        #expect(bench.take(.end(Bench.ownUUID)).reported == [Bench.uuid("m")])
    }

    @Test("and the server lets both ring, for ours is hidden: the other one rings here too")
    func hidden() throws {
        var bench = Bench()
        bench.start("a")
        _ = bench.offered(call: "m")
        bench.acknowledgeAll()
        let number = try #require(bench.pass(.seconds(1)).compactMap(\.fetched).first)
        let log = FetchedCall(callID: Bench.call("m"), epoch: 1, state: .ringing)
        #expect(bench.take(.fetched(number, .success(log))).reported == [Bench.uuid("m")])
    }

    @Test("under one name: the one whose offer is refused answers the other's")
    func sameName() throws {
        var bench = Bench()
        let offer = try #require(bench.start("x").compactMap(\.sent).first)
        bench.take(.received(.error(offer.id, code: "call_exists")))
        let outputs = bench.offered(call: "x")
        #expect(outputs.contains(.makeAnswer(Bench.ownUUID, round: 2)))
        #expect(!bench.history.sent.contains(.end))
    }

    @Test("where one rings already: to call back is to answer")
    func callBack() {
        var bench = Bench()
        _ = bench.offered(call: "m")
        let outputs = bench.start("a")
        #expect(outputs.contains(.refused(Bench.ownUUID, .answeredInstead(Bench.uuid("m")))))
        #expect(outputs.contains(.makeAnswer(Bench.uuid("m"), round: 1)))
    }
}
