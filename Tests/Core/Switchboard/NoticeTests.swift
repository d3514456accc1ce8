import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Pushes under way")
struct NoticeTests {
    @Test("A text's notice is tried in the other APNs environment, as a call's push is")
    func environment() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: nil, alert: "cc")
        let sender = try world.open("11", "a1")
        world.send(sender, SwitchboardWorld.text(to: "10"))
        #expect(world.pushes.map(\.route.environment) == [.production])
        world.respondToPush(world.pushes[0], 400, "BadDeviceToken")
        #expect(world.pushes.map(\.route.environment) == [.production, .sandbox])
        if let second = world.pushes.dropFirst().first { world.respondToPush(second, 200) }
        world.send(sender, SwitchboardWorld.text(to: "10"))
        #expect(world.pushes.last?.route.environment == .sandbox)
    }

    @Test("The late result of a push to an old push token does not set the environment of the new push token")
    func staleEnvironment() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        let sender = try world.open("11", "a1")
        world.send(sender, SwitchboardWorld.offer("c-1", to: "10"))
        try world.register(try principal("10"), "b1", voip: "bb", environment: .sandbox)
        world.respondToPush(world.pushes[0], 200)
        let device = world.switchboard.directory.devices(of: try user("10"))[0]
        #expect(device.workingEnvironment == nil)
    }

    @Test("A push under way to a device that is removed is cancelled")
    func removedDevice() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        let sender = try world.open("11", "a1")
        world.send(sender, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.pushes.count == 1)
        _ = try world.reply(try principal("10"), .devices(.remove(try device("b1"))))
        #expect(world.cancelled == [world.pushes[0].id])
    }

    @Test("A push under way to a push token that another user registers is cancelled")
    func movedToken() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        let sender = try world.open("11", "a1")
        world.send(sender, SwitchboardWorld.offer("c-1", to: "10"))
        try world.register(try principal("12"), "b1", voip: "aa")
        #expect(world.cancelled == [world.pushes[0].id])
    }

    @Test("A text's notice under way is cancelled when the tokens of its addressee are revoked")
    func textAtRevocation() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: nil, alert: "cc")
        let sender = try world.open("11", "a1")
        world.send(sender, SwitchboardWorld.text(to: "10"))
        _ = try world.reply(try principal("10"), .credentials(.revokeTokens(nil)))
        #expect(world.cancelled == [world.pushes[0].id])
    }
}
