import CallClient
import CallCore
import CallWire
import Testing

@Suite("The bytes of a scheduled call")
struct ScheduledBytesTests {
    @Test("The server's offer is read with the schedule, its data and its handle")
    func frame() throws {
        let frame =
            #"{"type":"offer","callId":"c1","room":"p2p:wake-10","epoch":1,"seq":1,"ts":5,"from":"wake","#
            + #""fromDevice":"scheduler","hasVideo":false,"displayName":"Mina","media":"none","scheduled":true,"#
            + #""schedule":"s-1","handle":"+821012345678","handleType":"phoneNumber","data":{"n":12345678901234567890}}"#
        guard case .signal(let envelope, .offer(let offer)) = ServerMessage(Array(frame.utf8)) else {
            return #expect(Bool(false), "the frame is an offer")
        }
        #expect(envelope.from == UserID("wake") && offer.sdp.isEmpty && offer.handleType == .phoneNumber)
        #expect(offer.schedule?.id == ScheduleID("s-1") && offer.schedule?.handle == "+821012345678")
        #expect(offer.schedule?.data == #"{"n":12345678901234567890}"#)
    }

    @Test(
        "An offer without a description is malformed unless the server says that it is scheduled",
        arguments: ["", #","scheduled":false"#, #","scheduled":"true""#]
    )
    func withoutDescription(_ more: String) {
        let frame = #"{"type":"offer","callId":"c1","epoch":1,"seq":1,"from":"11","fromDevice":"d"\#(more)}"#
        #expect(ServerMessage(Array(frame.utf8)) == .other)
    }

    @Test("An offer with a description is an ordinary one")
    func ordinary() {
        let frame =
            #"{"type":"offer","callId":"c1","epoch":1,"seq":1,"from":"11","fromDevice":"d","sdp":"v=0","scheduled":true}"#
        guard case .signal(_, .offer(let offer)) = ServerMessage(Array(frame.utf8)) else {
            return #expect(Bool(false), "the frame is an offer")
        }
        #expect(offer.schedule == nil && offer.sdp == "v=0")
    }

    @Test("The server reads the answer and the confirmation, by frame and by request")
    func outgoing() throws {
        var bench = ScheduledCallTests.ringing()
        let signals = (bench.take(.answer(ScheduledCallTests.uuid)) + bench.take(.confirm(ScheduledCallTests.uuid)))
            .compactMap(\.sent)
        #expect(signals.map(\.kind) == [.answer, .connected, .info])
        for signal in signals {
            let body = try SignalMessage(body: signal.body, callIDInPath: nil, ringTimeout: .seconds(45))
            let message = try ClientMessage(signal.frame, ringTimeout: .seconds(45))
            guard case .signal(let frame) = message.takeRequest() else {
                return #expect(Bool(false), "the frame is a signal")
            }
            for message in [body, frame] {
                switch message.content {
                case .answer: #expect(message.lacksDescription)
                case .confirm: #expect(message.relayed.byteCount > 0)
                case .connected: break
                default: #expect(Bool(false), "\(message.content)")
                }
            }
        }
        #expect(String(decoding: signals[2].frame, as: UTF8.self).hasSuffix(#""to":"11","confirm":true}"#))
    }

    @Test(
        "A push says what its schedule has",
        arguments: [
            (.bool(true), .json(#"{"a":1}"#), #"{"a":1}"#), (.int(1), .string("birds"), #""birds""#),
            (.bool(true), .int(7), "7"), (.bool(true), .bool(false), "false"), (.bool(true), .null, nil),
            (.bool(true), .other, nil), (.bool(true), .double(0.5), nil),
            // A Firebase message.
            (.string("true"), .string(#"{"a":1}"#), #"{"a":1}"#), (.string("true"), .string(#""birds""#), #""birds""#),
            (.string("true"), .string("birds"), nil), (.string("true"), .string(#"1},"b":{"#), nil),
        ] as [(PushValue, PushValue, String?)]
    )
    func pushedData(_ scheduled: PushValue, _ data: PushValue, _ text: String?) {
        let now = Moment(milliseconds: 1_000)
        let push = IncomingPush(
            ScheduledCallTests.push(["scheduled": scheduled, "data": data], at: now),
            for: ClientBench.user("10")
        )
        #expect(push.schedule == IncomingSchedule(data: text, handle: "+821012345678"))
        #expect(push.caller.handle == "+821012345678" && push.caller.handleType == .phoneNumber)
        #expect(push.from == UserID("11"))
    }
}
