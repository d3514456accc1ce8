import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Several users of one installation")
struct InstallationTests {
    private static let installation = "i-0123456789abcdef"

    private func register(
        _ user: String,
        installation: String? = Self.installation,
        device: String = "phone",
        in world: SwitchboardWorld
    ) throws {
        var registration = DeviceRegistration(
            tokens: [.voip: .plain("aa")],
            bundleID: "com.example.app",
            platform: "ios",
            device: try SwitchboardTests.device(device)
        )
        registration.installation = installation
        #expect(try world.reply(try principal(user), .devices(.register(registration))).status == 200)
    }

    /// Returns whether a user has the push token.
    private func hasToken(_ user: String, _ world: SwitchboardWorld) throws -> Bool {
        try world.reply(try principal(user), .devices(.list)).text.contains(#""voipDeviceToken":"aa""#)
    }

    /// Returns the users whom the pushes of calls are for.
    private func callees(_ pushes: [OutgoingPush]) -> [String?] { pushes.map { Reply(body: $0.payload)["toUserId"] } }

    @Test("Both users ring, each with its own toUserId; a call between them rings too")
    func bothRing() throws {
        let world = SwitchboardWorld()
        for user in ["10", "12"] { try register(user, in: world) }
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(caller, SwitchboardWorld.offer("c-2", to: "12"))
        #expect(callees(world.takenPushes()) == ["10", "12"])
        let own = try world.open("10", "phone")
        world.send(own, SwitchboardWorld.offer("c-3", to: "12"))
        #expect(callees(world.takenPushes()) == ["12"])
    }

    @Test("A logout of one user leaves the other registered")
    func logout() throws {
        let world = SwitchboardWorld()
        for user in ["10", "12"] { try register(user, in: world) }
        let removal = Switchboard.Request.devices(.remove(try device("phone")))
        #expect(try world.reply(try principal("10"), removal).status == 200)
        #expect(try !hasToken("10", world) && hasToken("12", world))
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "12"))
        #expect(callees(world.takenPushes()) == ["12"])
    }

    @Test(
        "Another installation, or none, takes the token from all users: a device that was sold",
        arguments: [
            nil, "i-another-installation",
        ]
    )
    func sold(_ installation: String?) throws {
        let world = SwitchboardWorld()
        for user in ["10", "12"] { try register(user, in: world) }
        try register("13", installation: installation, device: "mine", in: world)
        #expect(try !hasToken("10", world) && !hasToken("12", world) && hasToken("13", world))
        #expect(world.switchboard.metrics.pushTokensMoved == 2, "once for each user who had it")
        for (number, user) in ["10", "12"].enumerated() {
            world.send(try world.open("11", "a\(number)"), SwitchboardWorld.offer("c-\(number)", to: user))
        }
        #expect(world.takenPushes().isEmpty)
    }

    @Test("A user who registers without the installation's id has the token alone")
    func withoutID() throws {
        let world = SwitchboardWorld()
        for user in ["10", "12"] { try register(user, in: world) }
        try register("10", installation: nil, in: world)
        #expect(try hasToken("10", world) && !hasToken("12", world))
        try register("12", in: world)
        #expect(try !hasToken("10", world) && hasToken("12", world), "10 is no longer of the installation")
    }

    @Test("One user has one row with the token, whatever device ids the app gives")
    func oneRow() throws {
        let world = SwitchboardWorld()
        try register("10", in: world)
        try register("12", in: world)
        try register("10", device: "renamed", in: world)
        let own = try world.reply(try principal("10"), .devices(.list)).text
        #expect(own.contains("renamed") && !own.contains(#""id":"phone""#), "\(own)")
        #expect(try hasToken("12", world))
    }

    @Test("A dead token is removed from all users, except one who has registered it again since")
    func dead() throws {
        let world = SwitchboardWorld()
        for user in ["10", "12", "13"] { try register(user, in: world) }
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        let push = try #require(world.takenPushes().first)
        world.wait(1)
        try register("13", in: world)
        world.respondToPush(push, 410, "Unregistered")
        #expect(try !hasToken("10", world) && !hasToken("12", world) && hasToken("13", world))
    }

    @Test("After a restart the users still share the token")
    func restart() throws {
        let world = SwitchboardWorld()
        for user in ["10", "12"] { try register(user, in: world) }
        let later = world.restarted()
        try register("10", in: later)
        #expect(try hasToken("10", later) && hasToken("12", later))
        later.send(try later.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "12"))
        #expect(callees(later.takenPushes()) == ["12"])
    }
}
