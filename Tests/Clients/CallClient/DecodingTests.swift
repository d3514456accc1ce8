import CallClient
import CallCore
import CallWire
import JSON
import Testing

@Suite("Objects from the server")
struct DecodingTests {
    private let place = LogPosition(
        in: EncodedLogIdentity(LogIdentity(callID: ClientBench.call("c1"), room: "p2p:11-10", epoch: 2)),
        seq: 7,
        at: Moment(milliseconds: 1_234)
    )

    private func read(_ frame: [UInt8]) -> ServerMessage { ServerMessage(Array(frame.dropFirst(Frame.headroom))) }

    @Test("An offer is read with all members that the server adds")
    func offer() throws {
        let until = Moment(milliseconds: 99)
        let sent = try JSONObject(Array(#"{"sdp":"v=0\r\n","round":3}"#.utf8))
        let frame = RelayedSignal.frame(
            .offer,
            id: SignalID("x"),
            at: place,
            from: EncodedSender(ClientBench.user("11"), ClientBench.device("peer")),
            offer: .init(
                hasVideo: true,
                displayName: "山田",
                callUUID: ClientBench.uuid().text,
                ringUntil: until,
                isWaiting: true
            ),
            around: RelayedMembers(of: sent, but: [])
        )
        guard case .signal(let envelope, .offer(let offer)) = read(frame) else {
            Issue.record("is no offer")
            return
        }
        #expect(envelope.epoch == 2 && envelope.seq == 7 && envelope.at == place.at && envelope.room == "p2p:11-10")
        #expect(envelope.from == ClientBench.user("11") && envelope.fromDevice == ClientBench.device("peer"))
        #expect(
            offer
                == IncomingOffer(
                    sdp: "v=0\r\n",
                    round: 3,
                    hasVideo: true,
                    displayName: "山田",
                    callUUID: ClientBench.uuid(),
                    ringUntil: until,
                    isWaiting: true
                )
        )
    }

    @Test("State changes, acks and errors are read as the server wrote them")
    func others() {
        let change = StateChange(.ended, reason: .glare, replacedBy: ClientBench.call("a"))
        let frame = ServerFrame.call(change, callee: ClientBench.user("10"), at: place)
        guard case .call(_, let event) = read(frame) else {
            Issue.record("is no event")
            return
        }
        #expect(event == .init(.ended, reason: .glare, replacedBy: ClientBench.call("a")))
        let id = ClientBench.made(SignalID("x\"y"))
        let ack = ServerFrame.ack(id: id, callID: ClientBench.call("c1"), epoch: 2, seq: 7, outcome: change)
        #expect(
            read(ack)
                == .ack(
                    id,
                    Ack(
                        callID: ClientBench.call("c1"),
                        epoch: 2,
                        seq: 7,
                        state: .ended,
                        reason: .glare,
                        replacedBy: ClientBench.call("a")
                    )
                )
        )
        #expect(read(ServerFrame.error(WireError(.logFull, "m"), id: id)) == .error(id, code: "log_full"))
    }

    @Test("A log is read correctly, whatever its strings contain and whatever stands between its objects")
    func log() throws {
        let text = """
            {"callId":"c1","epoch":1,"room":"p2p:11-10","state":"ringing","reason":null,"signals":[7,"{",[{}],
            {"type":"ice","callId":"c1","epoch":1,"seq":2,"from":"11","fromDevice":"d","candidate":{"a":"}\\\\\\"]"}},
            {"type":"ice","callId":"c1","epoch":1,"seq":3,"from":11,"fromDevice":"d","candidate":null}],"next":3}
            """
        let call = try FetchedCall.reply(status: 200, body: Array(text.utf8)).get()
        #expect(call.signals.count == 2 && call.next == 3 && call.reason == nil)
        guard case .signal(_, .ice(let candidate, nil)) = call.signals[0] else { throw Unexpected() }
        #expect(candidate == #"{"a":"}\\\"]"}"#)
        guard case .signal(let envelope, .ice(nil, nil)) = call.signals[1] else { throw Unexpected() }
        #expect(envelope.from == ClientBench.user("11"))
    }

    @Test("The code of a failed response comes from its body, or from its status if a proxy wrote the body")
    func failures() {
        let problem = Array(#"{"code":"call_ended","message":"m"}"#.utf8)
        #expect(Ack.reply(status: 409, body: problem) == .failure(.refused(code: "call_ended")))
        #expect(Ack.reply(status: 404, body: Array("<html>".utf8)) == .failure(.refused(code: "not_found")))
        #expect(Ack.reply(status: 502, body: []) == .failure(.unreachable))
        #expect(FetchedCall.reply(status: 200, body: Array("{}".utf8)) == .failure(.unreachable))
    }

    @Test("A frame that is cut or changed at any byte never traps")
    func broken() {
        let frame = Array(
            #"{"type":"offer","callId":"c1","epoch":1,"seq":1,"from":"11","fromDevice":"d","sdp":"v=0\u00e9"}"#.utf8
        )
        for index in frame.indices {
            _ = ServerMessage(Array(frame[..<index]))
            for byte in [0, 0x22, 0x5C, 0x7B, 0x7D, 0xFF] as [UInt8] {
                var other = frame
                other[index] = byte
                _ = ServerMessage(other)
            }
        }
    }
}
