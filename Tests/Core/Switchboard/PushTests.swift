import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("A push")
struct PushTests {
    private func rung(
        alert: String? = nil
    ) throws -> (world: SwitchboardWorld, caller: SocketID, first: OutgoingPush) {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: alert)
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        return (world, caller, try #require(world.takenPushes().first))
    }

    @Test("An accepted push is sent only once")
    func accepted() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 200)
        world.wait(44)
        #expect(world.pushes.isEmpty)
        world.respondToPush(push, 503)
        world.wait(10)
        #expect(world.pushes.isEmpty)
    }

    @Test(
        "The pushes of a ringing call share one parsed offer, which is the caller's newest, and is dropped at the end"
    )
    func parsedOffer() throws {
        let world = SwitchboardWorld()
        for device in ["b1", "b2"] { try world.register(try principal("10"), device, voip: device + device) }
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        let call = try #require(world.switchboard.calls.live(of: try user("10")).first)
        #expect(call.parsedOffer?.index == 0 && world.takenPushes().count == 2)
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", id: "p", sdp: "v=0\\r\\ns=p\\r\\n"))
        let sdp = try #require(call.newestOffer()?.value(of: .sdp))
        #expect(String(decoding: sdp, as: UTF8.self).contains("s=p"))
        #expect(call.parsedOffer.map { $0.index > 0 } == true)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(call.parsedOffer == nil && call.newestOffer() != nil && call.parsedOffer == nil)
    }

    @Test("A push that failed temporarily is tried again after 0.25 s, 0.5 s, 1 s …, under the same apns-id")
    func backoff() throws {
        for result in [
            PushResult.response(status: 429, reason: "TooManyRequests", timestamp: nil),
            .response(status: 500, reason: nil, timestamp: nil),
            .response(status: 503, reason: "Shutdown", timestamp: nil), .unreachable("connection lost"),
        ] {
            var (world, _, push) = try rung()
            for milliseconds: Int64 in [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000] {
                world.give(.pushed(push.id, result))
                world.wait(.milliseconds(milliseconds - 1))
                #expect(world.pushes.isEmpty, "\(milliseconds)")
                world.wait(.milliseconds(1))
                let again = try #require(world.takenPushes().first)
                #expect(again.uuid == push.uuid)
                #expect(again.id != push.id)
                push = again
            }
        }
    }

    @Test("A push is not tried again once the call no longer rings")
    func stops() throws {
        for end in [SwitchboardWorld.plain("end", "c-1", id: "e"), nil] {
            let (world, caller, push) = try rung()
            world.respondToPush(push, 503)
            if let end {
                world.send(caller, end)
            } else {
                world.send(try world.open("10", "b9"), SwitchboardWorld.answer("c-1"))
            }
            world.wait(30)
            #expect(world.pushes.isEmpty)
            #expect(world.events("push.cancelled").count == 1)
        }
    }

    @Test("A push under way is cancelled when the call ends, and its late result starts nothing")
    func cancelled() throws {
        let (world, caller, push) = try rung()
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.cancelled == [push.id])
        world.respondToPush(push, 503)
        world.wait(10)
        #expect(world.pushes.isEmpty)
    }

    @Test("A permanently refused push is not tried again, and its token is kept if the server is at fault")
    func refused() throws {
        for reason in ["DeviceTokenNotForTopic", "TopicDisallowed", "InvalidProviderToken", "PayloadTooLarge"] {
            let (world, _, push) = try rung()
            world.respondToPush(push, reason == "InvalidProviderToken" ? 403 : 400, reason)
            world.wait(20)
            #expect(world.pushes.isEmpty)
            let devices = try world.reply(try principal("10"), .devices(.list)).text
            #expect(devices.contains(reason))
            #expect(devices.contains(#""hint":"#) && !devices.contains(#""hint":null"#))
            #expect(devices.contains("b1b1"), "it is our own fault, not the token's")
        }
    }

    @Test("A push token of the other environment is tried there once, and that environment is remembered")
    func otherEnvironment() throws {
        let (world, caller, push) = try rung()
        world.respondToPush(push, 400, "BadDeviceToken")
        let other = try #require(world.takenPushes().first)
        #expect(other.route.environment == .sandbox)
        #expect(other.uuid == push.uuid)
        world.respondToPush(other, 200)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        #expect(world.takenPushes().map(\.route.environment) == [.sandbox])
    }

    @Test("A push token that neither environment knows is removed")
    func badToken() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 400, "BadDeviceToken")
        let other = try #require(world.takenPushes().first)
        world.respondToPush(other, 400, "BadDeviceToken")
        world.wait(20)
        #expect(world.pushes.isEmpty)
        #expect(try world.reply(try principal("10"), .devices(.list)).text == "[]")
    }

    @Test("The refusal of a push token that was replaced meanwhile does not remove the new push token")
    func badTokenReplaced() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 400, "BadDeviceToken")
        let other = try #require(world.takenPushes().first)
        try world.register(try principal("10"), "b1", voip: "c1c1")
        world.respondToPush(other, 400, "BadDeviceToken")
        #expect(try world.reply(try principal("10"), .devices(.list)).text.contains("c1c1"))
    }

    @Test("A deleted app's push token is removed, unless the token was registered again since")
    func unregistered() throws {
        for (offset, isKept) in [(-1, true), (0, false), (1, false)] {
            let (world, _, push) = try rung()
            let registered = SwitchboardWorld.start
            world.respondToPush(push, 410, "Unregistered", at: registered + .milliseconds(Int64(offset)))
            #expect(try world.reply(try principal("10"), .devices(.list)).text.contains("b1b1") == isKept, "\(offset)")
        }
        let (world, _, push) = try rung()
        world.respondToPush(push, 410, "Unregistered")
        #expect(try world.reply(try principal("10"), .devices(.list)).text == "[]")
    }

    @Test("A refusal without a timestamp does not remove a push token that was registered after the push")
    func unregisteredWithoutTime() throws {
        for (status, reason) in [(410, "Unregistered"), (410, nil)] as [(Int, String?)] {
            let (world, _, push) = try rung()
            world.wait(.milliseconds(1))
            try world.register(try principal("10"), "b1", voip: push.route.token)
            world.respondToPush(push, status, reason)
            #expect(try world.reply(try principal("10"), .devices(.list)).text.contains(push.route.token))
        }
    }

    @Test("A device that loses one push token keeps its other push token")
    func otherHalf() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: "a1a1")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        world.respondToPush(try #require(world.takenPushes().first), 410, "Unregistered")
        let devices = try world.reply(try principal("10"), .devices(.list)).text
        #expect(devices.contains("a1a1") && !devices.contains("b1b1"))
    }

    @Test("Do-not-disturb set while the call rings stops all retries, and the caller sees an ordinary ring")
    func silenced() throws {
        let (world, _, push) = try rung(alert: "c1c1")
        world.respondToPush(push, 503)
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(3_600))))
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(7_200))))
        world.wait(10_000)
        #expect(world.takenPushes() == [])
        world.wait(60_000)
        #expect(world.takenPushes() == [], "nor is there a notice")
        #expect(world.events("dnd").count == 1 && world.events("push.cancelled").count == 1)
        #expect(world.events("ended") == [#""reason":"unanswered""#], "the caller sees an ordinary ring")
    }

    @Test("A push under way is cancelled when its user sets do-not-disturb")
    func silencedOnItsWay() throws {
        let (world, _, push) = try rung()
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(3_600))))
        #expect(world.cancelled.contains(push.id))
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: nil)))
        world.wait(10_000)
        #expect(world.takenPushes() == [])
    }

    @Test("A push that waits for its next attempt is given up when its device is removed")
    func deviceRemoved() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 503)
        #expect(try world.reply(try principal("10"), .devices(.remove(try device("b1")))).status == 200)
        // The gateway keeps waking the switchboard, which must not find this push due again and again.
        world.wait(5)
        #expect(world.pushes.isEmpty)
        #expect(world.switchboard.deadline.map { world.now < $0 } == true)
    }

    @Test("A push that waits for its next attempt is given up when another user registers its token")
    func tokenMoved() throws {
        let (world, _, push) = try rung()
        try world.register(try principal("10"), "b1", voip: nil, alert: "a1a1")
        world.respondToPush(push, 503)
        try world.register(try principal("12"), "x1", voip: "b1b1")
        world.wait(5)
        #expect(world.pushes.isEmpty)
        #expect(world.switchboard.deadline.map { world.now < $0 } == true)
    }

    @Test("The apns-id differs between calls and between devices")
    func apnsIDs() throws {
        let world = SwitchboardWorld()
        for name in ["b1", "b2"] { try world.register(try principal("10"), name, voip: name + name) }
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10"))
        world.send(caller, SwitchboardWorld.plain("end", "11-10", id: "e"))
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        let pushes = world.takenPushes()
        #expect(pushes.count == 4)
        #expect(Set(pushes.map(\.uuid)).count == 4)
    }

    @Test("One push is sent for a call, no matter how often its offer comes")
    func doubleOffer() throws {
        let (world, caller, _) = try rung()
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", id: "again"))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", id: "new", sdp: "v=0\\r\\ns=new\\r\\n"))
        #expect(
            try world.post(try principal("11"), #"{"action":"offer","callId":"c-1","data":{"sdp":"v=0\r\n"}}"#).status
                == 200
        )
        #expect(world.pushes.isEmpty)
    }

    @Test("Do-not-disturb set and removed while the call rings still stops its pushes and its notice")
    func silencedForAMoment() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: "a1a1")
        let b = try world.open("10", "b1")
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takeFrames(of: b).of("offer").count == 1)
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(3_600))))
        _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: nil)))
        // The connection turns out to be dead.
        world.wait(5)
        #expect(world.takenPushes() == [])
        world.wait(.milliseconds(1))
        for _ in 0..<20 { world.pong(a); world.wait(10) }
        #expect(world.takenPushes() == [], "nor is there a notice")
    }
}
