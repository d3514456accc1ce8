import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The record of the call that a client has just begun with a peer")
struct CallLookupTests {
    private func record(_ world: SwitchboardWorld, _ user: String, with peer: String) throws -> Reply {
        try world.reply(try principal(user), .calls(.justBegun(with: try SwitchboardTests.user(peer))))
    }

    @Test("The record is that of the live call with the peer, no matter which of the two users began the call")
    func live() throws {
        let talk = try Talk()
        #expect(try record(talk.world, "11", with: "10")["callId"] == "c-1")
        #expect(try record(talk.world, "10", with: "11")["callId"] == "c-1")
        #expect(try record(talk.world, "11", with: "12").status == 404)
    }

    @Test("The record of an ended call is returned for as long as the call can be fetched")
    func ended() throws {
        let talk = try Talk()
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(try record(talk.world, "11", with: "10").text.contains(#""state":"ended","reason":"declined""#))
        talk.world.wait(talk.world.policy.fetchableFor)
        let late = try record(talk.world, "11", with: "10")
        #expect(late.status == 404)
        #expect(late["code"] == "not_found")
    }

    @Test("The record is not shown to a callee that has blocked the caller")
    func hidden() throws {
        let world = SwitchboardWorld()
        _ = try world.reply(try principal("10"), .blocks(.block(try SwitchboardTests.user("11"))))
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(try record(world, "11", with: "10")["callId"] == "c-1")
        #expect(try record(world, "10", with: "11").status == 404)
    }

    @Test("A request for the record of a call with oneself is refused")
    func oneself() throws {
        #expect(try record(SwitchboardWorld(), "11", with: "11")["field"] == "callee_id")
    }
}

@Suite("A caller's displayed name")
struct CallerNameTests {
    private func pushed(_ name: String, by caller: Principal) throws -> String {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        world.send(
            world.connect(caller, device: "a1"),
            SwitchboardWorld.offer("c-1", to: "10", more: #","displayName":"\#(name)""#)
        )
        return String(decoding: try #require(world.pushes.first).payload, as: UTF8.self)
    }

    @Test(
        "A blank name is ignored: the token's name is shown, or the user's id if that is blank too",
        arguments: ["", " ", "\\u3000\\t", "\\u200b", "\\u3164\\u2800", "\\u202e\\n"]
    )
    func blank(_ name: String) throws {
        var caller = try principal("11")
        #expect(try pushed(name, by: caller).contains(#""callerName":"Name of 11""#))
        caller.name = " "
        #expect(try pushed(name, by: caller).contains(#""callerName":"11""#))
        #expect(try pushed(" a ", by: caller).contains(#""callerName":" a ""#))
    }

    @Test("The callee's offer of a renegotiation carries the callee's name; the call's record keeps the caller's name")
    func renegotiation() throws {
        let talk = try Talk.answered()
        talk.clear()
        talk.world.send(
            talk.callee,
            SwitchboardWorld.plain("offer", "c-1", id: "r", more: #","sdp":"v=0\r\ns=again\r\n""#)
        )
        #expect(talk.world.takeFrames(of: talk.caller).of("offer").last?["displayName"] == "Name of 10")
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.commit()
        #expect(talk.world.record("c-1")?.displayName == "Name of 11")
    }
}
