import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("Opening a connection")
struct OpeningTests {
    @Test("`welcome` comes first, with the id of the device or a generated id")
    func welcome() throws {
        let world = SwitchboardWorld()
        let named = try world.open("11", "a1")
        let nameless = world.connect(try principal("11"))
        let welcome = world.takeFrames(of: named)
        #expect(welcome.types == ["welcome"])
        #expect(welcome[0]["device"] == "a1")
        #expect(welcome[0]["heartbeat"] == "25")
        #expect(world.takeFrames(of: nameless)[0]["device"]?.hasPrefix("c-") == true)
        #expect(world.connect(try principal("12", device: "tablet")).rawValue == 3)
        #expect(world.takeFrames(of: SocketID(rawValue: 3))[0]["device"] == "tablet")
    }

    @Test("A live call is replayed right after `welcome`")
    func replay() throws {
        let talk = try Talk()
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i1"))
        let late = try talk.world.open("10", "b2")
        let frames = talk.world.takeFrames(of: late)
        #expect(frames.types == ["welcome", "offer", "ice"])
        #expect(frames.map(\.seq) == [0, 1, 3])
        #expect(frames[1]["callUUID"] == UUIDv5.call(try call("c-1"), epoch: 1))
    }

    @Test("A new connection of a device replaces the older connection, and the call continues")
    func replaced() throws {
        let talk = try Talk.answered()
        let again = try talk.world.open("10", "b1")
        #expect(talk.world.closes[talk.callee] == 4409)
        #expect(talk.world.takeFrames(of: again).types == ["welcome", "offer", "call"])
        talk.clear()
        talk.world.wait(40)
        talk.world.pong(again)
        talk.world.pong(talk.caller)
        #expect(!talk.world.takeFrames(of: talk.caller).states.contains("ended disconnected"))
    }

    @Test("A connection does not replace that of another user's device with the same device id")
    func otherUser() throws {
        let world = SwitchboardWorld()
        let first = try world.open("11", "iphone")
        _ = try world.open("10", "iphone")
        #expect(world.closes[first] == nil)
    }

    @Test("A user's 17th connection is refused, but not a connection that replaces a connection of its device")
    func tooMany() throws {
        let world = SwitchboardWorld()
        for index in 0..<16 { #expect(try world.closing("11", "a\(index)") == nil) }
        #expect(try world.closing("11", "a16") == 4429)
        #expect(try world.closing("11", "a3") == nil)
        #expect(try world.closing("10", "b1") == nil)
        #expect(world.switchboard.connectionCount == 17)
    }

    @Test("A device without an id gets its last connection's id again while a live call needs that id")
    func namelessAgain() throws {
        let world = SwitchboardWorld()
        let caller = world.connect(try principal("11"))
        let name = world.takeFrames(of: caller)[0]["device"]
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.give(.closed(caller))
        #expect(world.takeFrames(of: world.connect(try principal("11")))[0]["device"] == name)
        #expect(world.takeFrames(of: world.connect(try principal("11", token: 2)))[0]["device"] != name)
    }

    @Test(
        "A client without a device id continues its call, also under a token that it renewed while connected",
        arguments: [false, true]
    )
    func renewedWhileConnected(renews: Bool) throws {
        let world = SwitchboardWorld()
        let b = world.connect(try principal("10"))
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(b, SwitchboardWorld.answer("c-1"))
        if renews { world.give(.verified(b, id: nil, .success(try principal("10", token: 2)))) }
        world.give(.closed(b))
        let again = world.connect(try principal("10", token: renews ? 2 : 1))
        _ = world.takeFrames(of: again)
        for _ in 0..<8 { world.pong(a); world.pong(again); world.wait(10) }
        #expect(world.switchboard.calls.liveCount == 1)
    }

    @Test("A Socket.IO client with a new token and no device id acts as the device in the call that has no connection")
    func renewed() throws {
        let world = SwitchboardWorld()
        let first = try principal("11", token: 1).deviceIdentity(named: nil)
        let caller = world.join(try principal("11", token: 1))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(
            world.switchboard.deviceIdentity(opening: try principal("11", token: 2))
                == (try principal("11", token: 2).deviceIdentity(named: nil))
        )
        world.give(.closed(caller))
        #expect(world.switchboard.deviceIdentity(opening: try principal("11", token: 2)) == first)
        let again = world.join(try principal("11", token: 2))
        _ = world.takeFrames(of: again)
        world.send(try world.open("10", "b1"), SwitchboardWorld.answer("c-1"))
        #expect(world.takeFrames(of: again).types.contains("answer"))
        // A third token may belong to the same device or to another device: the server cannot tell while the device
        // with the second token is connected.
        #expect(world.switchboard.deviceIdentity(opening: try principal("11", token: 3)) != first)
    }

    @Test("If a user registered several devices without an id, each token of a Socket.IO client counts as a device")
    func renewedOfSeveral() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("11", token: 1), nil, voip: "aa")
        let joined = world.join(try principal("11", token: 1))
        world.send(joined, SwitchboardWorld.offer("c-1", to: "10"))
        let second = try principal("11", token: 2)
        #expect(
            world.switchboard.deviceIdentity(asking: second, named: nil)
                == (try principal("11", token: 1).deviceIdentity(named: nil))
        )
        // The user's only device has changed networks, and its old connection is not yet known to be dead.
        #expect(
            world.switchboard.deviceIdentity(opening: second)
                == (try principal("11", token: 1).deviceIdentity(named: nil))
        )
        try world.register(try principal("11", token: 1), nil, voip: "bb")
        #expect(world.switchboard.deviceIdentity(opening: second) == second.deviceIdentity(named: nil))
        #expect(world.switchboard.deviceIdentity(asking: second, named: nil) == second.deviceIdentity(named: nil))
        world.give(.closed(joined))
        #expect(world.switchboard.deviceIdentity(opening: second) == second.deviceIdentity(named: nil))
    }

    @Test("A device is notified once of a call that ended while it was away")
    func endNotices() throws {
        let talk = try Talk()
        talk.world.give(.closed(talk.callee))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let again = try talk.world.open("10", "b1")
        #expect(talk.world.takeFrames(of: again).states == ["ended cancelled"])
        // A written frame may be lost: only a pong to a later ping shows that the notification arrived.
        talk.world.wait(30)
        talk.world.pong(again)
        talk.world.give(.closed(again))
        #expect(talk.world.takeFrames(of: try talk.world.open("10", "b1")).types == ["welcome"])
    }

    @Test("A device is notified again of an end that was written after the last ping that it answered")
    func unconfirmedEndNotices() throws {
        let talk = try Talk()
        #expect(talk.world.pings[talk.callee] == 1)
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        // This answers the ping that was sent with the offer.
        talk.world.give(.ponged(talk.callee, 1))
        talk.world.give(.closed(talk.callee))
        #expect(talk.world.takeFrames(of: try talk.world.open("10", "b1")).states == ["ended cancelled"])
    }

    @Test("A device that lost the call while away is notified only that the call was answered elsewhere")
    func lost() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let (b1, b2) = (try world.open("10", "b1"), try world.open("10", "b2"))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.pong(b1)
        world.pong(b2)
        world.give(.closed(b2))
        world.send(b1, SwitchboardWorld.answer("c-1"))
        world.send(caller, SwitchboardWorld.ice("c-1", id: "i"))
        let again = world.takeFrames(of: try world.open("10", "b2"))
        #expect(again.types == ["welcome", "call"])
        #expect(again.states == ["ended answered_elsewhere"])
    }

    @Test("A user is shown nothing of other users' calls")
    func outsiders() throws {
        let talk = try Talk()
        let outsider = try talk.world.open("12", "x1")
        talk.world.send(outsider, SwitchboardWorld.ice("c-1", id: "i"))
        talk.world.send(outsider, SwitchboardWorld.plain("end", "nothing", id: "j"))
        let errors = talk.world.takeFrames(of: outsider).of("error")
        #expect(errors.map { $0["code"] } == ["not_found", "not_found"])
        #expect(errors[0]["message"] == errors[1]["message"])
        talk.clear()
        talk.world.send(outsider, #"{"type":"sync","id":"s","calls":{"c-1":0}}"#)
        #expect(talk.world.takeFrames(of: outsider).types == ["ack"])
    }
}

@Suite("The limits of a connection")
struct SessionLimitTests {
    @Test("A burst of signals is accepted, further signals are refused, and then 50 a second are accepted")
    func rate() throws {
        let talk = try Talk.answered()
        talk.clear()
        for index in 0..<300 { talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(index)")) }
        let frames = talk.world.takeFrames(of: talk.caller)
        #expect(frames.of("ack").count == 199)
        #expect(frames.of("error").count == 101)
        #expect(frames.code == "rate_limited")
        #expect(talk.world.switchboard.metrics.limited[.frames] == 101)
        talk.world.wait(1)
        for index in 300..<400 { talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(index)")) }
        #expect(talk.world.takeFrames(of: talk.caller).of("ack").count == 50)
    }

    @Test("The rate limit never refuses a hang-up")
    func end() throws {
        let talk = try Talk.answered()
        for index in 0..<300 { talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(index)")) }
        talk.clear()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(talk.world.takeFrames(of: talk.callee).states == ["ended hangup"])
    }

    @Test("A connection is closed after a thousand refused frames")
    func flood() throws {
        let talk = try Talk.answered()
        for index in 0..<1_198 { talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(index)")) }
        #expect(talk.world.closes[talk.caller] == nil)
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "last"))
        #expect(talk.world.closes[talk.caller] == 4429)
    }

    @Test("A connection is closed after ten frames in a row that are not JSON")
    func noJSON() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        for _ in 0..<9 { world.send(connection, "nonsense") }
        world.send(connection, #"{"type":"nonsense"}"#)
        for _ in 0..<9 { world.send(connection, "{") }
        #expect(world.closes[connection] == nil)
        world.send(connection, "[]")
        #expect(world.closes[connection] == 4400)
        #expect(world.takeFrames(of: connection).of("error").count == 20)
    }

    @Test("A user may begin 30 calls in a burst, and then one call every two seconds")
    func calls() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        for index in 0..<31 {
            world.send(connection, SwitchboardWorld.offer("c-\(index)", to: "b\(index)", id: "o\(index)"))
        }
        let frames = world.takeFrames(of: connection)
        #expect(frames.of("ack").count == 30)
        #expect(frames.code == "rate_limited")
        #expect(
            try world.post(try principal("11", token: 9), #"{"action":"offer","to":10,"data":{"sdp":"v=0\n"}}"#).status
                == 429
        )
        #expect(world.switchboard.metrics.limited[.newCalls] == 2)
        world.wait(2)
        world.send(connection, SwitchboardWorld.offer("again", to: "10", id: "again"))
        #expect(world.takeFrames(of: connection).of("ack").count == 1)
    }

    @Test("A user's requests above a burst of 200 are refused with Retry-After, but a hang-up never is")
    func requests() throws {
        let talk = try Talk.answered()
        let asking = try principal("11")
        var refused = 0
        for _ in 0..<250 { refused += try talk.world.fetched(asking, "c-1", device: "a1").status == 429 ? 1 : 0 }
        #expect(refused == 50)
        #expect(talk.world.switchboard.metrics.limited[.requests] == 50)
        let reply = try talk.world.fetched(asking, "c-1")
        #expect(reply.retryAfterSeconds == 1)
        #expect(try talk.world.reply(asking, .end(try call("c-1"), device: try device("a1"))).status == 200)
    }

    @Test("A renewal of the token adds no timer: each connection has one timer")
    func renewals() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        let before = world.switchboard.timerCount
        for _ in 0..<100 { world.give(.verified(connection, id: nil, .success(try principal("11")))) }
        #expect(world.switchboard.timerCount <= before + 1)
        for _ in 0..<10 {
            world.wait(20)
            world.pong(connection)
        }
        #expect(world.switchboard.timerCount <= before + 1)
    }
}
