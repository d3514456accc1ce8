import CallCore
import Testing

@testable import Switchboard

@Suite("A fetch that names the peer")
struct ReaderFetchTests {
    @Test("A fetch finds the call that its user knows, although the blocked peer has used the callId again")
    func fetchBehindHidden() throws {
        let talk = try Talk()
        let world = talk.world
        world.send(talk.caller, World.plain("end", "c-1", id: "e"))
        _ = try world.reply(try who("10"), .block(try user("11")))
        world.send(talk.caller, World.offer("c-1", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        let by = { (peer: String?) in
            try world.reply(
                try who("10"),
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
}
