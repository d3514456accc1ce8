import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("A room without a call")
struct RoomPresenceTests {
    private func enter(_ world: SwitchboardWorld, _ connection: SocketID, _ room: String, type: String = "join") {
        world.send(connection, #"{"type":"\#(type)","id":"r","room":"\#(room)"}"#)
    }

    @Test("Each member is told who is there, who comes and who leaves, under the room name that the member used")
    func pair() throws {
        let world = SwitchboardWorld()
        let (a, b) = (try world.open("11", "a1"), try world.open("10", "b1"))
        enter(world, a, "p2p:11-10")
        #expect(world.takeFrames(of: a).types == ["welcome", "ack"])
        enter(world, b, "p2p:10-11")
        let seen = world.takeFrames(of: b).of("peer")
        #expect(seen.map { $0["user"] } == ["11"])
        #expect(seen.map { $0["room"] } == ["p2p:10-11"])
        let told = world.takeFrames(of: a).of("peer")
        #expect(told.map { $0["device"] } == ["b1"])
        #expect(told.map { $0["present"] } == ["true"])
        #expect(told.map { $0["room"] } == ["p2p:11-10"])
        enter(world, b, "p2p:10-11", type: "leave")
        #expect(world.takeFrames(of: a).of("peer").map { $0["present"] } == ["false"])
        enter(world, b, "p2p:10-11", type: "leave")
        #expect(world.takeFrames(of: a).isEmpty)
    }

    @Test("A room is entered once, however often a connection joins")
    func twice() throws {
        let world = SwitchboardWorld()
        let (a, b) = (try world.open("11", "a1"), try world.open("10", "b1"))
        enter(world, a, "p2p:11-10")
        enter(world, b, "p2p:11-10")
        _ = world.takeFrames(of: a)
        enter(world, b, "p2p:11-10")
        enter(world, b, "p2p:10-11")
        #expect(world.takeFrames(of: a).isEmpty)
        #expect(world.takeFrames(of: b).ack != nil)
    }

    @Test("A `p2p:` room that names one user twice is refused", arguments: ["join", "leave"])
    func oneself(_ type: String) throws {
        let world = SwitchboardWorld()
        let a = try world.open("11", "a1")
        _ = world.takeFrames(of: a)
        enter(world, a, "p2p:11-11", type: type)
        let error = try #require(world.takeFrames(of: a).first)
        #expect(error["code"] == "invalid_field" && error["field"] == "room")
        #expect(world.switchboard.connections.roomCount == 0)
    }

    @Test("A connection that closes leaves its rooms")
    func closed() throws {
        let world = SwitchboardWorld()
        let (a, b) = (try world.open("11", "a1"), try world.open("10", "b1"))
        enter(world, a, "p2p:11-10")
        enter(world, b, "p2p:11-10")
        _ = world.takeFrames(of: a)
        world.give(.closed(b))
        #expect(world.takeFrames(of: a).map { $0["present"] } == ["false"])
        world.give(.closed(a))
        #expect(world.switchboard.connections.roomCount == 0)
    }

    @Test("A group room is open to users whose token contains the room")
    func group() throws {
        let world = SwitchboardWorld()
        var member = try principal("11")
        member.rooms = ["room:x"]
        let (a, b) = (world.connect(member, device: "a1"), try world.open("10", "b1"))
        enter(world, a, "room:x")
        #expect(world.takeFrames(of: a).ack != nil)
        enter(world, b, "room:x")
        #expect(world.takeFrames(of: b).code == "forbidden")
        enter(world, a, "room:y")
        #expect(world.takeFrames(of: a).code == "forbidden")
        #expect(world.takeFrames(of: a).isEmpty)
    }

    @Test("A connection leaves a group room if its new token does not contain that room")
    func lost() throws {
        let world = SwitchboardWorld()
        var member = try principal("11")
        member.rooms = ["room:x", "room:y"]
        let a = world.connect(member, device: "a1")
        var other = try principal("10")
        other.rooms = ["room:x", "room:y"]
        let b = world.connect(other, device: "b1")
        for connection in [a, b] { for room in ["room:x", "room:y", "p2p:11-10"] { enter(world, connection, room) } }
        _ = (world.takeFrames(of: a), world.takeFrames(of: b))
        member.rooms = ["room:y"]
        world.give(.verified(a, id: SignalID("t"), .success(member)))
        let told = world.takeFrames(of: a)
        #expect(told.types == ["peer", "ack"])
        #expect(
            told.first.map { [$0["room"], $0["user"], $0["device"], $0["present"]] } == ["room:x", "11", "a1", "false"]
        )
        #expect(
            world.takeFrames(of: b).map { [$0["room"], $0["user"], $0["present"]] } == [["room:x", "11", "false"]]
        )
        #expect(world.switchboard.connections.members(of: .group("room:x")).count == 1)
        enter(world, a, "room:x")
        #expect(world.takeFrames(of: a).code == "forbidden")
    }

    @Test("A blocked user is not shown the presence of the user that blocks them")
    func blocked() throws {
        let world = SwitchboardWorld()
        let (a, b) = (try world.open("11", "a1"), try world.open("10", "b1"))
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        enter(world, a, "p2p:11-10")
        _ = world.takeFrames(of: a)
        enter(world, b, "p2p:11-10")
        #expect(world.takeFrames(of: a).isEmpty)
        #expect(world.takeFrames(of: b).of("peer").map { $0["user"] } == ["11"])
        enter(world, b, "p2p:11-10", type: "leave")
        #expect(world.takeFrames(of: a).isEmpty)
        enter(world, b, "p2p:11-10")
        _ = try world.reply(try principal("10"), .blocks(.unblock(try user("11"))))
        #expect(world.takeFrames(of: a).of("peer").map { $0["present"] } == ["true"])
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        #expect(world.takeFrames(of: a).of("peer").map { $0["present"] } == ["false"])
    }

    @Test("A room of other users is forbidden, and a malformed room is an invalid field")
    func wrong() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        enter(world, connection, "p2p:12-13")
        #expect(world.takeFrames(of: connection).code == "forbidden")
        enter(world, connection, "hall")
        #expect(world.takeFrames(of: connection).of("error").last?["field"] == "room")
    }

    @Test("An offer is refused for a group room, for other users' rooms, and for a wrong room or addressee")
    func offers() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        for (room, code) in [("room:x", "forbidden"), ("p2p:12-13", "forbidden"), ("hall", "invalid_field")] {
            world.send(connection, #"{"type":"offer","id":"o","callId":"c","room":"\#(room)","sdp":"v=0\r\n"}"#)
            #expect(world.takeFrames(of: connection).code == code, "\(room)")
        }
        for more in [#""to":"11""#, #""room":"p2p:11-11""#, #""room":"p2p:11-10","to":"12""#] {
            world.send(connection, #"{"type":"offer","id":"o","callId":"c",\#(more),"sdp":"v=0\r\n"}"#)
            #expect(world.takeFrames(of: connection).code == "invalid_field", "\(more)")
        }
        world.send(connection, #"{"type":"offer","id":"o","callId":"c","sdp":"v=0\r\n"}"#)
        #expect(world.takeFrames(of: connection).of("error").last?["field"] == "to")
    }

    @Test("An offer is relayed with the room name that its caller used")
    func name() throws {
        let world = SwitchboardWorld()
        let (a, b) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(a, #"{"type":"offer","id":"o","callId":"c","room":"p2p:10-11","sdp":"v=0\r\n"}"#)
        #expect(world.takeFrames(of: b).of("offer").first?["room"] == "p2p:10-11")
        #expect(world.takeFrames(of: b).isEmpty)
    }
}

@Suite("Glare: two users that call each other")
struct GlareWorldTests {
    private func ring(_ first: String, _ second: String) throws -> (SwitchboardWorld, a: SocketID, b: SocketID) {
        let world = SwitchboardWorld()
        let (a, b) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(a, SwitchboardWorld.offer(first, to: "10"))
        world.send(b, SwitchboardWorld.offer(second, to: "11"))
        return (world, a, b)
    }

    @Test("The call whose callId sorts first by its bytes wins when it came first")
    func firstWins() throws {
        let (world, a, b) = try ring("a", "b")
        let loser = world.takeFrames(of: b)
        #expect(loser.ack?["reason"] == "glare")
        #expect(loser.ack?["replacedBy"] == "a")
        #expect(loser.states == ["ringing", "ended glare"])
        #expect(world.takeFrames(of: a).of("offer").isEmpty, "the losing call never rings")
        world.send(b, SwitchboardWorld.answer("a"))
        #expect(world.takeFrames(of: a).states.last == "answered")
    }

    @Test("The call whose callId sorts first by its bytes wins when it came second")
    func secondWins() throws {
        let (world, a, b) = try ring("b", "a")
        let loser = world.takeFrames(of: a)
        #expect(loser.states == ["ringing", "ended glare"])
        #expect(loser.of("call").last?["replacedBy"] == "a")
        #expect(loser.of("offer").first?["callId"] == "a")
        world.send(a, SwitchboardWorld.answer("a"))
        #expect(world.takeFrames(of: b).states.last == "answered")
    }

    @Test("A request whose call loses the glare gets 200 with the reason")
    func byRequest() throws {
        let world = SwitchboardWorld()
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("a", to: "10"))
        let reply = try world.post(
            try principal("10"),
            #"{"action":"offer","callId":"b","to":11,"data":{"sdp":"v=0\n"}}"#
        )
        #expect(reply.status == 200)
        #expect(reply["state"] == "ended")
        #expect(reply["reason"] == "glare")
        #expect(reply["replacedBy"] == "a")
        #expect(try world.fetched(try principal("10"), "b")["replacedBy"] == "a")
    }

    @Test("An answered call, or a call of another pair, causes no glare")
    func noGlare() throws {
        let talk = try Talk.answered(callID: "a")
        talk.clear()
        talk.world.send(talk.callee, SwitchboardWorld.offer("b", to: "11"))
        #expect(talk.world.takeFrames(of: talk.caller).of("offer").count == 1)
        let other = try talk.world.open("12", "x1")
        talk.world.send(other, SwitchboardWorld.offer("0", to: "10"))
        #expect(talk.world.takeFrames(of: other).states == ["ringing"])
    }

    @Test("No device is pushed for the losing call")
    func noPush() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("11"), "a2", voip: "aa")
        let (a, b) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(a, SwitchboardWorld.offer("a", to: "10"))
        world.send(b, SwitchboardWorld.offer("b", to: "11"))
        #expect(world.pushes.isEmpty)
    }
}
