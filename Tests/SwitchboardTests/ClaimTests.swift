import CallCore
import CallWire
import Testing

@testable import Switchboard

/// 11 calls 10; 66 is a stranger who knows the callId.
@Suite("Whose call it is that a callId names")
struct ClaimTests {
    private static let sdp = #","sdp":"v=0\r\ns=b\r\n""#

    /// A stranger's session, and the offer under the callId of the others' call.
    private func stranger(_ world: World, _ callID: String, to: String = "10") throws -> SessionID {
        let session = try world.open("66", "x1")
        world.send(session, World.offer(callID, to: to, id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        return session
    }

    @Test("a stranger who offers under the callId of a live call hears it ring, and the callee nothing")
    func hidden() throws {
        let talk = try Talk()
        talk.clear()
        let stranger = try stranger(talk.world, "c-1")
        #expect(talk.world.taken(talk.callee).isEmpty)
        let heard = talk.world.taken(stranger)
        #expect(heard.types == ["welcome", "call", "ack"])
        #expect(heard.states == ["ringing"])
        #expect(talk.world.events("name_taken").count == 1)
        #expect(talk.world.board.metrics.callsHidden == [.nameTaken: 1])
    }

    @Test("an answer that names no peer goes to the true caller", arguments: ["answer", "POST"])
    func answer(_ way: String) throws {
        let talk = try Talk()
        let stranger = try stranger(talk.world, "c-1")
        talk.clear()
        _ = talk.world.taken(stranger)
        if way == "answer" {
            talk.world.send(talk.callee, World.answer("c-1"))
        } else {
            let body = #"{"callId":"c-1","action":"answer","deviceId":"b1","data":{"sdp":"v=0\r\ns=b\r\n"}}"#
            #expect(try talk.world.post(try who("10"), body).status == 200)
        }
        #expect(talk.world.taken(talk.caller).of("answer").count == 1)
        #expect(talk.world.taken(stranger).isEmpty)
        let fetched = try talk.world.fetched(try who("10"), "c-1", device: "b1")
        #expect(fetched["room"] == "p2p:11-10")
    }

    @Test("a stranger's ring is over when it times out, whatever becomes of the call")
    func timesOut() throws {
        let talk = try Talk.answered()
        let stranger = try stranger(talk.world, "c-1")
        talk.world.send(talk.caller, World.plain("end", "c-1", id: "e"))
        _ = talk.world.taken(stranger)
        talk.clear()
        talk.world.wait(50)
        #expect(talk.world.taken(stranger).states == ["ended unanswered"])
        #expect(talk.world.taken(talk.callee).isEmpty)
    }

    @Test("a stranger can't tell by a busy callee that there is such a call")
    func busy() throws {
        let talk = try Talk.answered(World { $0.whenBusy = .busy })
        let stranger = try stranger(talk.world, "c-1")
        #expect(talk.world.taken(stranger).states.last == "ended busy")
        talk.world.send(stranger, World.offer("c-other", to: "10", id: "y"))
        #expect(talk.world.taken(stranger).states.last == "ended busy")
    }

    @Test("the timeline of a call is not hidden by a stranger's later one")
    func timeline() throws {
        let talk = try Talk()
        _ = try stranger(talk.world, "c-1")
        let reply = try talk.world.reply(try who("10"), .timeline(try call("c-1")))
        #expect(reply.status == 200)
        #expect(!reply.text.contains("name_taken"))
    }

    @Test("a restart changes nothing about it")
    func restarted() throws {
        let talk = try Talk()
        _ = try stranger(talk.world, "c-1")
        let world = talk.world.restarted()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        let stranger = try world.open("66", "x1")
        #expect(world.taken(callee).of("offer").map { $0["from"] } == ["11"])
        _ = world.taken(stranger)
        world.send(callee, World.answer("c-1"))
        #expect(world.taken(caller).of("answer").count == 1)
        #expect(world.taken(stranger).isEmpty)
    }

    @Test("a caller may use one callId with several; what names no peer means the first")
    func caller() throws {
        let talk = try Talk()
        let third = try talk.world.open("12", "d1")
        talk.world.send(talk.caller, World.offer("c-1", to: "12", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        #expect(talk.world.taken(third).of("offer").count == 1)
        talk.clear()
        talk.world.send(talk.caller, World.ice("c-1", id: "i1"))
        #expect(talk.world.taken(talk.callee).of("ice").count == 1)
        #expect(talk.world.taken(third).of("ice").isEmpty)
        talk.world.send(talk.caller, World.plain("end", "c-1", id: "e1", more: #","to":"12""#))
        #expect(talk.world.taken(third).states == ["ended cancelled"])
        #expect(talk.world.taken(talk.callee).isEmpty)
    }

    @Test("each device of a caller means the call that it makes")
    func devices() throws {
        let talk = try Talk()
        let third = try talk.world.open("12", "d1")
        let tablet = try talk.world.open("11", "a2")
        talk.world.send(tablet, World.offer("c-1", to: "12", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        talk.clear()
        _ = talk.world.taken(third)
        talk.world.send(tablet, World.ice("c-1", id: "i1"))
        talk.world.send(talk.caller, World.ice("c-1", id: "i2"))
        #expect(talk.world.taken(third).of("ice").map { $0["id"] } == ["i1"])
        #expect(talk.world.taken(talk.callee).of("ice").map { $0["id"] } == ["i2"])
    }

    @Test("a callId that names the two is theirs, though a stranger rings under it first")
    func namesTheTwo() throws {
        let world = World()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        let stranger = try stranger(world, "11-10")
        _ = world.taken(callee)
        world.send(caller, World.plain("offer", "11-10", id: "o", more: #","sdp":"v=0\r\n""#))
        #expect(world.taken(callee).of("offer").map { $0["from"] } == ["11"])
        _ = world.taken(stranger)
        world.send(callee, World.answer("11-10"))
        #expect(world.taken(caller).of("answer").count == 1)
        #expect(world.taken(stranger).isEmpty)
    }

    @Test("a callId that names two pairs, for a dot stands for two characters, is theirs who use it")
    func dots() throws {
        let world = World()
        let (one, other, callee) = (
            try world.open("a@b", "a1"), try world.open("a+b", "x1"), try world.open("10", "b1")
        )
        world.send(one, World.offer("a.b-10", to: "10"))
        world.send(other, World.offer("a.b-10", to: "10", id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        #expect(world.taken(callee).of("offer").map { $0["from"] } == ["a@b"])
        for session in [one, other] { _ = world.taken(session) }
        world.send(callee, World.answer("a.b-10"))
        #expect(world.taken(one).of("answer").count == 1)
        #expect(world.taken(other).isEmpty)
    }

    @Test("a stranger who rings the caller under its own callId keeps it from calling nobody")
    func ownOffer() throws {
        let world = World()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        _ = try stranger(world, "11-10", to: "11")
        world.send(caller, World.plain("offer", "11-10", id: "o", more: #","sdp":"v=0\r\n""#))
        #expect(world.taken(caller).code == nil)
        #expect(world.taken(callee).of("offer").map { $0["from"] } == ["11"])
    }

    @Test("a stranger's call under the name of one that is over is an ordinary one")
    func afterwards() throws {
        let talk = try Talk()
        talk.world.send(talk.caller, World.plain("end", "c-1", id: "e"))
        talk.world.pong(talk.callee)
        talk.world.wait(11)
        let stranger = try stranger(talk.world, "c-1")
        talk.world.pong(talk.callee)
        #expect(talk.world.taken(talk.callee).of("offer").last?["from"] == "66")
        talk.world.send(talk.callee, World.answer("c-1"))
        #expect(talk.world.taken(stranger).of("answer").count == 1)
    }

    @Test(
        "what is late of a call that is over does not reach a stranger who has its name",
        arguments: ["answer", "end"]
    )
    func late(_ type: String) throws {
        let talk = try Talk()
        talk.world.send(talk.caller, World.plain("end", "c-1", id: "e"))
        talk.world.pong(talk.callee)
        let stranger = try stranger(talk.world, "c-1")
        _ = talk.world.taken(stranger)
        talk.clear()
        talk.world.send(talk.callee, type == "end" ? World.plain("end", "c-1", id: "l") : World.answer("c-1"))
        #expect(talk.world.taken(talk.callee).code == "call_ended")
        #expect(talk.world.taken(stranger).isEmpty)
        talk.world.send(talk.callee, World.plain("ringing", "c-1", id: "r", more: #","to":"66""#))
        #expect(talk.world.taken(stranger).of("ringing").count == 1)
    }

    @Test("nor does what comes later from a device that has not been told of the end")
    func untold() throws {
        let talk = try Talk()
        talk.world.give(.closed(talk.callee))
        talk.world.send(talk.caller, World.plain("end", "c-1", id: "e"))
        talk.world.wait(30)
        let stranger = try stranger(talk.world, "c-1")
        _ = talk.world.taken(stranger)
        let callee = try talk.world.open("10", "b1")
        talk.world.send(callee, World.answer("c-1"))
        #expect(talk.world.taken(callee).code == "call_ended")
        #expect(talk.world.taken(stranger).isEmpty)
        talk.world.pong(callee)
        talk.world.wait(26)
        talk.world.pong(callee)
        talk.world.send(callee, World.answer("c-1", id: "a2", sdp: "v=0\\r\\ns=c\\r\\n"))
        #expect(talk.world.taken(stranger).of("answer").count == 1)
    }

    @Test(
        "nor where its true caller, who is kept from the callee meanwhile, calls again under the name",
        arguments: [0, 20]
    )
    func untoldAndHidden(_ seconds: Int64) throws {
        let talk = try Talk()
        talk.world.give(.closed(talk.callee))
        talk.world.send(talk.caller, World.plain("end", "c-1", id: "e"))
        talk.world.wait(11)
        let stranger = try stranger(talk.world, "c-1")
        talk.world.send(talk.caller, World.offer("c-1", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        #expect(talk.world.events("name_taken").count == 1)
        // By then the first call rests.
        talk.world.wait(seconds)
        _ = talk.world.taken(stranger)
        let callee = try talk.world.open("10", "b1")
        talk.world.send(callee, World.ice("c-1", id: "late"))
        #expect(talk.world.taken(stranger).isEmpty)
        #expect(talk.world.taken(callee).code == "call_ended")
    }

    @Test("a signal that was taken before means the call that took it")
    func again() throws {
        let talk = try Talk.answered()
        talk.world.send(talk.callee, World.plain("end", "c-1", id: "e"))
        talk.world.pong(talk.callee)
        talk.world.wait(30)
        let stranger = try stranger(talk.world, "c-1")
        _ = talk.world.taken(stranger)
        talk.clear()
        talk.world.send(talk.callee, World.plain("end", "c-1", id: "e"))
        #expect(talk.world.taken(talk.callee).ack != nil)
        #expect(talk.world.taken(stranger).isEmpty)
    }
}

@Suite("What a push's capability is good for, where a callId is in use with several")
struct CapabilityTests {
    /// 11 rings 10 under a name that 10 is in a call with 12 under.
    private func world() throws -> (World, Who, SessionID) {
        let world = World()
        try world.register(try who("10"), "b1", voip: "aa")
        let other = try world.open("12", "d1")
        world.send(other, World.offer("12-10", to: "10"))
        let answering = try world.open("10", "b2")
        world.send(answering, World.answer("12-10"))
        let caller = try world.open("11", "a1")
        world.give(.closed(answering))
        world.send(caller, World.offer("12-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        _ = world.taken(other)
        let scope = CallScope(
            call: try call("12-10"),
            epoch: 1,
            peer: try user("12"),
            device: try device("b1")
        )
        return (world, Who(user: try user("10"), scope: scope), other)
    }

    @Test("an end or ringing that names somebody else is of no such call")
    func others() throws {
        let world = World()
        let (a, c) = (try world.open("11", "a1"), try world.open("12", "d1"))
        let b = try world.open("10", "b1")
        // 10 calls 12 and 11 calls 10, under one name: 10's own doing.
        world.send(a, World.offer("n", to: "10"))
        world.send(b, World.offer("n", to: "12", id: "ob", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.send(c, World.answer("n"))
        _ = world.taken(c)
        let scope = CallScope(call: try call("n"), epoch: 1, peer: try user("11"), device: try device("b1"))
        let act = Who(user: try user("10"), scope: scope)
        for body in [
            #"{"callId":"n","action":"end","to":"12","data":{}}"#,
            #"{"callId":"n","action":"end","room":"p2p:12-10","data":{}}"#,
            #"{"callId":"n","action":"ringing","to":"12","data":{}}"#,
        ] { #expect(try world.post(act, body).status == 404, "\(body)") }
        #expect(try world.post(act, #"{"callId":"n","action":"end","epoch":2,"data":{}}"#).status == 409)
        #expect(try world.reply(act, .fetch(try call("n"), .init(peer: try user("12")))).status == 404)
        #expect(world.taken(c).isEmpty)
        _ = world.taken(a)
        #expect(try world.reply(act, .end(try call("n"), device: nil)).status == 200)
        #expect(world.taken(c).isEmpty)
        #expect(world.taken(a).states == ["ended declined"])
    }

    @Test("a DELETE is of the pushed call, and refused once it is over")
    func delete() throws {
        let (world, act, other) = try world()
        world.send(other, World.plain("end", "12-10", id: "e", more: #","to":"10""#))
        // Another device had answered: there is nothing to end for this one.
        #expect(try world.reply(act, .end(try call("12-10"), device: nil))["state"] == "ended")
        // The other call of that name still rings.
        #expect(world.board.calls.live(of: try user("11")).count == 1)
    }
}
