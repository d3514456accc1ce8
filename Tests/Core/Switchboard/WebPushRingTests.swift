import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("A Web Push message that rings")
struct WebPushRingTests {
    private static let endpoint = "https://fcm.googleapis.com/wp/1"

    private func registration(
        _ endpoint: String = Self.endpoint,
        alert: String? = nil
    ) throws -> DeviceRegistration {
        var registration = DeviceRegistration(
            tokens: alert.map { [.alert: .plain($0)] } ?? [:],
            bundleID: alert == nil ? "" : "com.example.app",
            platform: "web",
            device: try device("b1")
        )
        registration.tokens[.web] = .subscription(WebPushMember(endpoint: endpoint, p256dh: "BA", auth: "AA"))
        return registration
    }

    /// Returns a world in which 11 calls 10, whose device b1 is a browser, and the push of that call.
    private func rung(
        alert: String? = nil,
        sdp: Int = 0
    ) throws -> (world: SwitchboardWorld, caller: SocketID, push: OutgoingPush) {
        let world = SwitchboardWorld {
            $0.applicationServerKey = "B"
            $0.pushKinds = [.web]
        }
        _ = try world.reply(try principal("10"), .devices(.register(try registration(alert: alert))))
        let caller = try world.open("11", "a1")
        let lines = "v=0\\r\\n" + String(repeating: "a=x\\r\\n", count: sdp)
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", sdp: lines))
        return (world, caller, try #require(world.takenPushes().first))
    }

    private func devices(_ world: SwitchboardWorld) throws -> String {
        try world.reply(try principal("10"), .devices(.list)).text
    }

    private func text(_ push: OutgoingPush?) throws -> String {
        String(decoding: try #require(push).payload, as: UTF8.self)
    }

    @Test("A browser is rung by a message with the members of a VoIP push, and its pushes share one topic")
    func rings() throws {
        let (world, caller, push) = try rung()
        #expect(push.route.kind == .web && push.route.token == Self.endpoint && push.kept == .untilExpiry)
        let payload = try text(push)
        #expect(payload.contains(#""epoch":1"#) && payload.contains(#""hasVideo":false"#) && !payload.contains("aps"))
        for key in ["callId", "act", "offer", "callUUID", "ringUntil", "room", "toUserId", "handleType"] {
            #expect(payload.contains("\"\(key)\":"), "\(key)")
        }
        #expect(world.events("push.sent") == [#""device":"b1","kind":"web""#])
        #expect(try devices(world).contains(#""wakesBy":"web""#))
        world.respondToPush(push, 201)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let missed = try #require(world.takenPushes().first)
        #expect(missed.collapseID == push.collapseID && missed.collapseID?.utf8.count == 36 && missed.kept == .aDay)
        #expect(try text(missed).hasPrefix(#"{"type":"call.missed","callId":"c-1""#))
    }

    @Test("201 and 202 accept a message as 200 does, and nothing more is sent", arguments: [200, 201, 202])
    func accepted(_ status: Int) throws {
        let (world, _, push) = try rung(alert: "bb")
        world.respondToPush(push, status)
        world.wait(5)
        #expect(world.takenPushes().isEmpty)
    }

    @Test("A message that is too large goes at once without the offer; the second 413 is final")
    func tooLarge() throws {
        let (world, _, push) = try rung(alert: "bb")
        world.respondToPush(push, 413)
        let shorter = try #require(world.takenPushes().first)
        #expect(shorter.route.kind == .web && shorter.uuid == push.uuid)
        #expect(try text(push).contains("\"offer\":") && !text(shorter).contains("\"offer\":"))
        world.respondToPush(shorter, 413)
        #expect(world.takenPushes().map(\.route.kind) == [.alert])
        #expect(try devices(world).contains(Self.endpoint))
    }

    @Test("404 and 410 end a subscription, unless it was registered again since", arguments: [404, 410])
    func ended(_ status: Int) throws {
        let (world, _, push) = try rung(alert: "bb")
        world.respondToPush(push, status)
        #expect(try devices(world).contains(#""webPush":null"#))
        #expect(world.takenPushes().map(\.route.kind) == [.alert])
        let (other, _, late) = try rung()
        other.wait(1)
        _ = try other.reply(try principal("10"), .devices(.register(try registration())))
        other.respondToPush(late, status)
        #expect(try devices(other).contains(Self.endpoint))
    }

    @Test("A refusal of the VAPID token keeps the subscription, and says what may be wrong", arguments: [401, 403])
    func vapid(_ status: Int) throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, status)
        let shown = try devices(world)
        #expect(shown.contains(Self.endpoint) && shown.contains("--vapid-subject must be a real address"), "\(shown)")
        #expect(world.takenPushes().isEmpty)
    }

    @Test("A message has 3,993 bytes at most: the offer is left out, then the name is cut")
    func size() throws {
        let (_, _, push) = try rung(sdp: 800)
        #expect(push.payload.count <= 3_993)
        #expect(try !text(push).contains("\"offer\":"))
    }

    @Test(
        "An endpoint that is no address of an allowed push service is refused, and nothing changes",
        arguments: [
            "", "http://fcm.googleapis.com/x", "https://evil.example/x", "https://127.0.0.1/x",
        ]
    )
    func refusedEndpoint(_ endpoint: String) throws {
        let world = SwitchboardWorld {
            $0.applicationServerKey = "B"
            $0.pushKinds = [.web]
        }
        let reply = try world.reply(try principal("10"), .devices(.register(try registration(endpoint))))
        #expect(reply.status == 400 && reply.text.contains("webPush.endpoint: must be"), "\(reply.text)")
        #expect(try devices(world) == "[]")
    }

    @Test("A browser in which another user has logged in no longer rings for the former one")
    func moved() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 201)
        _ = try world.reply(try principal("12"), .devices(.register(try registration())))
        #expect(try devices(world) == "[]", "it had no other token")
    }

    @Test(
        "Two spellings of an endpoint are one subscription",
        arguments: [
            "https://FCM.googleapis.com/wp/1", "https://fcm.googleapis.com:443/wp/1", "HTTPS://fcm.googleapis.com/wp/1",
        ]
    )
    func spellings(_ endpoint: String) throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 201)
        _ = try world.reply(try principal("12"), .devices(.register(try registration(endpoint))))
        #expect(try devices(world) == "[]")
        #expect(try world.reply(try principal("12"), .devices(.list)).text.contains(Self.endpoint))
    }

    @Test("A server without a VAPID subject stores the subscription, says so, and has no key to tell")
    func notConfigured() throws {
        let world = SwitchboardWorld()
        let reply = try world.reply(try principal("10"), .devices(.register(try registration())))
        #expect(reply.status == 200 && reply.text.contains("no VAPID subject and cannot push to it"))
        #expect(try world.reply(try principal("10"), .credentials(.webPushKey)).status == 404)
        let other = SwitchboardWorld { $0.applicationServerKey = "BKey" }
        #expect(
            try other.reply(try principal("10"), .credentials(.webPushKey)).text.contains(
                #""applicationServerKey":"BKey""#
            )
        )
        let connection = try other.open("10", "b1")
        let welcome = try #require(other.takeFrames(of: connection).of("welcome").first)
        #expect(welcome["applicationServerKey"] == "BKey")
    }
}
