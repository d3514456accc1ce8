import CallClient
import CallCore
import CallWire
import Testing

@Suite("A signal on its way")
struct TransportTests {
    @Test("A connection with another user's token is refused; nothing goes out until one has this user's token")
    func tokenOfAnotherUser() throws {
        var bench = ClientBench(isOpen: false)
        bench.start()
        for user in [
            ServerMessage(Array(#"{"type":"welcome","v":1,"user":12}"#.utf8)), .welcome(ClientBench.user("12")),
        ] {
            #expect(bench.take(.received(user)) == [.tokenOfAnotherUser(ClientBench.user("12")), .renewToken])
            #expect(bench.take(.connectionOpened).isEmpty)
            bench.take(.connectionClosed)
            #expect(bench.handleDeadlines(for: .seconds(20)).sent.isEmpty)
        }
        bench.take(.tokenRenewed)
        #expect(bench.take(.received(.welcome(ClientBench.user("10")))).isEmpty)
        #expect(bench.take(.connectionOpened).sent == [.offer])
        #expect(ServerMessage(Array(#"{"type":"welcome","v":1}"#.utf8)) == .welcome(nil))
    }

    @Test("After call_ended the log is fetched until a response arrives, even if the offer is already known")
    func mayHaveEnded() throws {
        var bench = ClientBench(isOpen: false)
        let number = try #require(
            bench.take(.pushed(ClientBench.push(at: bench.now, ["offer": .string("v=0 offer")]))).compactMap(\.fetched)
                .first
        )
        let ringing = try #require(bench.history.compactMap(\.posted).last)
        bench.take(.posted(ringing.id, .failure(.refused(code: "call_ended"))))
        bench.take(.fetched(number, .failure(.unreachable)))
        let again = try #require(bench.handleDeadlines(for: .seconds(8)).compactMap(\.fetched).first)
        let log = FetchedCall(
            callID: ClientBench.call("c1"),
            epoch: 1,
            state: .ended,
            reason: .cancelled,
            signals: [],
            next: 3
        )
        #expect(bench.take(.fetched(again, .success(log))).ends == [.remoteEnded])
    }

    @Test("An offer that gets already_answered, because another device of this user is in the call, is given up")
    func nameInUse() throws {
        var bench = ClientBench()
        bench.take(.connectionOpened)
        let offer = try #require(bench.start().compactMap(\.sent).first)
        let outputs = bench.take(.received(.error(offer.id, code: "already_answered")))
        #expect(outputs.ends == [.failed])
    }

    @Test("A signal goes out by REST while there is no connection, and later over the connection under the same id")
    func both() throws {
        var bench = ClientBench(isOpen: false)
        let outputs = bench.start()
        let offer = try #require(outputs.compactMap(\.posted).first)
        #expect(outputs.contains(.connect))
        let opened = bench.take(.connectionOpened)
        #expect(opened.compactMap(\.sent).map(\.id) == [offer.id])
        #expect(bench.take(.received(.ack(offer.id, Ack(epoch: 1, seq: 1)))).isEmpty)
        #expect(bench.take(.posted(offer.id, .success(Ack(epoch: 1, seq: 1)))).isEmpty)
        #expect(bench.client.unacknowledgedCount == 0)
    }

    @Test("Signals are sent again in order under their ids on every new connection until they are acknowledged")
    func resent() throws {
        var bench = ClientBench()
        _ = bench.offered()
        bench.take(.answer(ClientBench.uuid()))
        bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0"))
        bench.take(.localCandidate(ClientBench.uuid(), round: 1, "{}"))
        let first = bench.history.compactMap(\.sent)
        bench.take(.connectionClosed)
        let again = bench.take(.connectionOpened).compactMap(\.sent)
        #expect(again == first && again.map(\.kind) == [.ringing, .answer, .ice])
        // A new connection may replace one that was never reported as closed.
        #expect(bench.take(.connectionOpened).compactMap(\.sent) == first)
        bench.acknowledgeAll()
        bench.take(.connectionClosed)
        #expect(bench.take(.connectionOpened).sent.isEmpty)
    }

    @Test("A signal that gets no ack on the connection for 4 s goes out by REST too")
    func halfOpen() {
        var bench = ClientBench()
        _ = bench.offered()
        bench.acknowledgeAll()
        bench.take(.answer(ClientBench.uuid()))
        bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0"))
        #expect(bench.handleDeadlines(for: .milliseconds(3_999)).posted.isEmpty)
        #expect(bench.handleDeadlines(for: .milliseconds(1)).posted == [.answer])
        #expect(bench.handleDeadlines(for: .seconds(20)).posted.isEmpty)
    }

    @Test("A signal whose REST request fails is sent again after growing pauses")
    func pauses() throws {
        var bench = ClientBench(isOpen: false)
        let offer = try #require(bench.start().compactMap(\.posted).first)
        for pause in [500, 1_000, 2_000, 4_000, 8_000, 8_000] as [Int64] {
            bench.take(.posted(offer.id, .failure(.unreachable)))
            #expect(bench.handleDeadlines(for: .milliseconds(pause - 1)).posted.isEmpty)
            #expect(bench.handleDeadlines(for: .milliseconds(1)).posted == [.offer])
        }
    }

    @Test("A temporarily refused signal holds back the signals after it")
    func refusedForNow() throws {
        var bench = ClientBench()
        _ = bench.offered()
        bench.acknowledgeAll()
        bench.take(.answer(ClientBench.uuid()))
        let outputs = bench.take(.localDescription(ClientBench.uuid(), round: 1, .answer, sdp: "v=0"))
        let answer = try #require(outputs.compactMap(\.sent).last)
        bench.take(.received(.error(answer.id, code: "rate_limited")))
        #expect(bench.take(.localCandidate(ClientBench.uuid(), round: 1, "{}")).sent.isEmpty)
        #expect(bench.handleDeadlines(for: .milliseconds(500)).sent == [.answer, .ice])
    }

    @Test("The app is told once why an offer waits, and the offer is sent again")
    func delayedOffer() throws {
        var bench = ClientBench()
        let offer = try #require(bench.start().compactMap(\.sent).first)
        let told = CallClient.Output.delayed(ClientBench.ownUUID, code: "rate_limited")
        #expect(bench.take(.received(.error(offer.id, code: "rate_limited"))).contains(told))
        #expect(bench.handleDeadlines(for: .milliseconds(500)).sent == [.offer])
        #expect(!bench.take(.received(.error(offer.id, code: "rate_limited"))).contains(told))
        #expect(bench.client.calls.contains { $0.isLive })
    }

    @Test("A signal waits for the call's epoch and names it, unless it begins the call")
    func epoch() throws {
        var bench = ClientBench()
        #expect(bench.start().compactMap(\.sent).map(\.epoch) == [nil])
        #expect(bench.take(.localCandidate(ClientBench.ownUUID, round: 1, "{}")).sent.isEmpty)
        let outputs = bench.event(.init(.ringing), epoch: 7)
        #expect(outputs.compactMap(\.sent).map(\.epoch) == [7])
    }

    @Test("No signal is sent for a call that is given up before its offer")
    func neverLeft() {
        var bench = ClientBench(isOpen: false)
        let wish = CallClient.StartCall(
            uuid: ClientBench.ownUUID,
            callID: ClientBench.call("c1"),
            to: ClientBench.user("11"),
            hasVideo: false
        )
        bench.take(.startCall(wish))
        bench.take(.end(ClientBench.ownUUID))
        let opened = bench.take(.connectionOpened)
        #expect(opened.isEmpty && bench.client.unacknowledgedCount == 0)
    }

    @Test("The offer of a call that is given up is not sent again; the call's log is fetched, and the call is ended")
    func withdrawn() throws {
        var bench = ClientBench()
        bench.start()
        #expect(bench.take(.end(ClientBench.ownUUID)).sent.isEmpty)
        let number = try #require(bench.take(.connectionClosed).compactMap(\.fetched).first)
        #expect(bench.take(.connectionOpened).sent.isEmpty)
        let log = FetchedCall(callID: ClientBench.call("c1"), epoch: 4, state: .ringing)
        let end = try #require(bench.take(.fetched(number, .success(log))).compactMap(\.sent).first)
        #expect(end.content == .end(.cancelled) && end.epoch == 4)
    }

    @Test("The end of a call that the server does not know is forgotten")
    func forgotten() throws {
        var bench = ClientBench()
        bench.start()
        bench.take(.end(ClientBench.ownUUID))
        let number = try #require(bench.take(.connectionClosed).compactMap(\.fetched).first)
        bench.take(.fetched(number, .failure(.refused(code: "not_found"))))
        #expect(bench.client.unacknowledgedCount == 0 && bench.client.deadline == nil)
    }

    @Test("The server reads the same signal from its frame and from its request body")
    func read() throws {
        var bench = ClientBench.talkingAsCaller()
        bench.take(.renegotiate(ClientBench.ownUUID, hasVideo: true))
        bench.take(.localDescription(ClientBench.ownUUID, round: 2, .offer, sdp: "v=0\r\nm=video 9 x\r\n"))
        bench.take(.localCandidate(ClientBench.ownUUID, round: 2, #"{"candidate":"é \"x\""}"#))
        bench.take(.localCandidate(ClientBench.ownUUID, round: 2, nil))
        bench.take(.playDTMF(ClientBench.ownUUID, "12#"))
        bench.take(.sendInfo(ClientBench.ownUUID, #"{"a":[1,2]}"#))
        bench.take(.setHeld(ClientBench.ownUUID, true))
        bench.take(.end(ClientBench.ownUUID))
        let signals = bench.history.compactMap(\.sent)
        #expect(Set(signals.map(\.kind)) == Set(SignalKind.allCases).subtracting([.ringing, .answer]))
        for signal in signals {
            let frame = try ClientMessage(signal.frame, ringTimeout: .seconds(45))
            guard case .signal(let message) = frame.takeRequest() else { throw Unexpected() }
            let body = try SignalMessage(body: signal.body, callIDInPath: nil, ringTimeout: .seconds(45))
            #expect(message.signal.content == body.signal.content && message.signal.kind == signal.kind)
            #expect(message.id == signal.id && body.id == signal.id && body.device == ClientBench.device("phone"))
            #expect(message.callID == signal.callID && message.epoch == signal.epoch && body.epoch == signal.epoch)
        }
    }

    @Test("Digits and data that no server accepts are refused", arguments: ["", "x", "1 2", "é"])
    func refusedDigits(_ digits: String) {
        var bench = ClientBench.talkingAsCaller()
        #expect(bench.take(.playDTMF(ClientBench.ownUUID, digits)) == [.refused(ClientBench.ownUUID, .notPossible)])
        for text in ["", "{", "1}", #"1,"type":"end""#, "1,\"x\":2", String(repeating: "1", count: 20_000)] {
            #expect(bench.take(.sendInfo(ClientBench.ownUUID, text)) == [.refused(ClientBench.ownUUID, .notPossible)])
        }
    }

    @Test("A signal that gets not_found is sent again, because a crashed server may not know the call yet")
    func notFound() throws {
        var bench = ClientBench()
        _ = bench.offered()
        let ringing = try #require(bench.history.compactMap(\.sent).first)
        bench.take(.received(.error(ringing.id, code: "not_found")))
        #expect(bench.handleDeadlines(for: .milliseconds(500)).sent == [.ringing])
        #expect(bench.phase == .ringing)
    }
}

struct Unexpected: Error {}
