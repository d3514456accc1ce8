import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("An alert that rings")
struct AlertRingTests {
    /// Returns a world in which 11 calls 10, who has only device b1 with an alert token, and the push of that call.
    private func rung(
        sdp: Int = 0,
        name: String? = nil
    ) throws -> (world: SwitchboardWorld, caller: SocketID, push: OutgoingPush) {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: nil, alert: "a1a1")
        let caller = try world.open("11", "a1")
        let lines = "v=0\\r\\n" + String(repeating: "a=x\\r\\n", count: sdp)
        let more = name.map { #","displayName":"\#($0)""# } ?? ""
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", sdp: lines, more: more))
        return (world, caller, try #require(world.takenPushes().first))
    }

    private func end(_ device: String, as user: String, in world: SwitchboardWorld) throws {
        let end = Switchboard.Request.end(try call("c-1"), device: try SwitchboardTests.device(device))
        let reply = try world.reply(try principal(user), end)
        #expect(reply.status == 200)
    }

    @Test("A device with only an alert token is rung by an alert with all that it needs to answer")
    func rings() throws {
        let (world, _, push) = try rung()
        #expect(push.route.kind == .alert && push.route.token == "a1a1" && push.route.topic == "com.example.app")
        #expect(push.kept == .untilExpiry)
        let call = try #require(world.switchboard.calls.find(try call("c-1"), for: try user("10")))
        #expect(push.expiresAt == call.session.ringUntil)
        #expect((1...64).contains(push.collapseID?.utf8.count ?? 0))
        let text = String(decoding: push.payload, as: UTF8.self)
        #expect(text.contains(#""category":"ringline.call","interruption-level":"time-sensitive","sound":"default""#))
        #expect(text.contains(#""thread-id":"11""#) && !text.contains("content-available"))
        for key in ["callId", "act", "offer", "callUUID", "ringUntil", "room", "toUserId"] {
            #expect(text.contains("\"\(key)\":"), "\(key)")
        }
        #expect(world.events("no_device").isEmpty && world.events("push.sent").count == 1)
        let devices = try world.reply(try principal("10"), .devices(.list)).text
        #expect(devices.contains(#""wakesBy":"alert""#), "\(devices)")
    }

    @Test("An offer that does not fit in an alert's 4,096 bytes is left out", arguments: [300, 3_000])
    func fits(_ lines: Int) throws {
        let (_, _, push) = try rung(sdp: lines)
        #expect(push.payload.count <= 4_096)
        #expect(String(decoding: push.payload, as: UTF8.self).contains("\"offer\":") == (lines < 600))
    }

    @Test("A name that does not fit in an alert is cut, in all three places")
    func longName() throws {
        let (_, _, push) = try rung(name: String(repeating: "👩‍👩‍👧‍👦", count: 80))
        let payload = Reply(body: push.payload)
        #expect((3_900...4_096).contains(push.payload.count))
        let name = try #require(payload["fromDisplayName"])
        #expect((10..<80).contains(name.count) && name.allSatisfy { $0 == "👩‍👩‍👧‍👦" }, "\(name)")
        #expect(String(decoding: push.payload, as: UTF8.self).contains(#""body":"\#(name)""#))
    }

    @Test("An alert of a video call says so, and has the app's own keys")
    func videoAndAliases() throws {
        var aliases = PayloadAliases()
        try aliases.add("id", for: "callId")
        let world = SwitchboardWorld { [aliases] in $0.payloadAliases = ["com.example.app": aliases] }
        try world.register(try principal("10"), "b1", voip: nil, alert: "a1a1")
        let video = "v=0\\r\\nm=video 9 UDP/TLS/RTP/SAVPF 96\\r\\n"
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10", sdp: video))
        let text = String(decoding: try #require(world.takenPushes().first).payload, as: UTF8.self)
        #expect(text.contains(#""title":"Incoming video call""#) && text.contains(#""id":"c-1""#), "\(text)")
    }

    @Test("The notice of a missed call replaces the alert")
    func missed() throws {
        let (world, caller, push) = try rung()
        world.respondToPush(push, 200)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let notices = world.takenPushes()
        #expect(notices.count == 1)
        #expect(notices.first?.collapseID == push.collapseID && notices.first?.uuid != push.uuid)
        #expect(Reply(body: notices.first?.payload ?? [])["type"] == "call.missed")
        #expect(notices.first?.kept == .aDay)
    }

    @Test("When another device answers, the alert is replaced without a sound")
    func answeredElsewhere() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 200)
        let b2 = try world.open("10", "b2")
        world.send(b2, SwitchboardWorld.answer("c-1"))
        let notices = world.takenPushes()
        #expect(notices.map(\.collapseID) == [push.collapseID])
        let text = String(decoding: notices.first?.payload ?? [], as: UTF8.self)
        #expect(text.contains(#""type":"call.over""#) && text.contains(#""reason":"answered_elsewhere""#), "\(text)")
        #expect(text.contains(#""interruption-level":"passive""#) && !text.contains("\"sound\""))
        world.send(b2, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.takenPushes().isEmpty, "the end of the talk is no news")
        world.respondToPush(try #require(notices.first), 503)
        world.wait(1)
        #expect(world.takenPushes().map(\.collapseID) == [push.collapseID], "the notice is sent again")
    }

    @Test("A device that answers or declines itself is told nothing", arguments: [false, true])
    func itself(_ declines: Bool) throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 200)
        if declines {
            try end("b1", as: "10", in: world)
        } else {
            world.send(try world.open("10", "b1"), SwitchboardWorld.answer("c-1"))
        }
        #expect(world.takenPushes().isEmpty)
    }

    @Test("When another device declines, the alert is replaced")
    func declinedElsewhere() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 200)
        world.send(try world.open("10", "b2"), SwitchboardWorld.plain("end", "c-1", id: "d"))
        let text = world.takenPushes().map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(text.count == 1 && text.first?.contains(#""reason":"declined_elsewhere""#) == true, "\(text)")
    }

    @Test("An alert that APNs refused is not replaced")
    func refused() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 400, "TopicDisallowed")
        world.send(try world.open("10", "b2"), SwitchboardWorld.answer("c-1"))
        #expect(world.takenPushes().isEmpty)
    }

    @Test(
        "An alert under way is replaced when its result comes, unless it was cancelled in time",
        arguments: [
            (PushResult.response(status: 200, reason: nil, timestamp: nil), 1), (.unreachable("lost"), 1),
            (.cancelled, 0), (.response(status: 400, reason: "TopicDisallowed", timestamp: nil), 0),
        ]
    )
    func underWay(_ result: PushResult, _ count: Int) throws {
        let (world, _, push) = try rung()
        world.send(try world.open("10", "b2"), SwitchboardWorld.answer("c-1"))
        #expect(world.takenPushes().isEmpty, "it could overtake the alert")
        world.give(.pushed(push.id, result))
        #expect(world.takenPushes().map(\.collapseID) == Array(repeating: push.collapseID, count: count))
    }

    @Test("An alert whose response was lost is replaced, because APNs may have accepted it")
    func lost() throws {
        let (world, _, push) = try rung()
        world.give(.pushed(push.id, .unreachable("lost")))
        world.send(try world.open("10", "b2"), SwitchboardWorld.answer("c-1"))
        #expect(world.takenPushes().map(\.collapseID) == [push.collapseID])
    }

    @Test("A device that VoIP has rung is told nothing, even if its token has gone to another device meanwhile")
    func movedToken() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: "a1a1")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        world.respondToPush(try #require(world.takenPushes().first), 200)
        world.wait(1)
        try world.register(try principal("10"), "b3", voip: "b1b1")
        world.send(try world.open("10", "b2"), SwitchboardWorld.answer("c-1"))
        #expect(world.takenPushes().isEmpty)
    }

    @Test("The notices after an alert fit too, whatever the caller's name", arguments: [false, true])
    func longNames(_ isMissed: Bool) throws {
        let (world, caller, push) = try rung(name: String(repeating: "👩‍👩‍👧‍👦", count: 256))
        world.respondToPush(push, 200)
        if isMissed {
            world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        } else {
            world.send(try world.open("10", "b2"), SwitchboardWorld.answer("c-1"))
        }
        let notice = try #require(world.takenPushes().first)
        #expect((1_000...4_096).contains(notice.payload.count))
    }

    @Test("If an app's own keys make an alert too long, they are left out, and the name stays")
    func largeAliases() throws {
        var aliases = PayloadAliases()
        let key = String(repeating: "k", count: 62)
        for letter in "abcdefghijklmnop" { try aliases.add("\(letter)\(key)", for: "act") }
        let world = SwitchboardWorld { [aliases] in $0.payloadAliases = ["com.example.app": aliases] }
        let (caller, callee) = (String(repeating: "1", count: 128), String(repeating: "2", count: 128))
        try world.register(try principal(callee), "b1", voip: nil, alert: "a1a1")
        let offer = SwitchboardWorld.offer("c-1", to: callee, more: #","displayName":"Taro""#)
        world.send(try world.open(caller, "a1"), offer)
        let push = try #require(world.takenPushes().first)
        #expect(push.payload.count <= 4_096 && Reply(body: push.payload)["fromDisplayName"] == "Taro")
    }

    @Test("A new alert token is tried in the environment that the app names")
    func environment() throws {
        let (world, caller, push) = try rung()
        world.respondToPush(push, 400, "BadDeviceToken")
        let second = try #require(world.takenPushes().first)
        world.respondToPush(second, 200)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        _ = world.takenPushes()
        try world.register(try principal("10"), "b1", voip: nil, alert: "a2a2", environment: .production)
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        #expect(second.route.environment == .sandbox && world.takenPushes().first?.route.environment == .production)
    }

    @Test("A dead alert token is removed, and the next call finds no device")
    func dead() throws {
        let (world, caller, push) = try rung()
        world.wait(1)
        world.respondToPush(push, 410, "Unregistered")
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.takenPushes().isEmpty)
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        #expect(world.takenPushes().isEmpty && world.events("no_device").count == 1)
    }

    @Test("A call that replaces another one takes the other's alert off the screen")
    func replaced() throws {
        let (world, caller, push) = try rung()
        world.respondToPush(push, 200)
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        let pushes = world.takenPushes().map { ($0.collapseID, String(decoding: $0.payload, as: UTF8.self)) }
        #expect(pushes.count == 2)
        #expect(pushes.contains { $0.0 == push.collapseID && $0.1.contains(#""reason":"replaced""#) }, "\(pushes)")
        #expect(pushes.contains { $0.0 != push.collapseID && $0.1.contains(#""type":"call.incoming""#) }, "\(pushes)")
    }

    @Test("The alert of a device whose VoIP pushes are withheld is replaced too")
    func withheld() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: "a1a1")
        world.wait(1)
        let caller = try world.open("11", "a1")
        for number in 1...4 {
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)"))
            let push = try #require(world.takenPushes().first)
            world.respondToPush(push, 200)
            world.wait(1)
            if number < 4 { world.send(caller, SwitchboardWorld.plain("end", "c-\(number)", id: "e\(number)")) }
            for notice in world.takenPushes() { world.respondToPush(notice, 200) }
        }
        world.send(try world.open("10", "b2"), SwitchboardWorld.answer("c-4"))
        let text = world.takenPushes().map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(text.count == 1 && text.first?.contains(#""type":"call.over""#) == true, "\(text)")
    }

    @Test("After a restart the alert is not sent again, and is replaced when the call is over")
    func restart() throws {
        let (first, _, push) = try rung()
        first.respondToPush(push, 200)
        let world = first.restarted()
        world.wait(5)
        #expect(world.takenPushes().isEmpty)
        world.send(try world.open("10", "b2"), SwitchboardWorld.answer("c-1"))
        #expect(world.takenPushes().map(\.collapseID) == [push.collapseID])
    }

    @Test("Do-not-disturb keeps an alert away")
    func silence() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: nil, alert: "a1a1")
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(600))))
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takenPushes().isEmpty)
    }

    @Test("If do-not-disturb begins while an alert is on the screen, it is replaced without a sound")
    func silencedMeanwhile() throws {
        let (world, caller, push) = try rung()
        world.respondToPush(push, 200)
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(600))))
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let text = world.takenPushes().map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(text.count == 1 && text.first?.contains(#""type":"call.over""#) == true, "\(text)")
        #expect(text.first?.contains("sound") == false)
    }
}
