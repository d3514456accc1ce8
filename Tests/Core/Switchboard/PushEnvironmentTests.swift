import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The push token and the APNs environment of a push")
struct PushEnvironmentTests {
    private func rung(
        _ world: SwitchboardWorld = SwitchboardWorld()
    ) throws -> (world: SwitchboardWorld, caller: SocketID, first: OutgoingPush) {
        try world.register(try principal("10"), "b1", voip: "b1b1")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        return (world, caller, try #require(world.takenPushes().first))
    }

    @Test("A push token registered between two attempts is not deleted after only one environment has refused it")
    func tokenRegisteredBetweenTries() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 400, "BadDeviceToken")
        world.respondToPush(try #require(world.takenPushes().first), 503)
        try world.register(try principal("10"), "b1", voip: "c1c1")
        world.wait(1)
        let again = try #require(world.takenPushes().first)
        #expect(again.route.token == "c1c1")
        world.respondToPush(again, 400, "BadDeviceToken")
        #expect(
            try world.reply(try principal("10"), .devices(.list)).text.contains("c1c1"),
            "only one environment has refused it"
        )
        #expect(try #require(world.takenPushes().first).route.environment == again.route.environment?.other)
    }

    @Test("The result of a push to an earlier push token does not set the environment of the token that replaced it")
    func lateResultOfEarlierToken() throws {
        let (world, caller, push) = try rung()
        try world.register(try principal("10"), "b1", voip: "c1c1", environment: .sandbox)
        world.respondToPush(push, 200)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        #expect(world.takenPushes().map(\.route.environment) == [.sandbox])
    }

    @Test("A push is tried again if a proxy responds to it with a 5xx status", arguments: [502, 504, 507])
    func gateway(_ status: Int) throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, status)
        world.wait(1)
        #expect(world.takenPushes().count == 1)
    }

    @Test("A notice is tried once in the other environment, and a push token that neither environment knows is removed")
    func noticeOfOtherEnvironment() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: nil, alert: "a1a1")
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.text(to: "10"))
        world.respondToPush(try #require(world.takenPushes().first), 400, "BadDeviceToken")
        let other = try #require(world.takenPushes().first)
        #expect(other.route.environment == .sandbox)
        world.respondToPush(other, 200)
        world.send(a, #"{"type":"message","id":"m2","to":"10","body":"y"}"#)
        let second = world.takenPushes()
        #expect(second.map(\.route.environment) == [.sandbox])
        for push in second { world.respondToPush(push, 400, "BadDeviceToken") }
        let last = world.takenPushes()
        #expect(last.map(\.route.environment) == [.production])
        for push in last { world.respondToPush(push, 400, "BadDeviceToken") }
        #expect(world.takenPushes() == [])
        #expect(try world.reply(try principal("10"), .devices(.list)).text == "[]")
    }

    @Test("A missed call's notice is tried once in the other environment, and its call can then go to rest")
    func missedInOtherEnvironment() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: nil, alert: "a1a1")
        let b = try world.open("10", "b1")
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("c-1", to: "10"))
        world.pong(b)
        world.send(a, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.pong(b)
        world.respondToPush(try #require(world.takenPushes().first), 400, "BadDeviceToken")
        let other = try #require(world.takenPushes().first)
        #expect(other.route.environment == .sandbox && other.route.topic == "com.example.app")
        world.respondToPush(other, 200)
        #expect(world.events("push.sent").count == 2 && world.events("push.result").count == 2)
        for _ in 0..<8 { world.wait(10); world.pong(a); world.pong(b) }
        #expect(world.switchboard.calls.count == 0 && world.switchboard.calls.resting.count == 1)
    }
}
