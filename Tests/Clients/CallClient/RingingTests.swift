import CallClient
import CallCore
import Testing

@Suite("An incoming call")
struct RingingTests {
    @Test("A call that comes over the connection is reported once, and the caller is notified that it rings")
    func connection() {
        var bench = ClientBench()
        let outputs = bench.offered()
        #expect(outputs.reported == [ClientBench.uuid()])
        #expect(outputs.sent == [.ringing])
        #expect(bench.offered(epoch: 1).reported.isEmpty)
    }

    @Test("A call that comes by push and over the connection is reported once, in either order")
    func both() {
        var first = ClientBench()
        _ = first.take(.pushed(ClientBench.push(at: first.now)))
        #expect(first.offered().reported.isEmpty)
        var second = ClientBench()
        _ = second.offered()
        let outputs = second.take(.pushed(ClientBench.push(at: second.now)))
        #expect(outputs.reported.isEmpty)
        #expect(outputs.contains { if case .reportRepeated(ClientBench.uuid(), _) = $0 { true } else { false } })
    }

    @Test("A call whose callId is a UUID is one call in either case, by push, connection and end")
    func uuidInEitherCase() {
        let id = "39f2ba8b-ca8e-44ce-9c66-c320fe41aaad"
        var bench = ClientBench()
        let reported = bench.offered(call: id).reported
        #expect(reported.count == 1)
        #expect(bench.take(.pushed(ClientBench.push(call: id.uppercased(), at: bench.now))).reported.isEmpty)
        #expect(bench.event(.init(.ended, reason: .cancelled), call: id.uppercased()).ends.count == 1)
    }

    @Test("A call whose push has no UUID is reported under the UUID that client and server compute")
    func computed() {
        var bench = ClientBench()
        let push = ClientBench.push(epoch: 3, at: bench.now, ["callUUID": .null])
        #expect(bench.take(.pushed(push)).reported == [ClientBench.uuid("c1", epoch: 3)])
    }

    @Test("A call that the user answers before its offer has arrived is answered once the log is fetched")
    func earlyAnswer() {
        var bench = ClientBench(isOpen: false)
        let pushed = bench.take(.pushed(ClientBench.push(at: bench.now)))
        let number = pushed.compactMap(\.fetched).first
        #expect(number != nil)
        #expect(!bench.take(.answer(ClientBench.uuid())).contains { $0.isMakeAnswer })
        guard let number else { return }
        let envelope = ServerMessage.Envelope(
            callID: ClientBench.call("c1"),
            epoch: 1,
            seq: 1,
            from: ClientBench.user("11"),
            fromDevice: ClientBench.device("peer")
        )
        let log = FetchedCall(
            callID: ClientBench.call("c1"),
            epoch: 1,
            state: .ringing,
            signals: [.signal(envelope, .offer(IncomingOffer(sdp: "v=0 offer")))],
            next: 1
        )
        let outputs = bench.take(.fetched(number, .success(log)))
        #expect(
            outputs.prefix(2) == [
                .setRemoteDescription(ClientBench.uuid(), .offer, sdp: "v=0 offer"),
                .makeAnswer(ClientBench.uuid(), round: 1),
            ]
        )
    }

    @Test("The push's copy of the offer is answered, and the log's copy leads to no further answer")
    func pushedOffer() {
        var bench = ClientBench()
        bench.take(.pushed(ClientBench.push(at: bench.now, ["offer": .string("v=0 offer")])))
        #expect(bench.take(.answer(ClientBench.uuid())).contains(.makeAnswer(ClientBench.uuid(), round: 1)))
        #expect(!bench.offered().contains { $0.isMakeAnswer })
    }

    @Test("After an answer to the push's copy of an offer, log entries before that offer change nothing (I4, I5)")
    func pushedSecondOffer() {
        var bench = ClientBench()
        bench.take(.pushed(ClientBench.push(at: bench.now, ["offer": .string("v=0 second")])))
        bench.take(.answer(ClientBench.uuid()))
        #expect(bench.signal(.offer(IncomingOffer(sdp: "v=0 first", round: 1)), device: "phone").isEmpty)
        #expect(bench.signal(.ice("{\"n\":1}", round: 1), device: "phone").isEmpty)
        #expect(bench.signal(.ice("{\"n\":2}", round: 1), device: "tablet").isEmpty)
        let outputs = bench.signal(.offer(IncomingOffer(sdp: "v=0 second", round: 1)), device: "tablet")
        #expect(outputs == [.addRemoteCandidate(ClientBench.uuid(), "{\"n\":2}")])
    }

    @Test("After an answer to the push's copy of an offer, another offer at the end of the log is answered anew")
    func pushedFirstOffer() throws {
        var bench = ClientBench()
        let number = try #require(
            bench.take(.pushed(ClientBench.push(at: bench.now, ["offer": .string("v=0 first")]))).compactMap(\.fetched)
                .first
        )
        bench.take(.answer(ClientBench.uuid()))
        #expect(bench.signal(.offer(IncomingOffer(sdp: "v=0 second", round: 2))).isEmpty)
        let log = FetchedCall(callID: ClientBench.call("c1"), epoch: 1, state: .ringing, signals: [], next: 1)
        let outputs = bench.take(.fetched(number, .success(log)))
        #expect(outputs.contains(.setRemoteDescription(ClientBench.uuid(), .offer, sdp: "v=0 second")))
    }

    @Test("A ring stops by its own timer without any message")
    func timer() {
        var bench = ClientBench()
        _ = bench.offered(rings: .seconds(20))
        #expect(bench.handleDeadlines(for: .milliseconds(24_999)).ends.isEmpty)
        #expect(bench.handleDeadlines(for: .milliseconds(1)).ends == [.unanswered])
        #expect(bench.phase == .ended)
    }

    @Test("A ring stops by its own timer even if the device's clock is far behind the server's clock")
    func slowClock() {
        var bench = ClientBench(isOpen: false)
        let server = bench.now + .seconds(600)
        bench.take(.pushed(ClientBench.push(at: server, rings: .seconds(20))))
        #expect(bench.handleDeadlines(for: .seconds(25)).ends == [.unanswered])
    }

    @Test("A push does not count as late if the device's clock is known to be ahead")
    func fastClock() {
        var bench = ClientBench { $0.clockSkew = .seconds(300) }
        let server = Moment(milliseconds: bench.now.milliseconds - 300_000)
        let outputs = bench.take(.pushed(ClientBench.push(at: server)))
        #expect(outputs.reported.count == 1 && outputs.ends.isEmpty)
    }

    @Test(
        "An end by the other side or by another device is reported with its reason",
        arguments: [
            (EndReason.answeredElsewhere, ReportedEnd.answeredElsewhere), (.declinedElsewhere, .declinedElsewhere),
            (.cancelled, .remoteEnded), (.unanswered, .unanswered), (.failed, .failed), (.disconnected, .failed),
            (.busy, .remoteEnded), (.replaced, .remoteEnded), (.hangup, .remoteEnded), (.declined, .remoteEnded),
        ]
    )
    func elsewhere(_ reason: EndReason, _ reported: ReportedEnd) {
        var bench = ClientBench()
        _ = bench.offered()
        #expect(bench.event(.init(.ended, reason: reason)).ends == [reported])
        #expect(bench.event(.init(.ended, reason: reason)).isEmpty)
    }

    @Test("If another device answers a call first, the call ends here as answered elsewhere")
    func lostAnswer() throws {
        var bench = ClientBench()
        _ = bench.offered()
        bench.take(.answer(ClientBench.uuid()))
        let sent = bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0"))
        let answer = try #require(sent.compactMap(\.sent).first { $0.kind == .answer })
        let outputs = bench.take(.received(.error(answer.id, code: "already_answered")))
        #expect(outputs.ends == [.answeredElsewhere])
        #expect(outputs.contains(.closeMedia(ClientBench.uuid())))
    }

    @Test("A call over the allowed number is refused as busy and not shown")
    func busy() throws {
        var bench = ClientBench.talking { $0.maximumCallGroups = 1 }
        let outputs = bench.offered(call: "c2", from: "12", isWaiting: true)
        #expect(outputs.reported.isEmpty)
        let end = try #require(outputs.compactMap(\.sent).first)
        #expect(end.content == .end(.busy))
    }

    @Test("A pushed call over the allowed number is reported, ends immediately, and is refused as busy")
    func busyPush() {
        var bench = ClientBench.talking { $0.maximumCallGroups = 1 }
        let push = ClientBench.push(call: "c2", at: bench.now, ["fromUserId": .string("12"), "handle": .string("12")])
        let outputs = bench.take(.pushed(push))
        #expect(outputs.reported == [ClientBench.uuid("c2")] && outputs.ends == [.remoteEnded])
        #expect(outputs.sent == [.end])
    }

    @Test("An answer to a second call puts the first on hold")
    func holds() {
        var bench = ClientBench.talking()
        _ = bench.take(.audioActivated)
        #expect(bench.offered(call: "c2", from: "12", isWaiting: true).reported == [ClientBench.uuid("c2")])
        let outputs = bench.take(.answer(ClientBench.uuid("c2")))
        #expect(
            outputs.contains(.holdMedia(ClientBench.uuid(), true)) && outputs.contains(.stopAudio(ClientBench.uuid()))
        )
        #expect(outputs.sent == [.update])
    }

    @Test("An offer under a callId that was used before is a new call, which the old call's signals do not affect")
    func nextEpoch() {
        var bench = ClientBench()
        _ = bench.offered(epoch: 1)
        _ = bench.event(.init(.ended, reason: .cancelled))
        #expect(bench.offered(epoch: 2).reported == [ClientBench.uuid("c1", epoch: 2)])
        #expect(bench.event(.init(.ended, reason: .cancelled), epoch: 1).isEmpty)
        #expect(bench.signal(.end(.cancelled), epoch: 1).isEmpty)
        #expect(bench.phase == .ringing)
    }

    @Test("An offer under the callId of a live call replaces that call")
    func replaced() {
        var bench = ClientBench.talking()
        let outputs = bench.offered(epoch: 2)
        #expect(outputs.ends == [.remoteEnded] && outputs.reported == [ClientBench.uuid("c1", epoch: 2)])
    }

    @Test("A call that an earlier launch of the app answered is ended, even if this launch calls the same peer")
    func answeredBeforeCrossing() {
        var bench = ClientBench()
        bench.take(.connectionOpened)
        bench.take(
            .startCall(
                .init(
                    uuid: ClientBench.ownUUID,
                    callID: ClientBench.call("z"),
                    to: ClientBench.user("11"),
                    hasVideo: false
                )
            )
        )
        _ = bench.offered(call: "c1")
        _ = bench.event(.init(.answered, answeredBy: ClientBench.device("phone")))
        #expect(bench.client.calls.allSatisfy { !$0.isLive })
        #expect(
            bench.history.compactMap(\.sent).contains {
                $0.callID == ClientBench.call("c1") && $0.content == .end(.disconnected)
            }
        )
    }

    @Test("A call that an earlier launch of the app answered is ended when this launch's answer is refused")
    func answeredTwice() throws {
        var bench = ClientBench()
        bench.take(.connectionOpened)
        _ = bench.offered()
        bench.take(.answer(ClientBench.uuid()))
        bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0"))
        let answer = try #require(bench.history.compactMap(\.sent).last { $0.kind == .answer })
        // The event may be the effect of the answer that this launch has sent.
        #expect(bench.event(.init(.answered, answeredBy: ClientBench.device("phone"))).isEmpty)
        bench.take(.received(.error(answer.id, code: "already_answered")))
        #expect(bench.history.compactMap(\.sent).last?.content == .end(.disconnected))
    }

    @Test("A call that has ended here is ended on the server if the server says that this device is in the call")
    func callOfKilledApp() {
        var bench = ClientBench()
        bench.take(.connectionOpened)
        _ = bench.offered()
        _ = bench.event(.init(.ended, reason: .answeredElsewhere))
        let before = bench.history.compactMap(\.sent).count
        _ = bench.event(.init(.active, answeredBy: ClientBench.device("tablet")))
        #expect(bench.history.compactMap(\.sent).count == before)
        _ = bench.event(.init(.active, answeredBy: ClientBench.device("phone")))
        #expect(bench.history.compactMap(\.sent).last?.content == .end(.disconnected))
    }

    @Test("A call of an earlier launch of the app is ended on the server")
    func orphan() {
        var bench = ClientBench()
        let outputs = bench.event(.init(.active, answeredBy: ClientBench.device("phone")))
        #expect(outputs.compactMap(\.sent).map(\.content) == [.end(.disconnected)])
        #expect(outputs.reported.isEmpty)
    }

    @Test("A call of an earlier launch of the app is ended again if a crash lost its end")
    func orphanAfterCrash() throws {
        var bench = ClientBench()
        bench.take(.connectionOpened)
        let end = try #require(bench.event(.init(.ringing)).compactMap(\.sent).first)
        bench.take(.received(.error(end.id, code: "call_ended")))
        #expect(bench.event(.init(.active, answeredBy: ClientBench.device("peer"))).sent == [.end])
    }

    @Test("A call of an earlier launch is ended even if a crash gave it the epoch of a call that has ended here")
    func orphanUnderAnEndedEpoch() throws {
        var bench = ClientBench()
        bench.take(.connectionOpened)
        _ = bench.offered()
        _ = bench.event(.init(.ended, reason: .answeredElsewhere))
        let end = try #require(bench.event(.init(.ringing)).compactMap(\.sent).first)
        #expect(end.content == .end(.disconnected))
        bench.take(.received(.error(end.id, code: "call_ended")))
        #expect(bench.event(.init(.active, answeredBy: ClientBench.device("peer"))).sent == [.end])
    }

    @Test("A call of an earlier launch is not confused with the call that is being prepared under its callId")
    func orphanOfTheSameName() {
        var bench = ClientBench()
        bench.take(
            .startCall(
                .init(
                    uuid: ClientBench.ownUUID,
                    callID: ClientBench.call("c1"),
                    to: ClientBench.user("11"),
                    hasVideo: false
                )
            )
        )
        let outputs = bench.event(.init(.ringing)) + bench.signal(.offer(.init(sdp: "v=0 again", hasVideo: false)))
        #expect(outputs.sent == [.end], "the earlier one is over, and its renegotiation does not ring")
        #expect(outputs.reported.isEmpty)
        bench.take(.localDescription(ClientBench.ownUUID, round: 1, .offer, sdp: "v=0"))
        #expect(bench.history.compactMap(\.sent).last?.kind == .offer)
    }

    @Test("The id of the first offer distinguishes a call of an earlier launch from the call that this launch begins")
    func orphanOfTheSameNameUnderWay() throws {
        var bench = ClientBench()
        bench.start()
        let offer = try #require(bench.history.compactMap(\.sent).last)
        #expect(bench.event(.init(.ringing, offerID: SignalID("of-before"))).sent == [.end])
        #expect(bench.signal(.answer(sdp: "v=0 to the earlier offer", round: 1)).isEmpty)
        #expect(bench.phase == .ended && bench.client.calls.first?.phase.name == .calling)
        #expect(bench.event(.init(.ringing, offerID: offer.id), epoch: 2).isEmpty)
        let set = bench.signal(.answer(sdp: "v=0 answer", round: 1), epoch: 2)
        #expect(set.first == .setRemoteDescription(ClientBench.ownUUID, .answer, sdp: "v=0 answer"))
    }

    @Test("A live call under the callId of a call whose offer was refused is ended on the server")
    func orphanAfterRefusal() throws {
        var bench = ClientBench()
        bench.start()
        let offer = try #require(bench.history.compactMap(\.sent).first { $0.kind == .offer })
        bench.take(.received(.error(offer.id, code: "already_answered")))
        #expect(bench.client.calls.allSatisfy { !$0.isLive })
        #expect(bench.event(.init(.ringing), epoch: 2).sent == [.end])
    }

    @Test("An outgoing call that was replaced here is ended on the server if the server lost its end")
    func replacedCallOfKilledApp() {
        var bench = ClientBench.talkingAsCaller()
        _ = bench.event(.init(.ended, reason: .replaced))
        #expect(bench.event(.init(.active, answeredBy: ClientBench.device("peer"))).sent == [.end])
    }

    @Test("An offer beyond the limit of calls that an outgoing call hides changes no earlier call under its callId")
    func crossingTooMany() throws {
        var bench = ClientBench()
        _ = bench.offered(call: "z")
        _ = bench.event(.init(.ended, reason: .cancelled), call: "z")
        let before = try #require(bench.client.calls.first { $0.callID == ClientBench.call("z") })
        bench.start("a")
        for callID in ["b", "c", "d", "e"] { _ = bench.offered(call: callID) }
        #expect(bench.client.calls.count { $0.phase.name == .hiddenByOutgoingCall } == ClientLimits.hiddenCalls)
        #expect(bench.offered(call: "z", epoch: 2).reported.isEmpty)
        #expect(bench.client.calls.filter { $0.callID == before.callID } == [before])
    }

    @Test("The loser of a glare does not wait for a winning call that it refused before")
    func refusedWinner() throws {
        var bench = ClientBench()
        _ = bench.offered(epoch: 2)
        bench.take(.end(ClientBench.uuid(epoch: 2), .busy))
        bench.start("z")
        _ = bench.event(.init(.ringing), call: "z")
        _ = bench.event(.init(.ended, reason: .glare, replacedBy: ClientBench.call("c1")), call: "z")
        let fetch = try #require(bench.history.compactMap(\.fetched).last)
        #expect(bench.phase == .answering)
        let log = FetchedCall(callID: ClientBench.call("c1"), epoch: 2, state: .ended, reason: .busy)
        bench.take(.fetched(fetch, .success(log)))
        #expect(bench.client.calls.allSatisfy { !$0.isLive })
    }
}

extension CallClient.Output {
    var isMakeAnswer: Bool { if case .makeAnswer = self { true } else { false } }
}
