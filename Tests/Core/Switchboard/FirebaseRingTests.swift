import CallCore
import CallPorts
import CallTrace
import CallWire
import Testing

@testable import Switchboard

@Suite("A Firebase message that rings, and the order of routes")
struct FirebaseRingTests {
    /// Returns a world in which 11 calls 10, whose device b1 has these tokens, and the push of that call.
    private func rung(
        voip: String? = nil,
        alert: String? = nil,
        firebase: String? = "f:1",
        platform: String = "android",
        sdp: Int = 0,
        name: String? = nil
    ) throws -> (world: SwitchboardWorld, caller: SocketID, push: OutgoingPush) {
        let world = SwitchboardWorld { $0.pushKinds = [.firebase] }
        try world.register(
            try principal("10"),
            "b1",
            voip: voip,
            alert: alert,
            firebase: firebase,
            platform: platform
        )
        let caller = try world.open("11", "a1")
        let lines = "v=0\\r\\n" + String(repeating: "a=x\\r\\n", count: sdp)
        let more = name.map { #","displayName":"\#($0)""# } ?? ""
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", sdp: lines, more: more))
        return (world, caller, try #require(world.takenPushes().first))
    }

    private func devices(_ world: SwitchboardWorld) throws -> String {
        try world.reply(try principal("10"), .devices(.list)).text
    }

    @Test("A device with only a Firebase token is rung by a message whose values are all strings")
    func rings() throws {
        let (world, _, push) = try rung()
        #expect(push.route == .plain(.firebase, token: "f:1") && push.kept == .untilExpiry && push.collapseID == nil)
        let text = String(decoding: push.payload, as: UTF8.self)
        #expect(text.contains(#""epoch":"1""#) && text.contains(#""hasVideo":"false""#) && !text.contains("\"aps\""))
        for key in ["callId", "act", "offer", "callUUID", "ringUntil", "room", "toUserId"] {
            #expect(text.contains("\"\(key)\":\""), "\(key)")
        }
        #expect(world.events("push.sent") == [#""device":"b1","kind":"firebase""#])
        #expect(world.events("no_device").isEmpty)
        #expect(try devices(world).contains(#""wakesBy":"firebase""#))
    }

    @Test("The best route is VoIP, then Firebase, then an alert; on an Apple device an alert comes before Firebase")
    func order() throws {
        #expect(try rung(voip: "aa", alert: "bb").push.route.kind == .voip)
        #expect(try rung(alert: "bb").push.route.kind == .firebase)
        #expect(try rung(alert: "bb", platform: "ios").push.route.kind == .alert)
        #expect(try rung(platform: "ios").push.route.kind == .firebase)
    }

    @Test("The registration of an iPhone that only Firebase can reach says so, and so does the verdict")
    func iPhone() throws {
        let world = SwitchboardWorld { $0.pushKinds = [.firebase] }
        func registered(_ more: String, _ platform: String, id: String = "b1") throws -> String {
            let body =
                #"{"deviceId":"\#(id)","platform":"\#(platform)","bundleId":"com.example.app","#
                + #""fcm_token":"f:\#(id)"\#(more)}"#
            let registration = try DeviceRegistration(body: Array(body.utf8), device: nil)
            return try world.reply(try principal("10"), .devices(.register(registration))).text
        }
        let sentence = "no device of Apple rings by Firebase"
        let tokens = #","apnsDeviceToken":"\#(String(repeating: "a1", count: 32))""#
        #expect(try registered("", "ios").contains(sentence))
        for platform in [
            "iOS", "ipados", "iPadOS 18.1", "iphone", "iPhone15,2", "ipad", "iPod", "macos", "Mac Catalyst", "watchOS",
            "visionos", "tvOS", "apple",
        ] {
            #expect(try registered("", platform).contains(sentence), "\(platform)")
        }
        for platform in ["android", "Android", "web", "harmony", "i", "os"] {
            #expect(try !registered("", platform, id: "b2").contains(sentence), "\(platform)")
        }
        _ = try registered("", "ios")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        for push in world.takenPushes() { world.respondToPush(push, 200) }
        world.wait(46)
        let record = try #require(world.record("c-1"))
        let events = world.changes.compactMap { if case .event(record.number, let event) = $0 { event } else { nil } }
        let devices = world.switchboard.directory.devices(of: try user("10"))
        let text = Explanation(record: record, events: events, log: [], devices: devices, at: world.now).text
        #expect(text.contains("b1 was sent a Firebase message") && text.contains("but \(sentence)"), "\(text)")
        #expect(try !registered(tokens, "ios").contains(sentence), "an alert rings it")
    }

    @Test("A push that is refused for good is followed by one on the next route, until there is none")
    func nextRoute() throws {
        let (world, _, voip) = try rung(voip: "aa", alert: "bb")
        world.respondToPush(voip, 410, "Unregistered")
        let alert = try #require(world.takenPushes().first)
        #expect(alert.route.kind == .alert)
        world.respondToPush(alert, 403, "InvalidProviderToken")
        let firebase = try #require(world.takenPushes().first)
        #expect(firebase.route.kind == .firebase)
        world.respondToPush(firebase, 404, "UNREGISTERED")
        #expect(world.takenPushes().isEmpty)
        #expect(try devices(world).contains(#""voipDeviceToken":null,"apnsDeviceToken":"bb","fcm_token":null"#))
    }

    @Test("No other route is tried after a push was accepted, is retried, or when the call no longer rings")
    func onlyOne() throws {
        let (world, caller, voip) = try rung(voip: "aa")
        world.respondToPush(voip, 503, "ServiceUnavailable")
        world.wait(1)
        let retry = try #require(world.takenPushes().first)
        #expect(retry.route == voip.route)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.respondToPush(retry, 410, "Unregistered")
        #expect(world.takenPushes().allSatisfy { !String(decoding: $0.payload, as: UTF8.self).contains("incoming") })
        let (other, _, push) = try rung(voip: "aa")
        other.respondToPush(push, 200)
        other.wait(5)
        #expect(other.takenPushes().isEmpty)
    }

    @Test("A push that was only logged is followed by one of another service")
    func onlyLogged() throws {
        let (world, _, push) = try rung(voip: "aa", alert: "bb")
        world.give(.pushed(push.id, .onlyLogged))
        #expect(world.takenPushes().map(\.route.kind) == [.firebase], "an alert would only be logged too")
        let (other, _, firebase) = try rung(alert: "bb")
        other.give(.pushed(firebase.id, .onlyLogged))
        #expect(other.takenPushes().map(\.route.kind) == [.alert])
    }

    @Test("A waiting push goes to the next route if another call has shown that its token is dead")
    func tokenGone() throws {
        let (world, _, push) = try rung(voip: "aa")
        world.respondToPush(push, 503, "ServiceUnavailable")
        world.send(try world.open("12", "x1"), SwitchboardWorld.offer("c-2", to: "10"))
        let second = try #require(world.takenPushes().first)
        world.respondToPush(second, 410, "Unregistered")
        world.wait(2)
        let kinds = world.takenPushes().map(\.route.kind)
        #expect(kinds == [.firebase, .firebase], "\(kinds)")
    }

    @Test(
        "A push whose token is removed while it is under way, or waits, goes on by the next route",
        arguments: [true, false]
    )
    func tokenGoneUnderWay(_ isMoved: Bool) throws {
        let (world, _, push) = try rung(alert: "bb")
        // The push is under way when another call shows that its token is dead, or another device of the user registers the token.
        if isMoved {
            world.respondToPush(push, 503, "UNAVAILABLE")
            try world.register(try principal("10"), "b2", voip: nil, firebase: "f:1", platform: "android")
        } else {
            world.send(try world.open("12", "x1"), SwitchboardWorld.offer("c-2", to: "10"))
            let second = try #require(world.takenPushes().first)
            world.respondToPush(second, 404, "UNREGISTERED")
            #expect(world.takenPushes().map(\.route.kind) == [.alert])
            world.respondToPush(push, 503, "UNAVAILABLE")
        }
        world.wait(1)
        let next = world.takenPushes()
        #expect(next.map(\.route.kind) == [.alert], "\(next.map(\.route.kind))")
        #expect(Reply(body: try #require(next.first).payload)["callId"] == "c-1")
    }

    @Test(
        "A push that is refused for good goes on to a token that was registered meanwhile, and then to the next route",
        arguments: [(404, "UNREGISTERED"), (403, "SENDER_ID_MISMATCH")]
    )
    func renewed(_ status: Int, _ reason: String) throws {
        let (world, _, push) = try rung(alert: "bb")
        try world.register(try principal("10"), "b1", voip: nil, firebase: "f:2", platform: "android")
        world.respondToPush(push, status, reason)
        let second = world.takenPushes()
        #expect(second.map(\.route) == [.plain(.firebase, token: "f:2")])
        world.respondToPush(try #require(second.first), status, reason)
        #expect(world.takenPushes().map(\.route.kind) == [.alert])
    }

    @Test("A service that asks to be left alone is not asked before then")
    func deferred() throws {
        let (world, _, push) = try rung()
        world.give(.pushed(push.id, .deferred(status: 429, reason: "QUOTA_EXCEEDED", until: world.now + .seconds(10))))
        world.wait(9)
        #expect(world.takenPushes().isEmpty)
        world.wait(2)
        let retry = try #require(world.takenPushes().first)
        world.give(.pushed(retry.id, .deferred(status: 503, reason: nil, until: world.now + .seconds(600))))
        world.wait(60)
        #expect(world.takenPushes().allSatisfy { $0.kept == .aDay }, "only the notice of the missed call")
        let last = try devices(world)
        #expect(last.contains(#""status":503,"reason":null,"environment":null"#), "\(last)")
    }

    @Test(
        "If a service wants no attempt before the ring ends, the next route rings, unless the device may have the push",
        arguments: [(44, false), (45, true), (600, true)]
    )
    func deferredTooLong(_ seconds: Int64, _ isTooLong: Bool) throws {
        let (world, _, push) = try rung(alert: "bb")
        let until = world.now + .seconds(seconds)
        world.give(.pushed(push.id, .deferred(status: 429, reason: "QUOTA_EXCEEDED", until: until)))
        #expect(world.takenPushes().map(\.route.kind) == (isTooLong ? [.alert] : []))
        let (lost, _, first) = try rung(alert: "bb")
        lost.give(.pushed(first.id, .unreachable("the connection was lost")))
        lost.wait(1)
        let second = try #require(lost.takenPushes().first)
        lost.give(.pushed(second.id, .deferred(status: 429, reason: nil, until: lost.now + .seconds(seconds))))
        #expect(lost.takenPushes().isEmpty)
    }

    @Test(
        "A token is removed by its own error only, and not if it was registered again since",
        arguments: [
            (404, "UNREGISTERED", true), (400, "INVALID_REGISTRATION_TOKEN", true), (400, "INVALID_ARGUMENT", false),
            (403, "SENDER_ID_MISMATCH", false), (404, "NOT_FOUND", false),
        ]
    )
    func removal(_ status: Int, _ reason: String, _ removes: Bool) throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, status, reason)
        #expect(try devices(world).contains("f:1") != removes)
        let (other, _, late) = try rung()
        other.wait(1)
        try other.register(try principal("10"), "b1", voip: nil, firebase: "f:1", platform: "android")
        other.respondToPush(late, status, reason)
        #expect(try devices(other).contains("f:1"))
    }

    @Test("A dead token is removed also if the call is over when its refusal comes", arguments: [true, false])
    func lateRemoval(_ isDead: Bool) throws {
        let (world, caller, push) = try rung()
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.respondToPush(push, 404, isDead ? "UNREGISTERED" : "NOT_FOUND")
        #expect(try devices(world).contains("f:1") != isDead)
    }

    @Test("The ring is followed by a message: missed, or over when another device has answered")
    func notices() throws {
        let (world, caller, push) = try rung()
        world.respondToPush(push, 200)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let missed = world.takenPushes()
        #expect(missed.map(\.route) == [push.route] && missed.map(\.kept) == [.aDay])
        #expect(missed.map { Reply(body: $0.payload)["type"] } == ["call.missed"])
        let (other, _, ring) = try rung()
        other.respondToPush(ring, 200)
        other.send(try other.open("10", "b2"), SwitchboardWorld.answer("c-1"))
        let over = other.takenPushes().map { Reply(body: $0.payload) }
        #expect(over.map { $0["type"] } == ["call.over"] && over.map { $0["reason"] } == ["answered_elsewhere"])
    }

    @Test("The offer is in the message if all names and values have 4,096 bytes together; then the name is cut")
    func fits() throws {
        let with = try rung(sdp: 500).push, without = try rung(sdp: 900).push
        #expect(String(decoding: with.payload, as: UTF8.self).contains("\"offer\":"))
        #expect(!String(decoding: without.payload, as: UTF8.self).contains("\"offer\":"))
        let cut = Reply(body: try rung(name: String(repeating: "👩‍👩‍👧‍👦", count: 80)).push.payload)
        let name = try #require(cut["fromDisplayName"])
        #expect((40..<80).contains(name.count) && name.allSatisfy { $0 == "👩‍👩‍👧‍👦" }, "\(name.count)")
    }

    @Test("An iPhone whose VoIP pushes have no effect is not left to Firebase, which starts no app there")
    func ineffective() throws {
        let world = SwitchboardWorld { $0.pushKinds = [.firebase] }
        try world.register(try principal("10"), "b1", voip: "aa", firebase: "f:1")
        let caller = try world.open("11", "a1")
        for number in 1...5 {
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10"))
            let push = try #require(world.takenPushes().first { $0.kept != .aDay })
            #expect(push.route.kind == .voip, "call \(number)")
            world.respondToPush(push, 200)
            world.send(caller, SwitchboardWorld.plain("end", "c-\(number)", id: "e\(number)"))
            world.wait(20)
        }
    }

    @Test("An iPhone that alerts ring because VoIP pushes have no effect is pushed again if the alert is refused")
    func alertRefused() throws {
        var device = DeviceRecord(
            user: try user("10"),
            id: try device("b1"),
            isNamed: true,
            platform: "iOS",
            bundleID: "a.b",
            createdAt: Moment(milliseconds: 0)
        )
        device.routes = [
            .voip: RegisteredRoute("aa"), .alert: RegisteredRoute("bb"), .firebase: RegisteredRoute("f:1"),
        ]
        device.unansweredPushes = 3
        #expect(device.ringingPush == .alert)
        #expect(device.ringingPush(excluding: [.alert]) == .firebase)
        #expect(device.ringingPush(excluding: [.alert, .firebase]) == .voip)
        device.routes[.voip] = nil
        #expect(device.ringingPush == .alert, "the platform is compared without regard to case")
    }

    @Test(
        "A response of a proxy, or of the endpoint of access tokens, removes no token",
        arguments: [
            (410, "Unregistered"), (410, nil), (400, "BadDeviceToken"), (403, "UNREGISTERED"), (500, "UNREGISTERED"),
            (404, "INVALID_REGISTRATION_TOKEN"),
        ] as [(Int, String?)]
    )
    func otherResponses(_ status: Int, _ reason: String?) throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, status, reason)
        #expect(try devices(world).contains("f:1"))
    }

    @Test("A device that looked connected when its push was refused is pushed when its connection turns out to be dead")
    func refusedWhileConnected() throws {
        let (world, _, voip) = try rung(voip: "aa")
        let b1 = try world.open("10", "b1")
        world.respondToPush(voip, 410, "Unregistered")
        #expect(world.takenPushes().isEmpty)
        world.wait(3)
        world.give(.closed(b1))
        #expect(world.takenPushes().map(\.route.kind) == [.firebase])
    }

    @Test("Tokens that a device without an id registers one by one are in one row, and ring it once")
    func unnamed() throws {
        let world = SwitchboardWorld { $0.pushKinds = [.firebase] }
        for (voip, alert, firebase) in [("aa", nil, nil), (nil, "bb", nil), (nil, nil, "f:1")]
            as [(String?, String?, String?)]
        {
            try world.register(try principal("10"), nil, voip: voip, alert: alert, firebase: firebase)
        }
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takenPushes().map(\.route.kind) == [.voip])
    }

    @Test("A device that got its message with normal priority says so, for the timeline only")
    func lowered() throws {
        let (world, caller, push) = try rung()
        world.respondToPush(push, 200)
        let b1 = try world.open("10", "b1")
        world.send(b1, #"{"type":"ringing","callId":"c-1","id":"r","priority":"normal"}"#)
        #expect(world.events("push.lowered") == [#""device":"b1""#])
        world.send(b1, #"{"type":"ringing","callId":"c-1","id":"r2","priority":"normal"}"#)
        world.send(b1, #"{"type":"ringing","callId":"c-1","id":"r3","priority":"high"}"#)
        #expect(world.events("push.lowered").count == 1)
        let relayed = world.takeFrames(of: caller).map { "\($0)" }.joined()
        #expect(relayed.contains("ringing") && !relayed.contains("priority"))
    }

    @Test("A token that another user registers rings only that user")
    func moved() throws {
        let world = SwitchboardWorld { $0.pushKinds = [.firebase] }
        try world.register(try principal("10"), "b1", voip: nil, firebase: "f:1", platform: "android")
        try world.register(try principal("12"), "c1", voip: nil, firebase: "f:1", platform: "android")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takenPushes().isEmpty)
        world.send(try world.open("13", "d1"), SwitchboardWorld.offer("c-2", to: "12"))
        #expect(world.takenPushes().map(\.route) == [.plain(.firebase, token: "f:1")])
    }

    @Test("Without a service account, a registration says that the token does not ring its device")
    func hint() throws {
        for hasFirebase in [true, false] {
            let world = SwitchboardWorld { if hasFirebase { $0.pushKinds = [.firebase] } }
            let reply = try world.register(try principal("10"), "b1", voip: nil, firebase: "f", platform: "android")
            #expect(reply.text.contains("cannot push to it") != hasFirebase)
        }
    }
}
