import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

/// Ways of a user to silence a missed call while its notice waits for the next attempt.
enum Silencing: CaseIterable {
    case doNotDisturb
    case block
    case blockOfNumber

    /// Does it as user 10.
    func apply(_ world: SwitchboardWorld) throws {
        let ten = try principal("10")
        switch self {
        case .doNotDisturb: _ = try world.reply(ten, .blocks(.doNotDisturb(until: world.now + .seconds(600))))
        case .block: _ = try world.reply(ten, .blocks(.block(try user("11"))))
        case .blockOfNumber:
            _ = try world.reply(ten, .blocks(.blockNumber(try #require(PhoneNumber(normalizing: "+82 10-1234-5678")))))
        }
    }
}

@Suite("A notice whose user no longer wants it")
struct UnwantedNoticeTests {
    private static let handle = #","handleType":"phoneNumber","handle":"+82 10-1234-5678""#

    /// A world in which 11 has rung 10's device b1, which has the push tokens of `register`.
    private func rung(
        _ register: (SwitchboardWorld) throws -> Void
    ) throws -> (SwitchboardWorld, caller: SocketID) {
        let world = SwitchboardWorld {
            $0.pushKinds = [.firebase, .web]
            $0.applicationServerKey = "k"
        }
        try register(world)
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", more: Self.handle))
        for push in world.takenPushes() { world.respondToPush(push, 200) }
        return (world, caller)
    }

    private func register(_ kind: PushKind, in world: SwitchboardWorld, token: String = "1") throws {
        let ten = try principal("10")
        switch kind {
        case .voip: try world.register(ten, "b1", voip: "v\(token)", alert: "a\(token)")
        case .alert: try world.register(ten, "b1", voip: nil, alert: "a\(token)")
        case .firebase: try world.register(ten, "b1", voip: nil, firebase: "f\(token)", platform: "android")
        case .web:
            var browser = DeviceRegistration(bundleID: "", platform: "web", device: try device("b1"))
            let endpoint = "https://fcm.googleapis.com/wp/1"
            let web = WebPushMember(endpoint: endpoint, p256dh: "B\(token)", auth: "AA")
            browser.tokens[.web] = .subscription(web)
            _ = try world.reply(ten, .devices(.register(browser)))
        }
    }

    private func end(_ world: SwitchboardWorld, _ caller: SocketID) throws -> OutgoingPush {
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        return try #require(world.takenPushes().first)
    }

    private func type(of push: OutgoingPush) -> String {
        let text = String(decoding: push.payload, as: UTF8.self)
        return ["call.missed", "call.over", "message"].first { text.contains(#""type":"\#($0)""#) } ?? text
    }

    @Test(
        "A missed call becomes one that is over, so that its alert leaves the screen",
        arguments: [PushKind.alert, .firebase, .web],
        Silencing.allCases
    )
    func missed(_ kind: PushKind, _ silencing: Silencing) throws {
        let (world, caller) = try rung { try register(kind, in: $0) }
        let notice = try end(world, caller)
        #expect(type(of: notice) == "call.missed")
        world.respondToPush(notice, 503)
        try silencing.apply(world)
        world.wait(1)
        let over = world.takenPushes()
        #expect(over.map(type) == ["call.over"])
        #expect(over.first?.collapseID == notice.collapseID && over.first?.route == notice.route)
        #expect(!String(decoding: over[0].payload, as: UTF8.self).contains("sound"))
        // It is a notice like any other, which is sent again, and is then unchanged.
        world.respondToPush(over[0], 503)
        world.wait(1)
        let again = world.takenPushes()
        #expect(again.map(\.uuid) == over.map(\.uuid))
        for push in again { world.respondToPush(push, 200) }
        world.wait(200)
        #expect(world.pushes.isEmpty)
        try world.putToRest()
    }

    @Test("A device that shows no alert is told nothing", arguments: Silencing.allCases)
    func withoutAlert(_ silencing: Silencing) throws {
        let (world, caller) = try rung { try register(.voip, in: $0) }
        world.respondToPush(try end(world, caller), 503)
        try silencing.apply(world)
        world.wait(200)
        #expect(world.pushes.isEmpty)
        try world.putToRest()
    }

    @Test("A block that comes while it rings makes the call over, too", arguments: [Silencing.block, .blockOfNumber])
    func blockedBefore(_ silencing: Silencing) throws {
        let (world, caller) = try rung { try register(.alert, in: $0) }
        try silencing.apply(world)
        #expect(type(of: try end(world, caller)) == "call.over")
    }

    @Test("The other environment is not tried with a missed call that is none any more")
    func environment() throws {
        let (world, caller) = try rung { try register(.alert, in: $0) }
        let notice = try end(world, caller)
        try Silencing.doNotDisturb.apply(world)
        world.respondToPush(notice, 400, "BadDeviceToken")
        #expect(world.takenPushes().map(type) == ["call.over"])
    }

    @Test("Call over goes on all the same", arguments: Silencing.allCases)
    func over(_ silencing: Silencing) throws {
        let (world, _) = try rung { try register(.alert, in: $0) }
        world.send(try world.open("10", "b2"), SwitchboardWorld.answer("c-1"))
        let notice = try #require(world.takenPushes().first)
        world.respondToPush(notice, 503)
        try silencing.apply(world)
        world.wait(1)
        #expect(world.takenPushes().map(\.payload) == [notice.payload])
    }

    @Test("A missed call of one's own schedule is told during do-not-disturb")
    func scheduled() throws {
        let rig = ScheduleRig()
        try rig.make()
        try rig.world.register(try principal("10"), "b1", voip: nil, alert: "a1")
        rig.world.wait(45)
        for push in rig.world.takenPushes() { rig.world.respondToPush(push, 200) }
        rig.world.wait(30)
        let notice = try #require(rig.world.takenPushes().first)
        #expect(type(of: notice) == "call.missed")
        rig.world.respondToPush(notice, 503)
        try Silencing.doNotDisturb.apply(rig.world)
        rig.world.wait(1)
        #expect(rig.world.takenPushes().map(type) == ["call.missed"])
    }

    @Test("A text is not sent again", arguments: [Silencing.doNotDisturb, .block])
    func text(_ silencing: Silencing) throws {
        let world = SwitchboardWorld()
        try register(.alert, in: world)
        world.send(try world.open("11", "a1"), SwitchboardWorld.text(to: "10"))
        let text = try #require(world.takenPushes().first)
        world.respondToPush(text, 503)
        try silencing.apply(world)
        world.wait(200)
        #expect(world.pushes.isEmpty)
    }

    @Test("A notice follows its device to another push token", arguments: [PushKind.alert, .firebase, .web])
    func otherToken(_ kind: PushKind) throws {
        let (world, caller) = try rung { try register(kind, in: $0) }
        let notice = try end(world, caller)
        world.respondToPush(notice, 503)
        try register(kind, in: world, token: "2")
        world.wait(1)
        let again = try #require(world.takenPushes().first)
        #expect(again.route != notice.route && again.route.kind == kind && again.uuid == notice.uuid)
    }

    @Test("A notice does not follow a push token to another user, nor a device whose tokens were revoked")
    func gone() throws {
        for isRevoked in [false, true] {
            let (world, caller) = try rung { try register(.alert, in: $0) }
            world.respondToPush(try end(world, caller), 503)
            if isRevoked {
                _ = try world.reply(try principal("10"), .credentials(.revokeTokens(nil)))
            } else {
                try world.register(try principal("12"), "b1", voip: nil, alert: "a1")
            }
            world.wait(200)
            #expect(world.pushes.isEmpty)
        }
    }
}
