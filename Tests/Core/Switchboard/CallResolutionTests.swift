import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

/// In these tests 11 calls 10, and 66 is a third user that knows the callId.
@Suite("The call that a callId refers to")
struct CallResolutionTests {
    private static let sdp = #","sdp":"v=0\r\ns=b\r\n""#

    /// Opens a connection of the third user, which sends an offer under the callId of the other users' call.
    private func outsider(_ world: SwitchboardWorld, _ callID: String, to: String = "10") throws -> SocketID {
        let connection = try world.open("66", "x1")
        world.send(connection, SwitchboardWorld.offer(callID, to: to, id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        return connection
    }

    @Test("A third user's offer under the callId of a live call is hidden from the callee, and its sender sees it ring")
    func hidden() throws {
        let talk = try Talk()
        talk.clear()
        let outsider = try outsider(talk.world, "c-1")
        #expect(talk.world.takeFrames(of: talk.callee).isEmpty)
        let heard = talk.world.takeFrames(of: outsider)
        #expect(heard.types == ["welcome", "call", "ack"])
        #expect(heard.states == ["ringing"])
        #expect(talk.world.events("name_taken").count == 1)
        #expect(talk.world.switchboard.metrics.callsHidden == [.callIDTaken: 1])
    }

    @Test("An answer that names no peer goes to the caller, not to the third user", arguments: ["answer", "POST"])
    func answer(_ way: String) throws {
        let talk = try Talk()
        let outsider = try outsider(talk.world, "c-1")
        talk.clear()
        _ = talk.world.takeFrames(of: outsider)
        if way == "answer" {
            talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        } else {
            let body = #"{"callId":"c-1","action":"answer","deviceId":"b1","data":{"sdp":"v=0\r\ns=b\r\n"}}"#
            #expect(try talk.world.post(try principal("10"), body).status == 200)
        }
        #expect(talk.world.takeFrames(of: talk.caller).of("answer").count == 1)
        #expect(talk.world.takeFrames(of: outsider).isEmpty)
        let fetched = try talk.world.fetched(try principal("10"), "c-1", device: "b1")
        #expect(fetched["room"] == "p2p:11-10")
    }

    @Test("A third user's hidden call ends at its ring timeout, even if the live call has ended before")
    func timesOut() throws {
        let talk = try Talk.answered()
        let outsider = try outsider(talk.world, "c-1")
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        _ = talk.world.takeFrames(of: outsider)
        talk.clear()
        talk.world.wait(50)
        #expect(talk.world.takeFrames(of: outsider).states == ["ended unanswered"])
        #expect(talk.world.takeFrames(of: talk.callee).isEmpty)
    }

    @Test("If `whenBusy` is `busy`, a third user's call ends as busy, even if its callId is that of a live call")
    func busy() throws {
        let talk = try Talk.answered(SwitchboardWorld { $0.whenBusy = .busy })
        let outsider = try outsider(talk.world, "c-1")
        #expect(talk.world.takeFrames(of: outsider).states.last == "ended busy")
        talk.world.send(outsider, SwitchboardWorld.offer("c-other", to: "10", id: "y"))
        #expect(talk.world.takeFrames(of: outsider).states.last == "ended busy")
    }

    @Test("The timeline of a call is not replaced by that of a third user's later hidden call")
    func timeline() throws {
        let talk = try Talk()
        _ = try outsider(talk.world, "c-1")
        let reply = try talk.world.reply(try principal("10"), .calls(.timeline(try call("c-1"))))
        #expect(reply.status == 200)
        #expect(!reply.text.contains("name_taken"))
    }

    @Test("After a restart a third user's call is still hidden, and an answer still goes to the other caller")
    func restarted() throws {
        let talk = try Talk()
        _ = try outsider(talk.world, "c-1")
        let world = talk.world.restarted()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        let outsider = try world.open("66", "x1")
        #expect(world.takeFrames(of: callee).of("offer").map { $0["from"] } == ["11"])
        _ = world.takeFrames(of: outsider)
        world.send(callee, SwitchboardWorld.answer("c-1"))
        #expect(world.takeFrames(of: caller).of("answer").count == 1)
        #expect(world.takeFrames(of: outsider).isEmpty)
    }

    @Test("A caller may use one callId for several callees; a signal that names no peer goes to the first call")
    func caller() throws {
        let talk = try Talk()
        let third = try talk.world.open("12", "d1")
        talk.world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "12", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        #expect(talk.world.takeFrames(of: third).of("offer").count == 1)
        talk.clear()
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i1"))
        #expect(talk.world.takeFrames(of: talk.callee).of("ice").count == 1)
        #expect(talk.world.takeFrames(of: third).of("ice").isEmpty)
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e1", more: #","to":"12""#))
        #expect(talk.world.takeFrames(of: third).states == ["ended cancelled"])
        #expect(talk.world.takeFrames(of: talk.callee).isEmpty)
    }

    @Test("A signal from one of the caller's devices goes to the call that this device makes")
    func devices() throws {
        let talk = try Talk()
        let third = try talk.world.open("12", "d1")
        let tablet = try talk.world.open("11", "a2")
        talk.world.send(tablet, SwitchboardWorld.offer("c-1", to: "12", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        talk.clear()
        _ = talk.world.takeFrames(of: third)
        talk.world.send(tablet, SwitchboardWorld.ice("c-1", id: "i1"))
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i2"))
        #expect(talk.world.takeFrames(of: third).of("ice").map { $0["id"] } == ["i1"])
        #expect(talk.world.takeFrames(of: talk.callee).of("ice").map { $0["id"] } == ["i2"])
    }

    @Test("A callId made of two users' ids belongs to these two, even if a third user rings under it first")
    func namesTheTwo() throws {
        let world = SwitchboardWorld()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        let outsider = try outsider(world, "11-10")
        _ = world.takeFrames(of: callee)
        world.send(caller, SwitchboardWorld.plain("offer", "11-10", id: "o", more: #","sdp":"v=0\r\n""#))
        #expect(world.takeFrames(of: callee).of("offer").map { $0["from"] } == ["11"])
        _ = world.takeFrames(of: outsider)
        world.send(callee, SwitchboardWorld.answer("11-10"))
        #expect(world.takeFrames(of: caller).of("answer").count == 1)
        #expect(world.takeFrames(of: outsider).isEmpty)
    }

    @Test("A callId that fits two pairs (a dot stands for two characters) belongs to the pair that uses it first")
    func dots() throws {
        let world = SwitchboardWorld()
        let (one, other, callee) = (
            try world.open("a@b", "a1"), try world.open("a+b", "x1"), try world.open("10", "b1")
        )
        world.send(one, SwitchboardWorld.offer("a.b-10", to: "10"))
        world.send(other, SwitchboardWorld.offer("a.b-10", to: "10", id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        #expect(world.takeFrames(of: callee).of("offer").map { $0["from"] } == ["a@b"])
        for connection in [one, other] { _ = world.takeFrames(of: connection) }
        world.send(callee, SwitchboardWorld.answer("a.b-10"))
        #expect(world.takeFrames(of: one).of("answer").count == 1)
        #expect(world.takeFrames(of: other).isEmpty)
    }

    @Test("User 11 can call user 10 under the callId 11-10, even if a third user rings 11 under that callId")
    func ownOffer() throws {
        let world = SwitchboardWorld()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        _ = try outsider(world, "11-10", to: "11")
        world.send(caller, SwitchboardWorld.plain("offer", "11-10", id: "o", more: #","sdp":"v=0\r\n""#))
        #expect(world.takeFrames(of: caller).code == nil)
        #expect(world.takeFrames(of: callee).of("offer").map { $0["from"] } == ["11"])
    }

    @Test("After a call has ended, a third user's call under its callId rings as usual")
    func afterwards() throws {
        let talk = try Talk()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.pong(talk.callee)
        talk.world.wait(11)
        let outsider = try outsider(talk.world, "c-1")
        talk.world.pong(talk.callee)
        #expect(talk.world.takeFrames(of: talk.callee).of("offer").last?["from"] == "66")
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        #expect(talk.world.takeFrames(of: outsider).of("answer").count == 1)
    }

    @Test(
        "A late signal of an ended call does not reach the third user that rings under its callId",
        arguments: ["answer", "end"]
    )
    func late(_ type: String) throws {
        let talk = try Talk()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.pong(talk.callee)
        let outsider = try outsider(talk.world, "c-1")
        _ = talk.world.takeFrames(of: outsider)
        talk.clear()
        talk.world.send(
            talk.callee,
            type == "end" ? SwitchboardWorld.plain("end", "c-1", id: "l") : SwitchboardWorld.answer("c-1")
        )
        #expect(talk.world.takeFrames(of: talk.callee).code == "call_ended")
        #expect(talk.world.takeFrames(of: outsider).isEmpty)
        talk.world.send(talk.callee, SwitchboardWorld.plain("ringing", "c-1", id: "r", more: #","to":"66""#))
        #expect(talk.world.takeFrames(of: outsider).of("ringing").count == 1)
    }

    @Test("A device's late answer goes to a third user's call only after the device has confirmed the ended call's end")
    func unnotified() throws {
        let talk = try Talk()
        talk.world.give(.closed(talk.callee))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.wait(30)
        let outsider = try outsider(talk.world, "c-1")
        _ = talk.world.takeFrames(of: outsider)
        let callee = try talk.world.open("10", "b1")
        talk.world.send(callee, SwitchboardWorld.answer("c-1"))
        #expect(talk.world.takeFrames(of: callee).code == "call_ended")
        #expect(talk.world.takeFrames(of: outsider).isEmpty)
        talk.world.pong(callee)
        talk.world.wait(26)
        talk.world.pong(callee)
        talk.world.send(callee, SwitchboardWorld.answer("c-1", id: "a2", sdp: "v=0\\r\\ns=c\\r\\n"))
        #expect(talk.world.takeFrames(of: outsider).of("answer").count == 1)
    }

    @Test(
        "The callee's late signal goes to the ended call, although the caller's next call under the callId is hidden",
        arguments: [0, 20]
    )
    func unnotifiedAndHidden(_ seconds: Int64) throws {
        let talk = try Talk()
        talk.world.give(.closed(talk.callee))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.wait(11)
        let outsider = try outsider(talk.world, "c-1")
        talk.world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        #expect(talk.world.events("name_taken").count == 1)
        // With an argument of 20 seconds the first call is at rest by then.
        talk.world.wait(seconds)
        _ = talk.world.takeFrames(of: outsider)
        let callee = try talk.world.open("10", "b1")
        talk.world.send(callee, SwitchboardWorld.ice("c-1", id: "late"))
        #expect(talk.world.takeFrames(of: outsider).isEmpty)
        #expect(talk.world.takeFrames(of: callee).code == "call_ended")
    }

    @Test("A resent signal goes to the call that accepted it first, even if a third user rings under its callId")
    func again() throws {
        let talk = try Talk.answered()
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.pong(talk.callee)
        talk.world.wait(30)
        let outsider = try outsider(talk.world, "c-1")
        _ = talk.world.takeFrames(of: outsider)
        talk.clear()
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(talk.world.takeFrames(of: talk.callee).ack != nil)
        #expect(talk.world.takeFrames(of: outsider).isEmpty)
    }
}

@Suite("A push's capability when its callId is in use with several users")
struct CapabilityTests {
    /// A world in which 11 rings 10 under the callId of an answered call of 12 and 10; b1's capability for the answered
    /// call; and 12's connection.
    private func world() throws -> (SwitchboardWorld, Principal, SocketID) {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        let other = try world.open("12", "d1")
        world.send(other, SwitchboardWorld.offer("12-10", to: "10"))
        let answering = try world.open("10", "b2")
        world.send(answering, SwitchboardWorld.answer("12-10"))
        let caller = try world.open("11", "a1")
        world.give(.closed(answering))
        world.send(caller, SwitchboardWorld.offer("12-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        _ = world.takeFrames(of: other)
        let scope = CallScope(
            call: try call("12-10"),
            epoch: 1,
            peer: try user("12"),
            device: try device("b1")
        )
        return (world, Principal(user: try user("10"), scope: scope), other)
    }

    @Test("A capability answers the pushed call as its device, with candidates, and sends nothing else")
    func answerByCapability() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: nil, alert: "a1a1")
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("n", to: "10"))
        let scope = CallScope(call: try call("n"), epoch: 1, peer: try user("11"), device: try device("b1"))
        let capability = Principal(user: try user("10"), scope: scope)
        #expect(try world.post(capability, #"{"callId":"n","action":"ringing","data":{}}"#).status == 200)
        _ = world.takeFrames(of: a)
        let answer = try world.post(capability, #"{"callId":"n","action":"answer","id":"1","data":{"sdp":"v=0\r\n"}}"#)
        #expect(answer.status == 200 && answer["state"] == "answered", "\(answer.text)")
        let ice = #"{"callId":"n","action":"ice","id":"2","data":{"candidate":{"candidate":"x"}}}"#
        #expect(try world.post(capability, ice).status == 200)
        let frames = world.takeFrames(of: a)
        #expect(frames.of("answer").first?["fromDevice"] == "b1" && frames.of("ice").count == 1, "\(frames.types)")
        for (action, data) in [
            ("offer", #""sdp":"v=0\r\n""#), ("update", #""hold":true"#), ("dtmf", #""digits":"1""#),
            ("info", #""data":{}"#),
        ] {
            let body = #"{"callId":"n","action":"\#(action)","data":{\#(data)}}"#
            #expect(try world.post(capability, body).status == 403, "\(action)")
        }
    }

    @Test("A capability is refused for another peer or epoch, and a DELETE with it ends only the pushed call")
    func others() throws {
        let world = SwitchboardWorld()
        let (a, c) = (try world.open("11", "a1"), try world.open("12", "d1"))
        let b = try world.open("10", "b1")
        // 11 calls 10 and 10 calls 12 under one callId, because 10 chose to use it again.
        world.send(a, SwitchboardWorld.offer("n", to: "10"))
        world.send(b, SwitchboardWorld.offer("n", to: "12", id: "ob", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.send(c, SwitchboardWorld.answer("n"))
        _ = world.takeFrames(of: c)
        let scope = CallScope(call: try call("n"), epoch: 1, peer: try user("11"), device: try device("b1"))
        let capability = Principal(user: try user("10"), scope: scope)
        for body in [
            #"{"callId":"n","action":"end","to":"12","data":{}}"#,
            #"{"callId":"n","action":"end","room":"p2p:12-10","data":{}}"#,
            #"{"callId":"n","action":"ringing","to":"12","data":{}}"#,
        ] { #expect(try world.post(capability, body).status == 404, "\(body)") }
        #expect(try world.post(capability, #"{"callId":"n","action":"end","epoch":2,"data":{}}"#).status == 409)
        #expect(try world.reply(capability, .fetch(try call("n"), .init(peer: try user("12")))).status == 404)
        #expect(world.takeFrames(of: c).isEmpty)
        _ = world.takeFrames(of: a)
        #expect(try world.reply(capability, .end(try call("n"), device: nil)).status == 200)
        #expect(world.takeFrames(of: c).isEmpty)
        #expect(world.takeFrames(of: a).states == ["ended declined"])
    }

    @Test("A DELETE with a capability goes to the pushed call, and the response reports that this call has ended")
    func delete() throws {
        let (world, capability, other) = try world()
        world.send(other, SwitchboardWorld.plain("end", "12-10", id: "e", more: #","to":"10""#))
        // Another device has answered, so there is nothing for this device to end.
        #expect(try world.reply(capability, .end(try call("12-10"), device: nil))["state"] == "ended")
        // The other call under that callId still rings.
        #expect(world.switchboard.calls.live(of: try user("11")).count == 1)
    }
}
