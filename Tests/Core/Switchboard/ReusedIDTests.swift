import CallCore
import CallWire
import Testing

@testable import Switchboard

@Suite("The id of a signal")
struct ReusedIDTests {
    @Test("A signal with the id of a signal of another type is new, from both sides, also after a restart")
    func otherType() throws {
        let world = SwitchboardWorld()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", id: "x"))
        for frame in [
            SwitchboardWorld.plain("ringing", "c-1", id: "x"), SwitchboardWorld.ice("c-1", id: "x"),
            SwitchboardWorld.answer("c-1", id: "x"),
        ] {
            world.send(callee, frame)
        }
        let more = [
            SwitchboardWorld.ice("c-1", id: "x"),
            SwitchboardWorld.plain("connected", "c-1", id: "x"),
            SwitchboardWorld.plain("update", "c-1", id: "x", more: #","hold":true"#),
            SwitchboardWorld.plain("dtmf", "c-1", id: "x", more: #","digits":"1""#),
            SwitchboardWorld.plain("info", "c-1", id: "x", more: #","data":1"#),
        ]
        for frame in more { world.send(caller, frame) }
        #expect(
            world.takeFrames(of: callee).types.filter { $0 != "ack" && $0 != "call" && $0 != "welcome" }
                == ["offer", "ice", "connected", "update", "dtmf", "info"]
        )
        let frames = world.takeFrames(of: caller)
        #expect(
            frames.code == nil
                && frames.types.filter { ["ringing", "ice", "answer"].contains($0) }
                    == ["ringing", "ice", "answer"]
        )
        let next = world.restarted(uncleanStarts: 1)
        let (again, peer) = (try next.open("11", "a1"), try next.open("10", "b1"))
        _ = next.takeFrames(of: peer)
        for frame in more { next.send(again, frame) }
        #expect(next.takeFrames(of: peer).isEmpty, "they are resends")
        next.send(again, SwitchboardWorld.plain("end", "c-1", id: "x"))
        #expect(next.takeFrames(of: peer).states.last?.hasPrefix("ended") == true)
    }

    @Test(
        "A second signal under the id of one of its type with another content is refused, and names the id",
        arguments: [
            ("ice", #""candidate":{"candidate":"1"}"#, #""candidate":{"candidate":"2"}"#),
            ("ice", #""candidate":{"candidate":"1"}"#, #""candidate":null"#),
            ("dtmf", #""digits":"1""#, #""digits":"2""#), ("info", #""data":{"a":1}"#, #""data":{"a":2}"#),
            ("update", #""hold":true"#, #""hold":false"#), ("update", #""hold":true"#, #""audioMuted":true"#),
        ]
    )
    func otherContent(_ type: String, _ first: String, _ second: String) throws {
        let talk = try Talk.answered()
        let world = talk.world
        func send(_ content: String) -> [Frame] {
            talk.clear()
            world.send(talk.caller, SwitchboardWorld.plain(type, "c-1", id: "x", more: ",\(content)"))
            return world.takeFrames(of: talk.caller)
        }
        let seq = try #require(send(first).ack?.seq)
        let refusal = send(second)
        #expect(refusal.code == "invalid_field" && refusal.last?["field"] == "id", "\(refusal)")
        #expect(world.takeFrames(of: talk.callee).isEmpty)
        #expect(send(first).ack?.seq == seq, "a resend")
        #expect(send(first + #","room":"p2p:11-10""#).ack?.seq == seq, "a resend with another envelope")
        guard type != "info" else { return }
        let body = #"{"type":"\#(type)","id":"x","callId":"c-1",\#(second)}"#
        #expect(try world.post(try principal("11", device: "a1"), body)["field"] == "id", "by request, too")
    }

    @Test("An offer, an answer and an end with a used id are resends")
    func resends() throws {
        let talk = try Talk.answered()
        talk.clear()
        for frame in [SwitchboardWorld.answer("c-1"), SwitchboardWorld.answer("c-1", sdp: "v=0\\r\\ns=other\\r\\n")] {
            talk.world.send(talk.callee, frame)
            #expect(talk.world.takeFrames(of: talk.callee).ack != nil)
        }
        talk.world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10", sdp: "v=0\\r\\ns=other\\r\\n"))
        #expect(talk.world.takeFrames(of: talk.caller).ack != nil)
        #expect(talk.world.takeFrames(of: talk.callee).of("offer").isEmpty)
    }
}
