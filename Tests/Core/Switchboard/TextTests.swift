import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

extension SwitchboardWorld {
    /// Opens a connection of a client without a cursor and without a device id; its token stands for its device.
    func openWithoutCursor(
        _ user: String,
        token: UInt64 = 1,
        seen: [LogIdentity: UInt64] = [:],
        connection id: UInt64
    ) throws -> SocketID {
        let principal = try principal(user, token: token)
        let connection = SocketID(rawValue: id)
        give(.joined(connection, principal, device: DeviceIdentity(unnamed: principal.fingerprint).id, seen: seen))
        return connection
    }
}

@Suite("A text from user to user")
struct TextTests {
    private let text = #"{"type":"message","id":"m","to":"10","body":"hi","displayName":"Taro"}"#

    @Test("A text without a visible character is refused", arguments: ["", " ", "\u{200B}", "\u{3164}", "\\n"])
    func invisible(_ body: String) throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: nil, alert: "cc")
        let sender = try world.open("11", "a1")
        world.send(sender, #"{"type":"message","id":"m","to":"10","body":"\#(body)"}"#)
        let error = try #require(world.takeFrames(of: sender).of("error").first)
        #expect(error["code"] == "invalid_field" && error["field"] == "body")
        #expect(world.pushes.isEmpty)
    }

    @Test("A text reaches every connection of its addressee, and no other user")
    func relayed() throws {
        let world = SwitchboardWorld()
        let sender = try world.open("11", "a1")
        let other = [try world.open("10", "b1"), try world.open("10", "b2")]
        let unrelated = try world.open("12", "c1")
        for connection in other + [sender, unrelated] { _ = world.takeFrames(of: connection) }
        world.send(sender, text)
        for connection in other {
            let frame = try #require(world.takeFrames(of: connection).of("message").first)
            #expect([frame["from"], frame["fromDevice"], frame["body"], frame["to"]] == ["11", "a1", "hi", "10"])
        }
        #expect(world.takeFrames(of: unrelated).isEmpty)
        #expect(world.takeFrames(of: sender).ack?["online"] == "true")
        #expect(world.takenPushes().isEmpty)
    }

    @Test("A text to an offline user is pushed to devices with an alert push token, at most 30 times a minute")
    func pushed() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa", alert: "bb")
        try world.register(try principal("10"), "b2", voip: "cc")
        let sender = try world.open("11", "a1")
        world.send(sender, text)
        let pushes = world.takenPushes()
        #expect(pushes.map(\.route.token) == ["bb"])
        #expect(pushes.first?.route.kind == .alert)
        #expect(pushes.first?.route.topic == "com.example.app")
        #expect(pushes.first.map { String(decoding: $0.payload, as: UTF8.self).contains(#""body":"hi""#) } == true)
        #expect(world.takeFrames(of: sender).ack?["online"] == "false")
        for _ in 0..<60 { world.send(sender, text) }
        #expect(world.takenPushes().count == 29)
        world.respondToPush(try #require(pushes.first), 410, "Unregistered", at: world.now)
        #expect(try world.reply(try principal("10"), .devices(.list)).text.contains(#""apnsDeviceToken":null"#))
    }

    @Test("A text that is too long for a push is cut in the push")
    func long() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", alert: "bb")
        let sender = try world.open("11", "a1")
        let body = String(repeating: "é", count: 6_000)
        world.send(sender, #"{"type":"message","id":"m","to":"10","body":"\#(body)"}"#)
        let payload = try #require(world.takenPushes().first).payload
        #expect(payload.count <= 4_096 && payload.count > 1_000)
        world.send(sender, #"{"type":"message","id":"m","to":"10","body":"\#(body)\#(body)"}"#)
        #expect(world.takeFrames(of: sender).code == "too_large")
    }

    @Test("A text is pushed only if its addressee's connection does not answer the probe")
    func deadConnection() throws {
        for isAlive in [false, true] {
            let world = SwitchboardWorld()
            try world.register(try principal("10"), "b1", alert: "bb")
            let sender = try world.open("11", "a1")
            let other = try world.open("10", "b1")
            world.send(sender, text)
            #expect(world.pings[other] == 1)
            if isAlive { world.pong(other) }
            world.wait(3)
            #expect(world.takenPushes().count == (isAlive ? 0 : 1))
            #expect((world.closes[other] == nil) == isAlive)
            world.give(.closed(other))
            #expect(world.takenPushes().isEmpty)
        }
    }

    @Test("A text that one of two connections has confirmed is not pushed when the other connection closes")
    func oneOfTwo() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", alert: "bb")
        let sender = try world.open("11", "a1")
        let dead = try world.open("10", "b1")
        let alive = try world.open("10", "b2")
        world.send(sender, text)
        world.pong(alive)
        world.give(.closed(dead))
        #expect(world.takenPushes().isEmpty)
    }

    @Test("Only the pong to a text's ping, or to a later ping, shows that the text arrived")
    func newestPong() throws {
        for answered in [2, 3] as [UInt64] {
            let world = SwitchboardWorld()
            try world.register(try principal("10"), "b1", alert: "bb")
            let sender = try world.open("11", "a1")
            let other = try world.open("10", "b1")
            for _ in 1...3 { world.send(sender, text) }
            #expect(world.pings[other] == 3)
            world.give(.ponged(other, answered))
            world.give(.closed(other))
            #expect(world.takenPushes().count == (answered == 3 ? 0 : 1))
        }
    }

    @Test("Up to 64 texts wait for the pong of a client that sends other signs of life; further texts are pushed")
    func unanswered() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", alert: "bb")
        let sender = try world.open("11", "a1")
        let other = try world.open("10", "b1")
        for index in 1...70 {
            world.send(sender, text)
            world.give(.signOfLife(other))
            #expect(world.takenPushes().count == (index <= 64 ? 0 : 1))
        }
        #expect(world.closes[other] == nil)
        world.pong(other)
        world.give(.closed(other))
        #expect(world.takenPushes().isEmpty)
    }

    @Test("A blocked sender's text is not delivered, and its ack looks ordinary; do-not-disturb stops the push")
    func hidden() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", alert: "bb")
        let sender = try world.open("11", "a1")
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(60))))
        world.send(sender, text)
        #expect(world.takenPushes().isEmpty)
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: nil)))
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        let other = try world.open("10", "b1")
        _ = world.takeFrames(of: other)
        world.send(sender, text)
        #expect(world.takeFrames(of: other).isEmpty)
        #expect(world.takeFrames(of: sender).ack?["online"] == "false")
    }

    @Test(
        "A text to nobody, to oneself or without a body is refused",
        arguments: [#""to":"10""#, #""body":"x""#, #""to":"11","body":"x""#]
    )
    func faults(_ members: String) throws {
        let world = SwitchboardWorld()
        let sender = try world.open("11", "a1")
        world.send(sender, #"{"type":"message","id":"m",\#(members)}"#)
        #expect(world.takeFrames(of: sender).code == "invalid_field")
    }
}

@Suite("A client without a cursor")
struct PlaceTests {
    private func log(_ epoch: UInt32 = 1) throws -> LogIdentity {
        LogIdentity(callID: try call("11-10"), room: "p2p:11-10", epoch: epoch)
    }

    @Test("All entries of a ringing call are sent, no matter how many of them have reached the device")
    func ringing() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10"))
        world.send(caller, SwitchboardWorld.ice("11-10", id: "i1"))
        let callee = try world.openWithoutCursor("10", seen: [try log(): 99], connection: 1 << 40)
        #expect(world.takeFrames(of: callee).types == ["welcome", "offer", "ice", "presence"])
    }

    @Test("A device is sent the entries of an answered call that it lacks, but no answered offer")
    func answered() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10"))
        world.send(caller, SwitchboardWorld.ice("11-10", id: "i1"))
        _ = try world.post(
            try principal("10"),
            #"{"action":"answer","callId":"11-10","data":{"sdp":"v=0\r\ns=b\r\n"}}"#
        )
        let first = try world.openWithoutCursor("10", connection: 1 << 40)
        let frames = world.takeFrames(of: first)
        #expect(frames.types == ["welcome", "ice", "call", "presence"])
        let last = try #require(frames.of("call").last).seq
        world.give(.closed(first))
        world.send(caller, SwitchboardWorld.ice("11-10", id: "i2"))
        let second = try world.openWithoutCursor("10", seen: [try log(): last], connection: 2 << 40)
        #expect(
            world.takeFrames(of: second).types == ["welcome", "call", "ice", "presence"],
            "and the state of the call again"
        )
        world.give(.closed(second))
        let third = try world.openWithoutCursor("10", seen: [try log(2): 999], connection: 3 << 40)
        #expect(world.takeFrames(of: third).of("ice").count == 2, "a cursor of another epoch does not count")
    }

    @Test("A client's connections do not replace each other; together with its requests they are one device")
    func device() throws {
        let world = SwitchboardWorld()
        let one = try world.openWithoutCursor("10", connection: 1 << 40)
        let two = try world.openWithoutCursor("10", connection: 2 << 40)
        #expect(world.closes.isEmpty)
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10"))
        #expect(world.takeFrames(of: one).types.contains("offer") && world.takeFrames(of: two).types.contains("offer"))
        world.send(one, #"{"type":"answer","id":"x","to":"11","sdp":"v=0\r\ns=b\r\n"}"#)
        let reply = try world.post(
            try principal("10"),
            #"{"action":"answer","callId":"11-10","data":{"sdp":"v=0\r\ns=b\r\n"}}"#
        )
        #expect(reply.status == 200)
        #expect(!world.takeFrames(of: two).states.contains("ended answered_elsewhere"))
    }

    @Test("A registration without a device id is not pushed if a client without a device id answers its probe")
    func deadConnection() throws {
        for isAlive in [true, false] {
            let world = SwitchboardWorld()
            try world.register(try principal("10"), nil)
            let callee = try world.openWithoutCursor("10", connection: 1 << 40)
            let caller = try world.open("11", "a1")
            world.send(caller, SwitchboardWorld.offer("11-10", to: "10"))
            #expect(world.takenPushes().isEmpty)
            if isAlive { world.give(.signOfLife(callee)) }
            world.wait(3)
            #expect(world.takenPushes().count == (isAlive ? 0 : 1))
        }
    }

    @Test("A copy of an offer that comes over a second transport after the call's end begins no other call")
    func doubleOffer() throws {
        let world = SwitchboardWorld()
        let callee = try world.open("10", "b1")
        let caller = try world.openWithoutCursor("11", connection: 1 << 40)
        let offer = #"{"type":"offer","id":"s","callId":"11-10","to":"10","sdp":"v=0\r\n"}"#
        _ = try world.post(try principal("11"), #"{"action":"offer","callId":"11-10","data":{"sdp":"v=0\r\n"}}"#)
        world.send(callee, SwitchboardWorld.plain("end", "11-10", id: "e"))
        _ = world.takeFrames(of: callee)
        world.send(caller, offer)
        #expect(world.takeFrames(of: callee).isEmpty)
        #expect(world.takeFrames(of: caller).ack?["seq"] == "1")
        world.send(caller, offer.replacing("\"s\"", with: "\"t\""))
        #expect(
            world.takeFrames(of: callee).types.contains("offer"),
            "both copies had come before: this is another call"
        )
    }
}
