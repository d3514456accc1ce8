import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("The notice of a missed call")
struct MissedCallTests {
    /// A world in which 11 rings 10, and APNs has accepted the VoIP push to 10's device b1.
    ///
    /// By default the device has an alert token too.
    private func rung(
        _ world: SwitchboardWorld = SwitchboardWorld(),
        alert: String? = "a1a1"
    ) throws -> (world: SwitchboardWorld, caller: SocketID) {
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: alert)
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", more: #","displayName":"山田""#))
        for push in world.takenPushes() { world.respondToPush(push, 200) }
        return (world, caller)
    }

    private func notices(_ world: SwitchboardWorld) -> [OutgoingPush] {
        world.takenPushes().filter { $0.route.kind == .alert }
    }

    @Test("A device that was pushed is notified once if the ring timed out or the caller cancelled the call")
    func missed() throws {
        for givesUp in [false, true] {
            let (world, caller) = try rung()
            if givesUp { world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e")) } else { world.wait(46) }
            let notice = try #require(notices(world).first)
            #expect(notice.route.token == "a1a1" && notice.route.topic == "com.example.app")
            let payload = Reply(body: notice.payload)
            #expect(payload["type"] == "call.missed" && payload["callId"] == "c-1")
            #expect(payload["fromUserId"] == "11" && payload["fromDisplayName"] == "山田")
            world.respondToPush(notice, 200)
            world.wait(200)
            #expect(world.pushes.isEmpty, "the device is notified only once")
        }
    }

    @Test("A device that rang over its connection is notified too")
    func bySocket() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: "a1a1")
        let (callee, caller) = (try world.open("10", "b1"), try world.open("11", "a1"))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.pong(callee)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(notices(world).map(\.route.token) == ["a1a1"])
    }

    @Test(
        "No notice goes out for a declined, answered or hidden call, nor to a device that did not ring"
    )
    func notMissed() throws {
        let (declined, _) = try rung()
        declined.send(try declined.open("10", "b1"), SwitchboardWorld.plain("end", "c-1", id: "e"))
        let (answered, caller) = try rung()
        answered.send(try answered.open("10", "b1"), SwitchboardWorld.answer("c-1"))
        answered.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let hidden = SwitchboardWorld()
        #expect(
            try hidden.reply(try principal("10"), .blocks(.doNotDisturb(until: SwitchboardWorld.start + .seconds(600))))
                .status
                == 200
        )
        _ = try rung(hidden)
        hidden.wait(46)
        let (without, _) = try rung(alert: nil)
        try without.register(try principal("10"), "b2", voip: nil, alert: "a2a2")
        without.wait(46)
        for world in [declined, answered, hidden, without] { #expect(notices(world).isEmpty) }
    }
}

@Suite("A device that does not react to its pushes")
struct PushHealthTests {
    /// Rings 10 from 11, and cancels the call after APNs has accepted the push; returns the push to 10's device.
    private func ring(_ number: Int, _ caller: SocketID, in world: SwitchboardWorld) throws -> OutgoingPush {
        world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)"))
        let push = try #require(world.takenPushes().first)
        world.respondToPush(push, 200)
        world.send(caller, SwitchboardWorld.plain("end", "c-\(number)", id: "e\(number)"))
        for notice in world.takenPushes() { world.respondToPush(notice, 200) }
        return push
    }

    @Test("After three VoIP pushes without a sign of life a device is sent alert pushes, until its next sign of life")
    func alert() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: "a1a1")
        world.wait(1)
        let caller = try world.open("11", "a1")
        for number in 1...3 { #expect(try ring(number, caller, in: world).route.kind == .voip) }
        let notice = try ring(4, caller, in: world)
        #expect(notice.route.kind == .alert && notice.route.token == "a1a1" && notice.route.topic == "com.example.app")
        #expect(Reply(body: notice.payload)["type"] == "call.incoming")
        world.wait(1)
        world.give(.closed(try world.open("10", "b1")))
        #expect(try ring(5, caller, in: world).route.kind == .voip)
    }

    @Test("A device without an alert token is still sent VoIP pushes")
    func voip() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1")
        world.wait(1)
        let caller = try world.open("11", "a1")
        for number in 1...6 { #expect(try ring(number, caller, in: world).route.kind == .voip) }
    }

    @Test("Pushes that APNs refused do not count as pushes without a sign of life")
    func refused() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: "a1a1")
        world.wait(1)
        let caller = try world.open("11", "a1")
        for number in 1...5 {
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)"))
            world.respondToPush(try #require(world.takenPushes().first), 400, "DeviceTokenNotForTopic")
            world.send(caller, SwitchboardWorld.plain("end", "c-\(number)", id: "e\(number)"))
            _ = world.takenPushes()
        }
        #expect(try ring(6, caller, in: world).route.kind == .voip)
    }
}
