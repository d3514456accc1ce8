import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Ringing a callee")
struct RingingTests {
    /// A world in which 11 is connected, and 10 has the device b1 with a VoIP token.
    private func world(_ adjust: (inout Policy) -> Void = { _ in }) throws -> (SwitchboardWorld, SocketID) {
        let world = SwitchboardWorld(adjust)
        try world.register(try principal("10"), "b1", voip: "b1b1")
        return (world, try world.open("11", "a1"))
    }

    @Test("A device without a connection is pushed immediately, and the push contains all that its app needs to ring")
    func push() throws {
        let (world, caller) = try world()
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", more: #","displayName":"山田","hasVideo":true"#))
        let push = try #require(world.takenPushes().first)
        #expect(push.route.token == "b1b1")
        #expect(push.route.topic == "com.example.app.voip")
        #expect(push.route.kind == .voip)
        #expect(push.route.environment == .production)
        #expect(push.expiresAt == world.now + .seconds(45))
        let payload = Reply(body: push.payload)
        #expect(payload["type"] == "call.incoming")
        #expect(payload["callUUID"] == UUIDv5.call(try call("c-1"), epoch: 1))
        #expect(payload["fromDisplayName"] == "山田")
        #expect(payload["callerName"] == "山田")
        #expect(payload["hasVideo"] == "true")
        #expect(payload["offer"] == "v=0\r\n")
        #expect(payload["ringUntil"] == "\(world.now.milliseconds + 45_000)")
        #expect(payload["act"] == "act-c-1-1-10-b1-\(world.now.milliseconds + 105_000)")
    }

    @Test("An offer that makes a push too large is left out, and the name is cut until the push fits")
    func largePayload() throws {
        let (world, caller) = try world()
        let name = String(repeating: "👨‍👩‍👧‍👦", count: 256)
        let sdp = "v=0\\r\\n" + String(repeating: "a=x\\r\\n", count: 1_000)
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", sdp: sdp, more: #","displayName":"\#(name)""#))
        let payload = try #require(world.takenPushes().first).payload
        #expect(payload.count <= 5_120)
        #expect(Reply(body: payload)["offer"] == nil)
        #expect(Reply(body: payload)["fromDisplayName"]?.hasPrefix("👨‍👩‍👧‍👦") == true)
    }

    @Test("A push has the keys that the device's app wants besides, and without them if it does not fit otherwise")
    func aliases() throws {
        var aliases = PayloadAliases()
        try aliases.add("UUID", for: "callUUID")
        let key = String(repeating: "k", count: 64)
        var large = PayloadAliases()
        for letter in "abcdefghijklmnop" { try large.add("\(letter)\(key.dropFirst())", for: "room") }
        let world = SwitchboardWorld {
            $0.payloadAliases = ["com.example.app": aliases, "com.example.large": large]
        }
        let (first, second) = (String(repeating: "1", count: 128), String(repeating: "2", count: 128))
        try world.register(try principal(second), "b1", voip: "b1b1")
        try world.register(try principal(second), "b2", voip: "b2b2", bundle: "com.example.large")
        world.send(try world.open(first, "a1"), SwitchboardWorld.offer("c-1", to: second))
        let payloads = world.takenPushes().map {
            (token: $0.route.token, bytes: $0.payload, reply: Reply(body: $0.payload))
        }
        #expect(payloads.map(\.token).sorted() == ["b1b1", "b2b2"])
        for payload in payloads {
            #expect(payload.bytes.count <= 5_120)
            #expect(payload.reply["toUserId"] == second)
            #expect(payload.reply["UUID"] == (payload.token == "b1b1" ? payload.reply["callUUID"] : nil))
            #expect(payload.reply["a" + key.dropFirst()] == nil)
        }
    }

    @Test("A live connection is sent the offer with a ping, and its device is not pushed")
    func live() throws {
        let (world, caller) = try world()
        let b1 = try world.open("10", "b1")
        _ = world.takeFrames(of: b1)
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takeFrames(of: b1).types == ["offer"])
        #expect(world.pings[b1] == 1)
        #expect(world.pushes.isEmpty)
        world.pong(b1)
        world.wait(20)
        #expect(world.pushes.isEmpty)
    }

    @Test("A device without a connection is pushed even if another device has a connection")
    func mixed() throws {
        let (world, caller) = try world()
        try world.register(try principal("10"), "b2", voip: "b2b2")
        _ = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takenPushes().map(\.route.token) == ["b2b2"])
    }

    @Test("A connection that does not answer its probe is closed after exactly two seconds, and its device is pushed")
    func deadConnection() throws {
        let (world, caller) = try world()
        let b1 = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.wait(.milliseconds(1_999))
        #expect(world.closes[b1] == nil && world.pushes.isEmpty)
        world.wait(.milliseconds(1))
        #expect(world.closes[b1] != nil)
        #expect(world.takenPushes().map(\.route.token) == ["b1b1"])
        #expect(world.events("probe.failed").count == 1)
    }

    @Test("Any frame counts as a sign of life")
    func anyFrame() throws {
        let (world, caller) = try world()
        let b1 = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(b1, "nonsense")
        world.wait(3)
        #expect(world.closes[b1] == nil && world.pushes.isEmpty)
    }

    @Test("A device whose connection closes before it answers the probe is pushed immediately")
    func closedBeforePong() throws {
        let (world, caller) = try world()
        let b1 = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.give(.closed(b1))
        #expect(world.takenPushes().map(\.route.token) == ["b1b1"])
        world.wait(3)
        #expect(world.pushes.isEmpty)
    }

    @Test("A device is not pushed if its connection closes after the pong, or is replaced by a new connection")
    func closedAfterPong() throws {
        let (world, caller) = try world()
        let b1 = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        let again = try world.open("10", "b1")
        #expect(world.takeFrames(of: again).types == ["welcome", "offer"])
        world.pong(again)
        world.give(.closed(again))
        #expect(world.closes[b1] == 4409)
        #expect(world.pushes.isEmpty)
    }

    @Test("A call that comes while a connection is being probed shares that probe")
    func twoCalls() throws {
        let (world, caller) = try world()
        let other = try world.open("12", "x1")
        let b1 = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.wait(1)
        world.send(other, SwitchboardWorld.offer("c-2", to: "10"))
        world.wait(1)
        #expect(world.closes[b1] != nil)
        #expect(world.takenPushes().count == 2)
    }

    @Test("A registration without a device id is pushed only when the connection without a device id answers no probe")
    func nameless() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), nil, voip: "bb")
        let b = world.connect(try principal("10", token: 3))
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.pushes.isEmpty)
        world.wait(2)
        #expect(world.closes[b] != nil)
        #expect(world.takenPushes().map(\.route.token) == ["bb"])
    }

    @Test("Only a service gets the verdict with the timeline")
    func verdict() throws {
        let world = SwitchboardWorld()
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        var service = try principal("1")
        service.isService = true
        let told = try world.reply(service, .calls(.timeline(try call("c-1")))).text
        #expect(told.contains(#""verdict":["The call is ringing."#), "\(told)")
        for user in ["10", "11"] {
            #expect(try !world.reply(principal(user), .calls(.timeline(try call("c-1")))).text.contains("verdict"))
        }
    }

    @Test("The timeline records that the callee had no device to ring")
    func noDevice() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.events("no_device").count == 1)
        #expect(world.events("push.sent").isEmpty)
    }

    @Test("A call is replayed to the device that its push has woken")
    func woken() throws {
        let (world, caller) = try world()
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.wait(5)
        let b1 = try world.open("10", "b1")
        #expect(world.takeFrames(of: b1).types == ["welcome", "offer"])
        world.send(b1, SwitchboardWorld.answer("c-1"))
        #expect(world.takeFrames(of: caller).states.contains("answered"))
    }

    @Test("At the ring timeout the call ends for both sides")
    func timeout() throws {
        let talk = try Talk()
        talk.world.wait(.milliseconds(44_999))
        talk.world.pong(talk.callee)
        #expect(talk.world.takeFrames(of: talk.callee).states.isEmpty)
        talk.world.wait(.milliseconds(1))
        #expect(talk.world.takeFrames(of: talk.callee).states == ["ended unanswered"])
        #expect(talk.world.takeFrames(of: talk.caller).states == ["ringing", "ended unanswered"])
    }
}

@Suite("A callee that is in a call")
struct BusyTests {
    @Test("A callee in a call is sent a second caller's offer, which is marked as waiting")
    func waiting() throws {
        let talk = try Talk.answered()
        let other = try talk.world.open("12", "x1")
        talk.clear()
        talk.world.send(other, SwitchboardWorld.offer("c-2", to: "10"))
        #expect(talk.world.takeFrames(of: talk.callee).of("offer").first?["waiting"] == "true")
        #expect(talk.world.takeFrames(of: other).states == ["ringing"])
    }

    @Test("If `whenBusy` is `busy`, the call ends as busy immediately, and the callee is sent nothing")
    func busy() throws {
        let world = SwitchboardWorld { $0.whenBusy = .busy }
        let talk = try Talk.answered(world)
        let other = try world.open("12", "x1")
        try world.register(try principal("10"), "b2", voip: "bb")
        talk.clear()
        world.send(other, SwitchboardWorld.offer("c-2", to: "10"))
        let frames = world.takeFrames(of: other)
        #expect(frames.states == ["ringing", "ended busy"])
        #expect(frames.ack?["reason"] == "busy")
        #expect(world.takeFrames(of: talk.callee).isEmpty)
        #expect(world.pushes.isEmpty)
    }

    @Test("A callee is not busy while a call only rings")
    func ringing() throws {
        let world = SwitchboardWorld { $0.whenBusy = .busy }
        let talk = try Talk(world)
        let other = try world.open("12", "x1")
        world.send(other, SwitchboardWorld.offer("c-2", to: "10"))
        let offers = world.takeFrames(of: talk.callee).of("offer")
        #expect(offers.count == 2)
        #expect(offers.allSatisfy { $0["waiting"] == nil })
    }
}

@Suite("A call that is hidden from its callee")
struct HiddenCallTests {
    /// Returns the frames that 11 is sent when it calls 10, from the offer to the timeout.
    private func caller(_ world: SwitchboardWorld) throws -> [String] {
        let b1 = try world.open("10", "b1")
        try world.register(try principal("10"), "b2", voip: "bb")
        _ = world.takeFrames(of: b1)
        let a1 = try world.open("11", "a1")
        world.send(a1, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(a1, SwitchboardWorld.ice("c-1", id: "i"))
        world.pong(b1)
        world.wait(20)
        world.pong(a1)
        world.pong(b1)
        world.wait(25)
        return world.takeFrames(of: a1).dropFirst().map(\.description)
    }

    @Test("A blocked caller sees an ordinary ringing call that is not answered")
    func blocked() throws {
        let ordinary = try caller(SwitchboardWorld())
        let world = SwitchboardWorld()
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        #expect(try caller(world) == ordinary)
        #expect(ordinary.last?.contains("unanswered") == true)
        #expect(world.takeFrames(of: SocketID(rawValue: 1)).isEmpty)
        #expect(world.pushes.isEmpty)
        #expect(world.events("blocked").count == 1)
        #expect(try world.fetched(try principal("10"), "c-1", device: "b1").status == 404)
    }

    @Test("If a block hides a call, the callee still learns that earlier calls under its callId have ended")
    func earlierThanHidden() throws {
        let world = SwitchboardWorld()
        let a1 = try world.open("11", "a1")
        world.send(a1, SwitchboardWorld.offer("c-1", to: "10", id: "1"))
        world.send(a1, SwitchboardWorld.plain("end", "c-1", id: "2"))
        world.send(a1, SwitchboardWorld.offer("c-1", to: "10", id: "3"))
        world.send(a1, SwitchboardWorld.plain("end", "c-1", id: "4"))
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        world.send(a1, SwitchboardWorld.offer("c-1", to: "10", id: "5"))
        let b1 = try world.open("10", "b1")
        // This is a device that a late push for the first epoch has woken.
        let late = #","to":"11","epoch":"#
        world.send(b1, SwitchboardWorld.plain("ringing", "c-1", id: "r", more: late + "1"))
        #expect(world.takeFrames(of: b1).last?["code"] == "call_ended")
        // The device learns nothing of the hidden call (epoch 3), nor of an epoch that never was (4).
        for (index, epoch) in ["3", "4"].enumerated() {
            world.send(b1, SwitchboardWorld.plain("ringing", "c-1", id: "s\(index)", more: late + epoch))
            #expect(world.takeFrames(of: b1).last?["code"] == "not_found")
        }
    }

    @Test("Do-not-disturb hides calls in the same way while it lasts")
    func doNotDisturb() throws {
        let ordinary = try caller(SwitchboardWorld())
        let world = SwitchboardWorld()
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(3_600))))
        #expect(try caller(world) == ordinary)
        #expect(world.takeFrames(of: SocketID(rawValue: 1)).isEmpty)
        #expect(world.pushes.isEmpty)
        #expect(world.events("dnd").count == 1)
        let later = SwitchboardWorld()
        _ = try later.reply(try principal("10"), .blocks(.doNotDisturb(until: later.now)))
        _ = try caller(later)
        #expect(later.takeFrames(of: SocketID(rawValue: 1)).types.contains("offer"))
    }

    @Test("A late renegotiation by the callee, in an earlier epoch, does not replace the hidden call")
    func lateRenegotiation() throws {
        let talk = try Talk.answered()
        let world = talk.world
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10", id: "o2"))
        let late = #"{"action":"offer","callId":"c-1","to":"11","epoch":1,"data":{"sdp":"v=0\r\ns=late\r\n"}}"#
        #expect(try world.post(try principal("10"), late).status == 409)
        #expect(world.events("blocked").count == 1)
    }

    @Test("The callee is shown the details of a call hidden by do-not-disturb, but not of a call hidden by a block")
    func history() throws {
        for (isBlock, status) in [(true, 404), (false, 200)] {
            let world = SwitchboardWorld()
            _ = try world.reply(
                try principal("10"),
                .blocks(isBlock ? .block(try user("11")) : .doNotDisturb(until: world.now + .seconds(3_600)))
            )
            let a1 = try world.open("11", "a1")
            world.send(a1, SwitchboardWorld.offer("c-1", to: "10"))
            world.send(a1, SwitchboardWorld.plain("end", "c-1", id: "e"))
            #expect(try world.reply(try principal("10"), .calls(.one(try call("c-1")))).status == status)
            #expect(try world.reply(try principal("11"), .calls(.one(try call("c-1")))).status == 200)
        }
    }

    @Test("A hidden call takes no part in a glare")
    func glare() throws {
        let world = SwitchboardWorld()
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        let (a1, b1) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(a1, SwitchboardWorld.offer("a", to: "10"))
        world.send(b1, SwitchboardWorld.offer("b", to: "11"))
        #expect(world.takeFrames(of: b1).states == ["ringing"])
        #expect(world.takeFrames(of: a1).types.contains("offer"))
    }
}
