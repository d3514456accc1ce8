import CallClient
import CallCore
import CallWire
import Testing

@Suite("A signal on its way")
struct TransportTests {
    @Test("a refusal as ended makes it ask for the log until there is an answer, also when it has the offer")
    func doubted() throws {
        var bench = Bench(isOpen: false)
        let number = try #require(
            bench.take(.pushed(Bench.push(at: bench.now, ["offer": .string("v=0 offer")]))).compactMap(\.fetched).first
        )
        let ringing = try #require(bench.history.compactMap(\.posted).last)
        bench.take(.posted(ringing.id, .failure(.refused(code: "call_ended"))))
        bench.take(.fetched(number, .failure(.unreachable)))
        let again = try #require(bench.pass(.seconds(8)).compactMap(\.fetched).first)
        let log = FetchedCall(
            callID: Bench.call("c1"),
            epoch: 1,
            state: .ended,
            reason: .cancelled,
            signals: [],
            next: 3
        )
        #expect(bench.take(.fetched(again, .success(log))).ends == [.remoteEnded])
    }

    @Test("an offer under a name that another device of this user is in is given up at once")
    func nameInUse() throws {
        var bench = Bench()
        bench.take(.socketOpened)
        let offer = try #require(bench.start().compactMap(\.sent).first)
        let outputs = bench.take(.received(.error(offer.id, code: "already_answered")))
        #expect(outputs.ends == [.failed])
    }

    @Test("goes out by REST while there is no socket, one at a time, and by the socket under the same name")
    func both() throws {
        var bench = Bench(isOpen: false)
        let outputs = bench.start()
        let offer = try #require(outputs.compactMap(\.posted).first)
        #expect(outputs.contains(.connect))
        let opened = bench.take(.socketOpened)
        #expect(opened.compactMap(\.sent).map(\.id) == [offer.id])
        #expect(bench.take(.received(.ack(offer.id, Acceptance(epoch: 1, seq: 1)))).isEmpty)
        #expect(bench.take(.posted(offer.id, .success(Acceptance(epoch: 1, seq: 1)))).isEmpty)
        #expect(bench.client.unacknowledgedCount == 0)
    }

    @Test("is sent again in order under the same name on every new socket, until it is acknowledged")
    func resent() throws {
        var bench = Bench()
        _ = bench.offered()
        bench.take(.answer(Bench.uuid()))
        bench.take(.localDescription(Bench.uuid(), round: 1, .answer, sdp: "v=0"))
        bench.take(.localCandidate(Bench.uuid(), round: 1, "{}"))
        let first = bench.history.compactMap(\.sent)
        bench.take(.socketClosed)
        let again = bench.take(.socketOpened).compactMap(\.sent)
        #expect(again == first && again.map(\.kind) == [.ringing, .answer, .ice])
        // A socket that takes the place of one whose end was not noticed.
        #expect(bench.take(.socketOpened).compactMap(\.sent) == first)
        bench.acknowledgeAll()
        bench.take(.socketClosed)
        #expect(bench.take(.socketOpened).sent.isEmpty)
    }

    @Test("that a half-open socket swallows goes out by REST too")
    func halfOpen() {
        var bench = Bench()
        _ = bench.offered()
        bench.acknowledgeAll()
        bench.take(.answer(Bench.uuid()))
        bench.take(.localDescription(Bench.uuid(), round: 1, .answer, sdp: "v=0"))
        #expect(bench.pass(.milliseconds(3_999)).posted.isEmpty)
        #expect(bench.pass(.milliseconds(1)).posted == [.answer])
        #expect(bench.pass(.seconds(20)).posted.isEmpty)
    }

    @Test("whose request fails is tried again after pauses that grow")
    func pauses() throws {
        var bench = Bench(isOpen: false)
        let offer = try #require(bench.start().compactMap(\.posted).first)
        for pause in [500, 1_000, 2_000, 4_000, 8_000, 8_000] as [Int64] {
            bench.take(.posted(offer.id, .failure(.unreachable)))
            #expect(bench.pass(.milliseconds(pause - 1)).posted.isEmpty)
            #expect(bench.pass(.milliseconds(1)).posted == [.offer])
        }
    }

    @Test("that is refused for now holds up what stands behind it")
    func refusedForNow() throws {
        var bench = Bench()
        _ = bench.offered()
        bench.acknowledgeAll()
        bench.take(.answer(Bench.uuid()))
        let outputs = bench.take(.localDescription(Bench.uuid(), round: 1, .answer, sdp: "v=0"))
        let answer = try #require(outputs.compactMap(\.sent).last)
        bench.take(.received(.error(answer.id, code: "rate_limited")))
        #expect(bench.take(.localCandidate(Bench.uuid(), round: 1, "{}")).sent.isEmpty)
        #expect(bench.pass(.milliseconds(500)).sent == [.answer, .ice])
    }

    @Test("waits for the epoch, unless it begins the call; then it names it")
    func epoch() throws {
        var bench = Bench()
        #expect(bench.start().compactMap(\.sent).map(\.epoch) == [nil])
        #expect(bench.take(.localCandidate(Bench.ownUUID, round: 1, "{}")).sent.isEmpty)
        let outputs = bench.event(.init(.ringing), epoch: 7)
        #expect(outputs.compactMap(\.sent).map(\.epoch) == [7])
    }

    @Test("of a call given up before it left is not sent at all")
    func neverLeft() {
        var bench = Bench(isOpen: false)
        let wish = CallClient.StartCall(
            uuid: Bench.ownUUID,
            callID: Bench.call("c1"),
            to: Bench.user("11"),
            hasVideo: false
        )
        bench.take(.startCall(wish))
        bench.take(.end(Bench.ownUUID))
        let opened = bench.take(.socketOpened)
        #expect(opened.isEmpty && bench.client.unacknowledgedCount == 0)
    }

    @Test("that began a call given up in flight is not repeated; its fate is found out, and the call is ended")
    func withdrawn() throws {
        var bench = Bench()
        bench.start()
        #expect(bench.take(.end(Bench.ownUUID)).sent.isEmpty)
        let number = try #require(bench.take(.socketClosed).compactMap(\.fetched).first)
        #expect(bench.take(.socketOpened).sent.isEmpty)
        let log = FetchedCall(callID: Bench.call("c1"), epoch: 4, state: .ringing)
        let end = try #require(bench.take(.fetched(number, .success(log))).compactMap(\.sent).first)
        #expect(end.content == .end(.cancelled) && end.epoch == 4)
    }

    @Test("to a server that knows no such call, after all, is forgotten")
    func forgotten() throws {
        var bench = Bench()
        bench.start()
        bench.take(.end(Bench.ownUUID))
        let number = try #require(bench.take(.socketClosed).compactMap(\.fetched).first)
        bench.take(.fetched(number, .failure(.refused(code: "not_found"))))
        #expect(bench.client.unacknowledgedCount == 0 && bench.client.deadline == nil)
    }

    @Test("is read by the server as it was meant, as a frame and as a body")
    func read() throws {
        var bench = Bench.called()
        bench.take(.renegotiate(Bench.ownUUID, hasVideo: true))
        bench.take(.localDescription(Bench.ownUUID, round: 2, .offer, sdp: "v=0\r\nm=video 9 x\r\n"))
        bench.take(.localCandidate(Bench.ownUUID, round: 2, #"{"candidate":"é \"x\""}"#))
        bench.take(.localCandidate(Bench.ownUUID, round: 2, nil))
        bench.take(.playDTMF(Bench.ownUUID, "12#"))
        bench.take(.sendInfo(Bench.ownUUID, #"{"a":[1,2]}"#))
        bench.take(.setHeld(Bench.ownUUID, true))
        bench.take(.end(Bench.ownUUID))
        let signals = bench.history.compactMap(\.sent)
        #expect(Set(signals.map(\.kind)) == Set(SignalKind.allCases).subtracting([.ringing, .answer]))
        for signal in signals {
            let frame = try ClientMessage(signal.frame, ringFor: .seconds(45))
            guard case .signal(let message) = frame.request else { throw Unexpected() }
            let body = try SignalMessage(body: signal.body, callIDInPath: nil, ringFor: .seconds(45))
            #expect(message.signal.content == body.signal.content && message.signal.kind == signal.kind)
            #expect(message.id == signal.id && body.id == signal.id && body.device == Bench.device("phone"))
            #expect(message.callID == signal.callID && message.epoch == signal.epoch && body.epoch == signal.epoch)
        }
    }

    @Test("that nobody can take for a call is refused: digits, JSON, too large", arguments: ["", "x", "1 2", "é"])
    func refusedDigits(_ digits: String) {
        var bench = Bench.called()
        #expect(bench.take(.playDTMF(Bench.ownUUID, digits)) == [.refused(Bench.ownUUID, .notPossible)])
        for text in ["", "{", "1}", #"1,"type":"end""#, "1,\"x\":2", String(repeating: "1", count: 20_000)] {
            #expect(bench.take(.sendInfo(Bench.ownUUID, text)) == [.refused(Bench.ownUUID, .notPossible)])
        }
    }

    @Test("is not lost on a server that crashed: what it does not know yet is told again")
    func notFound() throws {
        var bench = Bench()
        _ = bench.offered()
        let ringing = try #require(bench.history.compactMap(\.sent).first)
        bench.take(.received(.error(ringing.id, code: "not_found")))
        #expect(bench.pass(.milliseconds(500)).sent == [.ringing])
        #expect(bench.phase == .ringing)
    }
}

struct Unexpected: Error {}
