import CallCore
import Testing

@testable import Switchboard

@Suite("A fetch that names the peer")
struct FetchByPeerTests {
    @Test("A fetch finds the call that its user knows, even if the blocked peer has used the callId again")
    func fetchBehindHidden() throws {
        let talk = try Talk()
        let world = talk.world
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        let by = { (peer: String?) in
            try world.reply(
                try principal("10"),
                .fetch(try call("c-1"), .init(peer: try peer.map { try user($0) }, device: try device("b1")))
            )
        }
        let plain = try by(nil)
        #expect(plain.status == 200)
        let named = try by("11")
        #expect(named.status == 200 && named.text == plain.text)
        // The result is the same when the call is at rest.
        world.wait(60)
        #expect(try by("11").status == 200)
    }

    @Test("If two users block each other and both begin a call with one callId, each fetches the newest call they made")
    func fetchWhenBothBlock() throws {
        let talk = try Talk()
        let world = talk.world
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        _ = try world.reply(try principal("11"), .blocks(.block(try user("10"))))
        world.send(talk.callee, SwitchboardWorld.offer("c-1", to: "11", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10", id: "o3", sdp: "v=0\\r\\ns=3\\r\\n"))
        let epoch = { (name: String, device: String, peer: String?) throws -> String? in
            let peer = try peer.map { try user($0) }
            let fetch = Switchboard.Fetch(peer: peer, device: try SwitchboardTests.device(device))
            let reply = try world.reply(try principal(name), .fetch(try call("c-1"), fetch))
            return reply.text.firstMatch(of: /"epoch":(\d+)/).map { String($0.1) }
        }
        // The calls are fetched from memory first. Later they are at rest, and each fetch loads them.
        for seconds: Int64 in [0, 20, 20] {
            world.wait(seconds)
            #expect(try epoch("10", "b1", "11") == "2")
            #expect(try epoch("10", "b1", nil) == "2")
            #expect(try epoch("11", "a1", "10") == "3")
            #expect(try epoch("11", "a1", nil) == "3")
        }
    }
}
