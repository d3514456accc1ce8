import CallCore
import CallWire
import Testing

@testable import SocketIO

@Suite("An event of the app")
struct EventTests {
    @Test(
        "An event becomes the frame that a client of /ws would have sent, with its values unchanged",
        arguments: zip(
            [
                #"["offer",{"to":10,"sdp":"v=0\r\né","hasVideo" : true,"x":{"a":1.50}}]"#,
                #"["offer",{"to":10,"sdp":"v=0","callId":"c-1"}]"#,
                #"["answer",{"to":10,"sdp":"v=0"}]"#,
                #"["ice",{"to":10,"candidate":{"candidate":"c","sdpMid":"0","sdpMLineIndex":0}}]"#,
                #"["call-end",{"to":10}]"#,
                #"["message",{"to":10,"body":"hi","type":"x"}]"#,
                #"["is-online",{"userId":10}]"#,
            ],
            [
                #"{"type":"offer","id":"tag-1","callId":"11-10","to":10,"sdp":"v=0\r\né","hasVideo" : true,"x":{"a":1.50}}"#,
                #"{"type":"offer","id":"tag-1","to":10,"sdp":"v=0","callId":"c-1"}"#,
                #"{"type":"answer","id":"tag-1","to":10,"sdp":"v=0"}"#,
                #"{"type":"ice","id":"tag-1","to":10,"candidate":{"candidate":"c","sdpMid":"0","sdpMLineIndex":0}}"#,
                #"{"type":"end","id":"tag-1","to":10}"#,
                #"{"type":"message","id":"tag-1","to":10,"body":"hi"}"#,
                #"{"type":"presence","id":"tag-1","userId":10}"#,
            ]
        )
    )
    func translation(_ event: String, _ frame: String) throws {
        var bench = try SocketSessionBench.joined()
        bench.say("42" + event)
        #expect(bench.taken().frames == [frame])
    }

    @Test("An event keeps the client's own id, and is acknowledged once under it")
    func ownID() throws {
        var bench = try SocketSessionBench.joined()
        bench.say(#"427["answer",{"to":10,"sdp":"v=0","id":"mine"}]"#)
        #expect(bench.taken().frames == [#"{"type":"answer","id":"mine","to":10,"sdp":"v=0"}"#])
        bench.hear(#"{"type":"ack","id":"mine","callId":"c","epoch":1,"seq":3}"#)
        #expect(bench.taken().sent == [#"437[{"ok":true,"callId":"c","epoch":1,"seq":3}]"#])
        bench.hear(#"{"type":"ack","id":"mine","callId":"c","epoch":1,"seq":3}"#)
        #expect(bench.taken().sent.isEmpty, "once")
    }

    @Test("A refusal is sent as the event's ack, or as signal-error if the client wants no ack")
    func refused() throws {
        var bench = try SocketSessionBench.joined()
        let error = #""code":"not_found","message":"no such call""#
        bench.say(#"425["ice",{"to":10,"candidate":{}}]"#)
        bench.hear(#"{"type":"error","id":"tag-1",\#(error)}"#)
        bench.say(#"42["ice",{"to":10,"candidate":{}}]"#)
        bench.hear(#"{"type":"error","id":"tag-2",\#(error)}"#)
        bench.hear(#"{"type":"error","code":"token_expired","message":"over"}"#)
        #expect(
            bench.taken().sent == [
                #"435[{"ok":false,\#(error)}]"#,
                #"42["signal-error",{"event":"ice",\#(error)}]"#,
                #"42["signal-error",{"code":"token_expired","message":"over"}]"#,
            ]
        )
    }

    @Test("An event that comes while too many other events await their acks is refused, and not passed on")
    func tooMany() throws {
        var bench = try SocketSessionBench.joined()
        for _ in 0..<SocketIOLimits.awaitedAcks { bench.say(#"42["ice",{"to":10,"candidate":{},"id":"same"}]"#) }
        #expect(bench.taken().frames.count == SocketIOLimits.awaitedAcks)
        bench.say(#"427["ice",{"to":10,"candidate":{}}]"#)
        bench.say(#"42["call-end",{"to":10}]"#)
        let refused = bench.taken()
        #expect(refused.frames.isEmpty && refused.sent.count == 2)
        #expect(refused.sent.first?.hasPrefix(#"437[{"ok":false,"code":"rate_limited","#) == true)
        #expect(
            refused.sent.last?.hasPrefix(#"42["signal-error",{"event":"call-end","code":"rate_limited","#) == true
        )
        bench.hear(#"{"type":"ack","id":"same","callId":"c","epoch":1,"seq":3}"#)
        _ = bench.taken()
        bench.say(#"428["ice",{"to":10,"candidate":{}}]"#)
        bench.hear(#"{"type":"ack","id":"tag-1","callId":"c","epoch":1,"seq":4}"#)
        #expect(bench.taken().sent == [#"438[{"ok":true,"callId":"c","epoch":1,"seq":4}]"#])
    }

    @Test(
        "An invalid event goes to the switchboard as one frame, which is refused there",
        arguments: [
            "42", "42[", "42[]", "42[1]", #"42{"a":1}"#, #"42["nobody-knows",{}]"#, #"42["offer",{"to":1,"to":2}]"#,
        ]
    )
    func nonsense(_ packet: String) throws {
        var bench = try SocketSessionBench.joined()
        bench.say(packet)
        let frames = bench.taken().frames
        #expect(frames.count == 1)
        #expect(throws: ClientMessage.Refusal.self) {
            _ = try ClientMessage(bytes(frames[0]), ringTimeout: .seconds(45))
        }
    }

    @Test("An event with attachments is refused", arguments: ["451-[\"blob\",{\"_placeholder\":true,\"num\":0}]"])
    func binary(_ packet: String) throws {
        var bench = try SocketSessionBench.joined()
        bench.say(packet)
        #expect(bench.taken().sent.first?.contains("unsupported_media_type") == true)
        bench.say("bYWJj")
        #expect(bench.taken().isOver)
    }

    @Test(
        "An event whose name is the type of a frame does not become a frame of that type",
        arguments: ["end", "sync", "auth", "join"]
    )
    func names(_ name: String) throws {
        var bench = try SocketSessionBench.joined()
        bench.say(#"42["\#(name)",{"token":"x","type":"end"}]"#)
        #expect(bench.taken().frames.first?.hasPrefix(#"{"type":"event","#) == true)
    }
}

@Suite("A frame of the switchboard")
struct FrameTests {
    @Test("A frame becomes an event, with user ids as the app writes them and all other values unchanged")
    func signals() throws {
        var bench = try SocketSessionBench.joined()
        bench.hear(Said.offer())
        bench.hear(
            #"{"type":"ice","callId":"c","room":"p2p:10-11","epoch":1,"seq":2,"ts":1,"from":"10","fromDevice":"d","#
                + #""candidate":{"candidate" : "x"}}"#
        )
        let sent = bench.taken().sent
        #expect(
            sent == [
                #"42["offer",{"from":10,"callId":"10-11","room":"p2p:10-11","epoch":1,"seq":1,"ts":1,"fromDevice":"d","#
                    + #""hasVideo":false,"sdp":"v=0"}]"#,
                #"42["ice",{"from":10,"callId":"c","room":"p2p:10-11","epoch":1,"seq":2,"ts":1,"fromDevice":"d","#
                    + #""candidate":{"candidate" : "x"}}]"#,
            ]
        )
    }

    @Test("A frame for which the app has no event is not sent to the app")
    func unknown() throws {
        var bench = try SocketSessionBench.joined()
        let place = #""callId":"c","room":"p2p:10-11","epoch":1,"seq":2,"ts":1,"from":"10""#
        for type in ["ringing", "connected", "update", "info", "dtmf", "end", "welcome", "peer"] {
            bench.hear(#"{"type":"\#(type)",\#(place)}"#)
        }
        bench.hear(#"{"type":"ice",\#(place),"candidate":null}"#)
        bench.hear(Said.call("answered"))
        #expect(bench.taken().sent.isEmpty)
    }

    @Test("A text becomes an event, and so does presence")
    func besides() throws {
        var bench = try SocketSessionBench.joined()
        bench.hear(#"{"type":"message","from":"10","fromDevice":"d","ts":1763715423250,"to":11,"body":"hi"}"#)
        bench.hear(#"{"type":"presence","userId":"10","online":true}"#)
        bench.hear(#"{"type":"presence","userId":"10","online":false}"#)
        #expect(
            bench.taken().sent == [
                #"42["message",{"from":10,"body":"hi","timestamp":"2025-11-21T08:57:03.250Z"}]"#,
                #"42["user-online",{"userId":10}]"#, #"42["user-offline",{"userId":10}]"#,
            ]
        )
    }
}

@Suite("The end of a call for the app")
struct CallEndTests {
    private func names(_ outputs: [SocketSession.Output]) -> [String] {
        outputs.sent.map { $0.hasPrefix("42[") ? String($0.dropFirst(4).prefix { $0 != "\"" }) : $0 }
    }

    @Test("The end is sent with the peer's id, the reason and the callId")
    func told() throws {
        var bench = try SocketSessionBench.joined()
        bench.hear(Said.offer())
        bench.hear(Said.call("ended", "cancelled"))
        #expect(
            bench.taken().sent.last
                == #"42["call-ended",{"from":10,"callId":"10-11","epoch":1,"seq":9,"state":"ended","reason":"cancelled"}]"#
        )
    }

    @Test("A client that has just ended a call is not sent that end, but it is sent the end of the next call")
    func own() throws {
        var bench = try SocketSessionBench.joined()
        bench.hear(Said.call("ringing", nil, "11-10"))
        bench.say(#"42["call-end",{"to":10}]"#)
        bench.hear(Said.call("ended", "cancelled", "11-10"))
        #expect(names(bench.taken()).isEmpty)
        bench.hear(#"{"type":"ack","id":"tag-1","callId":"11-10","epoch":1,"seq":3}"#)
        bench.hear(Said.offer())
        bench.hear(Said.call("ended", "cancelled"))
        #expect(names(bench.taken()) == ["offer", "call-ended"])
    }

    @Test("A client that has ended several calls is not sent their ends, whether they come at once or one by one")
    func ownEndsAtOnce() throws {
        for comesInOneCommit in [true, false] {
            var bench = try SocketSessionBench.joined()
            for _ in 1...3 {
                bench.say(#"42["offer",{"to":10,"sdp":"v=0"}]"#)
                bench.say(#"42["call-end",{"to":10}]"#)
            }
            func hearAcks(_ epoch: Int) {
                bench.hear(#"{"type":"ack","id":"tag-\#(2 * epoch - 1)","callId":"11-10","epoch":\#(epoch),"seq":1}"#)
                bench.hear(#"{"type":"ack","id":"tag-\#(2 * epoch)","callId":"11-10","epoch":\#(epoch),"seq":2}"#)
            }
            for epoch in 1...3 {
                bench.hear(Said.call("ringing", nil, "11-10", epoch: epoch))
                bench.hear(Said.call("ended", "cancelled", "11-10", epoch: epoch))
                if !comesInOneCommit { hearAcks(epoch) }
            }
            if comesInOneCommit { for epoch in 1...3 { hearAcks(epoch) } }
            #expect(names(bench.taken()).isEmpty)
            bench.hear(Said.offer())
            bench.hear(Said.call("ended", "cancelled"))
            #expect(names(bench.taken()) == ["offer", "call-ended"], "no end is left over")
        }
    }

    @Test("The ack of an earlier offer does not hide that a new offer to the same user has replaced a call")
    func replacedAfterAnAck() throws {
        var bench = try SocketSessionBench.joined()
        bench.say(#"42["offer",{"to":10,"sdp":"v=0"}]"#)
        bench.say(#"42["offer",{"to":10,"sdp":"v=1"}]"#)
        bench.hear(Said.call("ringing", nil, "11-10"))
        bench.hear(#"{"type":"ack","id":"tag-1","callId":"11-10","epoch":1,"seq":1}"#)
        bench.hear(Said.call("ended", "replaced", "11-10"))
        bench.hear(Said.call("ringing", nil, "11-10", epoch: 2))
        bench.hear(#"{"type":"ack","id":"tag-2","callId":"11-10","epoch":2,"seq":1}"#)
        #expect(names(bench.taken()) == ["call-replaced"])
        bench.hear(Said.call("ended", "replaced", "11-10", epoch: 2))
        #expect(names(bench.taken()) == ["call-ended"], "no offer is under way")
    }

    @Test("After a glare, or when a callId is used again, the app is sent call-replaced instead of call-ended")
    func givesWay() throws {
        var loser = try SocketSessionBench.joined()
        loser.say(#"42["offer",{"to":10,"sdp":"v=0"}]"#)
        loser.hear(Said.call("ringing", nil, "11-10"))
        loser.hear(Said.offer("10-11"))
        loser.hear(Said.call("ended", "glare", "11-10", more: #","replacedBy":"10-11""#))
        #expect(names(loser.taken()) == ["offer", "call-replaced"])
        loser.hear(Said.call("ended", "hangup", "10-11"))
        #expect(names(loser.taken()) == ["call-ended"])

        var again = try SocketSessionBench.joined()
        again.hear(Said.call("ringing", nil, "11-10"))
        again.say(#"42["offer",{"to":10,"sdp":"v=0"}]"#)
        again.hear(Said.call("ended", "replaced", "11-10"))
        again.hear(Said.call("ringing", nil, "11-10", epoch: 2))
        again.hear(#"{"type":"ack","id":"tag-1","callId":"11-10","epoch":2,"seq":1}"#)
        #expect(names(again.taken()) == ["call-replaced"])

        var callee = try SocketSessionBench.joined()
        callee.hear(Said.offer(epoch: 1))
        callee.hear(Said.call("ended", "replaced"))
        callee.hear(Said.offer(epoch: 2))
        #expect(names(callee.taken()) == ["offer", "call-ended", "offer"])
    }

    @Test("The end is sent even if the ack of the offer still waits for the store")
    func declinedAtOnce() throws {
        var bench = try SocketSessionBench.joined()
        bench.say(#"42["offer",{"to":10,"sdp":"v=0"}]"#)
        bench.hear(Said.call("ringing", nil, "11-10"))
        bench.hear(Said.call("ended", "declined", "11-10"))
        #expect(names(bench.taken()) == ["call-ended"])
    }

    @Test("The end of an earlier call, received after a reconnect, does not end the call that goes on")
    func late() throws {
        var bench = try SocketSessionBench.joined()
        bench.hear(Said.offer(epoch: 2))
        bench.hear(Said.call("ended", "unanswered", epoch: 1))
        #expect(names(bench.taken()) == ["offer", "call-replaced"])
    }
}
