import CallClient
import CallCore
import Testing

@Suite("A scheduled call, which the server itself begins")
struct ScheduledCallTests {
    static let uuid = ClientBench.uuid()
    static let schedule = IncomingSchedule(
        id: ScheduleID("s-1"),
        data: #"{"sound":"birds"}"#,
        handle: "+821012345678"
    )

    static func push(_ more: [String: PushValue] = [:], at now: Moment) -> [String: PushValue] {
        ClientBench.push(
            at: now,
            ["scheduled": .bool(true), "handle": .string("+821012345678"), "handleType": .string("phoneNumber")]
                .merging(more) { $1 }
        )
    }

    static func offer(_ bench: ClientBench) -> IncomingOffer {
        var offer = IncomingOffer(
            sdp: "",
            hasVideo: false,
            displayName: "Mina",
            callUUID: uuid,
            ringUntil: bench.now + .seconds(45)
        )
        offer.schedule = schedule
        offer.handleType = .phoneNumber
        return offer
    }

    /// Returns a device with a scheduled call that rings.
    static func ringing() -> ClientBench {
        var bench = ClientBench()
        _ = bench.signal(.offer(offer(bench)), device: "scheduler")
        return bench
    }

    private static func isForMedia(_ output: CallClient.Output) -> Bool {
        switch output {
        case .makeOffer, .makeAnswer, .setRemoteDescription, .addRemoteCandidate, .rollback, .startAudio, .stopAudio,
            .holdMedia, .muteMedia, .closeMedia:
            true
        case .reportIncoming, .reportRepeated, .reportConnecting, .reportConnected, .reportEnded, .update, .refused,
            .peerRinging, .delayed, .peerMedia, .receivedDTMF, .receivedInfo, .send, .post, .fetch, .connect,
            .renewToken,
            .tokenOfAnotherUser:
            false
        }
    }

    // MARK: From the ring to the end

    @Test("An offer rings like any other, the answer makes the call active at once, and the engine has no part in it")
    func course() throws {
        var bench = ClientBench()
        let rung = bench.signal(.offer(Self.offer(bench)), device: "scheduler")
        #expect(rung.reported == [Self.uuid] && rung.sent == [.ringing])
        let call = try #require(bench.client.calls.last)
        #expect(call.isScheduled && call.schedule == ScheduleID("s-1") && call.data == #"{"sound":"birds"}"#)
        let peer = CallClient.DisplayedPeer(
            handle: "+821012345678",
            handleType: .phoneNumber,
            name: "Mina",
            hasVideo: false
        )
        #expect(call.displayedPeer == peer)

        let answered = bench.take(.answer(Self.uuid))
        #expect(answered.sent == [.answer, .connected] && answered.compactMap(\.sent).allSatisfy { $0.epoch == 1 })
        #expect(answered.contains(.reportConnecting(Self.uuid)) && answered.contains(.reportConnected(Self.uuid)))
        #expect(bench.phase == .active && bench.client.calls.last?.isAnswered == true)
        #expect(bench.take(.answer(Self.uuid)).isEmpty, "answered already")
        bench.take(.audioActivated)
        #expect(bench.client.calls.last?.isAudioOn == true)
        bench.acknowledgeAll()
        #expect(bench.client.deadline == nil, "nothing is waited for")
        #expect(bench.handleDeadlines(for: .seconds(3_600)).isEmpty)

        #expect(bench.take(.end(Self.uuid)).sent == [.end])
        #expect(bench.client.calls.last?.reason == .hangup)
        #expect(!bench.history.contains(where: Self.isForMedia))
    }

    @Test("A push rings; the call is answered before its log has come, which then brings the data")
    func pushFirst() throws {
        var bench = ClientBench(isOpen: false)
        let pushed = bench.take(.pushed(Self.push(at: bench.now)))
        #expect(pushed.reported == [Self.uuid] && pushed.posted == [.ringing])
        let number = try #require(pushed.compactMap(\.fetched).first)
        let ringing = try #require(pushed.compactMap(\.posted).first)
        #expect(bench.client.calls.last?.isScheduled == true && bench.client.calls.last?.data == nil)
        let answered = bench.take(.answer(Self.uuid))
        #expect(answered.contains(.reportConnected(Self.uuid)) && bench.phase == .active)
        #expect(bench.take(.posted(ringing.id, .success(Ack(epoch: 1, state: .ringing)))).posted == [.answer])

        let envelope = ServerMessage.Envelope(
            callID: ClientBench.call("c1"),
            epoch: 1,
            seq: 1,
            at: bench.now,
            room: "p2p:11-10",
            from: ClientBench.user("11"),
            fromDevice: ClientBench.device("scheduler")
        )
        let log = FetchedCall(
            callID: ClientBench.call("c1"),
            epoch: 1,
            room: "p2p:11-10",
            state: .ringing,
            signals: [.signal(envelope, .offer(Self.offer(bench)))],
            next: 1
        )
        let fetched = bench.take(.fetched(number, .success(log)))
        #expect(fetched.contains { if case .update(Self.uuid, _) = $0 { true } else { false } })
        #expect(bench.client.calls.last?.data == #"{"sound":"birds"}"# && bench.phase == .active)
        #expect(bench.client.calls.last?.schedule == ScheduleID("s-1"))
        #expect(!bench.history.contains(where: Self.isForMedia))
    }

    @Test("A push after the offer is reported again, and changes nothing")
    func offerFirst() {
        var bench = Self.ringing()
        let before = bench.client.calls.last
        let outputs = bench.take(.pushed(Self.push(at: bench.now)))
        #expect(outputs.reported.isEmpty && outputs.ends.isEmpty && outputs.compactMap(\.fetched).isEmpty)
        #expect(outputs.contains { if case .reportRepeated(Self.uuid, _) = $0 { true } else { false } })
        #expect(bench.client.calls.last?.data == before?.data && bench.client.calls.last?.schedule == before?.schedule)
        #expect(bench.client.calls.count == 1)
    }

    @Test("With an expired token, the push's capability is enough to answer and to confirm")
    func capability() throws {
        var bench = ClientBench(isOpen: false)
        bench.take(.tokenExpired)
        bench.take(.pushed(Self.push(at: bench.now)))
        bench.take(.answer(Self.uuid))
        bench.take(.confirm(Self.uuid))
        var posted: [SignalKind] = []
        while let signal = bench.history.compactMap(\.posted).last, posted.count < 4 {
            posted.append(signal.kind)
            bench.take(.posted(signal.id, .success(Ack(epoch: 1))))
        }
        #expect(posted == [.ringing, .answer, .connected, .info])
        let capability = CallClient.Authorization.capability("capability")
        #expect(bench.history.allSatisfy { if case .post(_, let used) = $0 { used == capability } else { true } })
    }

    @Test("The user declines")
    func declined() {
        var bench = Self.ringing()
        let outputs = bench.take(.end(Self.uuid))
        #expect(outputs.sent == [.end] && bench.client.calls.last?.reason == .declined)
    }

    @Test(
        "The server's end is reported, whatever its reason",
        arguments: [
            (EndReason.confirmed, ReportedEnd.remoteEnded), (.missed, .unanswered), (.givenUp, .unanswered),
            (.cancelled, .remoteEnded), (.declinedElsewhere, .declinedElsewhere),
        ]
    )
    func ended(_ reason: EndReason, _ end: ReportedEnd) {
        var bench = Self.ringing()
        #expect(bench.event(.init(.ended, reason: reason)).ends == [end])
        #expect(bench.client.calls.last?.reason == reason)
    }

    @Test("If another device answers first, the call ends here, also if this device has just answered")
    func elsewhere() throws {
        var bench = Self.ringing()
        let other = ServerMessage.StateEvent(.answered, answeredBy: ClientBench.device("tablet"))
        #expect(bench.event(other).ends == [.answeredElsewhere])

        bench = Self.ringing()
        let answer = try #require(bench.take(.answer(Self.uuid)).compactMap(\.sent).first)
        let outputs = bench.take(.received(.error(answer.id, code: "already_answered")))
        #expect(outputs.ends == [.answeredElsewhere] && bench.client.unacknowledgedCount == 0)
    }

    @Test("If the app was killed in the call, the next launch ends it, and a confirmable schedule rings again")
    func restarted() {
        var bench = Self.ringing()
        let event = ServerMessage.StateEvent(.active, answeredBy: ClientBench.device("phone"))
        let outputs = bench.event(event)
        #expect(outputs.ends == [.failed] && outputs.sent == [.end])

        bench = ClientBench()
        #expect(bench.event(event).sent == [.end], "also if the offer is not sent again")
    }

    @Test("Without news, the ring stops by itself")
    func timeout() {
        var bench = Self.ringing()
        #expect(bench.handleDeadlines(for: .seconds(51)).ends == [.unanswered])
    }

    // MARK: The confirmation

    @Test("A ringing call and an answered one can be confirmed, once", arguments: [false, true])
    func confirmed(_ isAnswered: Bool) throws {
        var bench = Self.ringing()
        if isAnswered { bench.take(.answer(Self.uuid)) }
        let signal = try #require(bench.take(.confirm(Self.uuid)).compactMap(\.sent).first)
        #expect(signal.content == .confirm && signal.epoch == 1)
        #expect(bench.take(.confirm(Self.uuid)).isEmpty, "it is on its way")
        let ack = Ack(epoch: 1, seq: 5, state: .ended, reason: .confirmed)
        #expect(bench.take(.received(.ack(signal.id, ack))).ends == [.remoteEnded])
        #expect(bench.client.calls.last?.reason == .confirmed && bench.client.unacknowledgedCount == 0)
        #expect(bench.take(.confirm(Self.uuid)) == [.refused(Self.uuid, .unknownCall)])
    }

    @Test("A confirmation is sent again until it is acknowledged, also if the user ends the call, and before the end")
    func confirmedOffline() throws {
        var bench = Self.ringing()
        bench.take(.answer(Self.uuid))
        bench.acknowledgeAll()
        bench.take(.connectionClosed)
        let first = try #require(bench.take(.confirm(Self.uuid)).compactMap(\.posted).first)
        bench.take(.posted(first.id, .failure(.unreachable)))
        bench.take(.end(Self.uuid))
        #expect(bench.client.calls.last?.reason == .confirmed)
        let again = bench.handleDeadlines(for: .seconds(1)).compactMap(\.posted)
        #expect(again.map(\.id) == [first.id])
        #expect(bench.take(.connectionOpened).sent == [.info, .end])
        bench.take(.posted(first.id, .success(Ack(epoch: 1, seq: 5, state: .ended, reason: .confirmed))))
        #expect(bench.client.unacknowledgedCount == 0, "the end has become needless")
    }

    @Test("A confirmation that the ring's end has overtaken is still delivered")
    func confirmedLate() {
        var bench = ClientBench(isOpen: false)
        bench.take(.pushed(Self.push(at: bench.now)))
        bench.take(.confirm(Self.uuid))
        bench.handleDeadlines(for: .seconds(60))
        #expect(bench.phase == .ended)
        #expect(bench.take(.connectionOpened).sent == [.ringing, .info])
    }

    @Test("An ordinary call cannot be confirmed")
    func notScheduled() {
        var bench = ClientBench.talking()
        #expect(bench.take(.confirm(Self.uuid)) == [.refused(Self.uuid, .notPossible)])
    }

    // MARK: What there is no peer for

    @Test("Hold and mute change the call's value only, and nothing else reaches the engine or the server")
    func intents() {
        var bench = Self.ringing()
        bench.take(.answer(Self.uuid))
        bench.acknowledgeAll()
        #expect(bench.take(.setHeld(Self.uuid, true)).isEmpty && bench.client.calls.last?.media.hold == true)
        bench.take(.audioActivated)
        #expect(bench.client.calls.last?.isAudioOn == false, "the app does not play while the call is held")
        #expect(bench.take(.setHeld(Self.uuid, false)).isEmpty && bench.client.calls.last?.isAudioOn == true)
        #expect(bench.take(.setMuted(Self.uuid, audio: true, video: true)).isEmpty)
        for input: CallClient.Input in [
            .renegotiate(Self.uuid, hasVideo: true), .renegotiate(Self.uuid, restartsICE: true),
            .playDTMF(Self.uuid, "1"), .sendInfo(Self.uuid, "1"),
        ] {
            #expect(bench.take(input) == [.refused(Self.uuid, .notPossible)])
        }
        for input: CallClient.Input in [
            .mediaConnected(Self.uuid), .mediaFailed(Self.uuid), .negotiationFailed(Self.uuid, round: 1),
            .localCandidate(Self.uuid, round: 1, "{}"),
            .localDescription(Self.uuid, round: 1, .answer, sdp: "v=0"),
        ] {
            #expect(bench.take(input).isEmpty)
        }
        _ = bench.signal(.offer(IncomingOffer(sdp: "v=0")))
        _ = bench.signal(.answer(sdp: "v=0", round: 1))
        _ = bench.signal(.ice("{}", round: 1))
        #expect(bench.phase == .active)
        bench.take(.providerReset)
        #expect(!bench.history.contains(where: Self.isForMedia))
    }

    @Test("An ordinary call that is answered holds a scheduled one")
    func second() {
        var bench = Self.ringing()
        bench.take(.answer(Self.uuid))
        bench.take(.audioActivated)
        _ = bench.offered(call: "c2", from: "12")
        bench.take(.answer(ClientBench.uuid("c2")))
        #expect(bench.client.calls.first?.media.hold == true && bench.client.calls.first?.isAudioOn == false)
    }

    @Test("The name of the caller is only a name: a call to a user of that name is another call")
    func noGlare() {
        var bench = ClientBench()
        bench.start("own")
        #expect(bench.signal(.offer(Self.offer(bench)), device: "scheduler").reported == [Self.uuid])
        #expect(bench.client.calls.map(\.phase.name) == [.calling, .ringing])

        bench = ClientBench(isOpen: false)
        bench.start("own")
        #expect(bench.take(.pushed(Self.push(at: bench.now))).reported == [Self.uuid])

        bench = Self.ringing()
        #expect(bench.start("own").contains { if case .makeOffer = $0 { true } else { false } })
        #expect(bench.client.calls.map(\.phase.name) == [.ringing, .calling])
    }

    @Test("An ordinary call and a scheduled one do not turn into each other")
    func kinds() {
        var bench = ClientBench.talking()
        _ = bench.signal(.offer(Self.offer(bench)))
        #expect(bench.client.calls.last?.isScheduled == false)

        bench = ClientBench()
        _ = bench.offered()
        _ = bench.signal(.offer(Self.offer(bench)))
        #expect(bench.client.calls.last?.isScheduled == false)

        bench = Self.ringing()
        _ = bench.offered()
        bench.take(.answer(Self.uuid))
        #expect(bench.client.calls.last?.isScheduled == true && !bench.history.contains(where: Self.isForMedia))
    }
}
