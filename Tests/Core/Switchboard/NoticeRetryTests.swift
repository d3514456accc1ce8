import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("A notice that a push service does not take")
struct NoticeRetryTests {
    /// A world in which 11 has rung 10 by this kind of push and cancelled the call, and the notice that followed.
    private func missed(
        _ kind: PushKind
    ) throws -> (world: SwitchboardWorld, caller: SocketID, notice: OutgoingPush) {
        let world = SwitchboardWorld {
            $0.pushKinds = [.firebase, .web]
            $0.applicationServerKey = "k"
        }
        let ten = try principal("10")
        switch kind {
        case .voip, .alert: try world.register(ten, "b1", voip: nil, alert: "a1a1")
        case .firebase: try world.register(ten, "b1", voip: nil, firebase: "f:1", platform: "android")
        case .web:
            var browser = DeviceRegistration(bundleID: "", platform: "web", device: try device("b1"))
            let web = WebPushMember(endpoint: "https://fcm.googleapis.com/wp/1", p256dh: "BA", auth: "AA")
            browser.tokens[.web] = .subscription(web)
            _ = try world.reply(ten, .devices(.register(browser)))
        }
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        for push in world.takenPushes() { world.respondToPush(push, 200) }
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let notice = try #require(world.takenPushes().first)
        #expect(notice.route.kind == kind)
        return (world, caller, notice)
    }

    private func isSame(_ a: OutgoingPush, _ b: OutgoingPush) -> Bool {
        a.uuid == b.uuid && a.payload == b.payload && a.route == b.route && a.collapseID == b.collapseID
            && a.expiresAt == b.expiresAt
    }

    @Test("It is sent again, unchanged, until it is accepted", arguments: [PushKind.alert, .firebase, .web])
    func again(_ kind: PushKind) throws {
        let (world, _, notice) = try missed(kind)
        var last = notice
        for _ in 0..<4 {
            world.respondToPush(last, 503)
            #expect(world.pushes.isEmpty)
            world.wait(2)
            last = try #require(world.takenPushes().first)
            #expect(isSame(last, notice) && last.id != notice.id)
        }
        world.respondToPush(last, 200)
        world.wait(200)
        #expect(world.pushes.isEmpty)
    }

    @Test("It is given up after two minutes, and its call is then put to rest")
    func givenUp() throws {
        let (world, _, notice) = try missed(.firebase)
        var last: OutgoingPush? = notice
        var attempts = 0
        while let push = last {
            attempts += 1
            world.give(.pushed(push.id, .unreachable("no response")))
            world.wait(8)
            last = world.takenPushes().first
        }
        #expect((15...25).contains(attempts) && world.now >= SwitchboardWorld.start + .seconds(112))
        // Nothing of it keeps the call in memory.
        try world.putToRest()
    }

    @Test("It is not sent before the time that the service names, nor if that is too late")
    func deferred() throws {
        let (world, _, notice) = try missed(.web)
        world.give(.pushed(notice.id, .deferred(status: 503, reason: nil, until: world.now + .seconds(60))))
        world.wait(59)
        #expect(world.pushes.isEmpty)
        world.wait(1)
        let second = try #require(world.takenPushes().first)
        world.give(.pushed(second.id, .deferred(status: 503, reason: nil, until: world.now + .seconds(600))))
        world.wait(700)
        #expect(world.pushes.isEmpty)
    }

    @Test("It is not sent again to a device that was removed")
    func removed() throws {
        let (world, _, notice) = try missed(.alert)
        world.respondToPush(notice, 503)
        _ = try world.reply(try principal("10"), .devices(.remove(try device("b1"))))
        world.wait(30)
        #expect(world.pushes.isEmpty)
    }

    @Test("A refusal for good is final", arguments: [400, 403, 413])
    func refused(_ status: Int) throws {
        let (world, _, notice) = try missed(.firebase)
        world.respondToPush(notice, status, "INVALID_ARGUMENT")
        world.wait(130)
        #expect(world.pushes.isEmpty)
    }

    @Test("A text is sent again after a fault, but not if the service may have it")
    func text() throws {
        for (result, count) in [
            (PushResult.response(status: 503, reason: nil, timestamp: nil), 1), (.notSent("no access token"), 1),
            (.unreachable("no response"), 0),
        ] {
            let world = SwitchboardWorld { $0.pushKinds = [.firebase] }
            try world.register(try principal("10"), "b1", voip: nil, firebase: "f:1", platform: "android")
            world.send(try world.open("11", "a1"), SwitchboardWorld.text(to: "10"))
            let notice = try #require(world.takenPushes().first)
            world.give(.pushed(notice.id, result))
            world.wait(1)
            #expect(world.takenPushes().count == count)
        }
    }
}
