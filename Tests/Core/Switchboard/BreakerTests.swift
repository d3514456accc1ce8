import CallCore
import Testing

@testable import Switchboard

@Suite("The stop of the deletion of push tokens when APNs refuses many of them")
struct BreakerTests {
    /// A world in which user 11 has called this many users, each with one device, and APNs has responded to each push
    /// with this status and reason.
    private func world(
        _ phones: Int,
        _ status: Int,
        _ reason: String?,
        at timestamp: Moment? = nil
    ) throws -> SwitchboardWorld {
        let world = SwitchboardWorld { $0.callsPerMinute = 10_000 }
        try ring(phones, status, reason, at: timestamp, in: world)
        return world
    }

    private func ring(
        _ phones: Int,
        _ status: Int,
        _ reason: String?,
        at timestamp: Moment? = nil,
        from first: Int = 100,
        in world: SwitchboardWorld
    ) throws {
        for number in first..<first + phones {
            try world.register(try principal("\(number)"), "p", voip: "\(number)\(number)")
            // Each call comes from a separate connection, because signals are limited per connection.
            let caller = try world.open("11", "a\(number)")
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "\(number)"))
            world.respondToPush(try #require(world.takenPushes().first), status, reason, at: timestamp)
            world.give(.closed(caller))
        }
    }

    private func registered(_ numbers: Range<Int>, in world: SwitchboardWorld) throws -> Int {
        try numbers.filter { try world.reply(try principal("\($0)"), .devices(.list)).text != "[]" }.count
    }

    @Test("Deletion stops after too many refused push tokens, which the metrics show, and resumes ten minutes later")
    func stops() throws {
        let world = try world(40, 410, "Unregistered")
        #expect(try registered(100..<140, in: world) == 21, "19 were deleted before deletion stopped")
        #expect(world.switchboard.metrics.isDeletionStopped)
        world.wait(601)
        try ring(1, 410, "Unregistered", from: 200, in: world)
        #expect(try registered(200..<201, in: world) == 0)
        #expect(!world.switchboard.metrics.isDeletionStopped)
    }

    @Test("The dead push tokens of one user, however many, do not stop the deletion of others'")
    func oneUser() throws {
        let world = SwitchboardWorld()
        for number in 0..<30 { try world.register(try principal("10"), "p\(number)", voip: "a\(number)") }
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        for push in world.takenPushes() { world.respondToPush(push, 410, "Unregistered") }
        #expect(try world.reply(try principal("10"), .devices(.list)).text == "[]")
        #expect(!world.switchboard.metrics.isDeletionStopped)
        try ring(1, 410, "Unregistered", in: world)
        #expect(try registered(100..<101, in: world) == 0)
    }

    @Test("The metrics show that deletion has resumed, even if no push was sent meanwhile")
    func saysWhenOver() throws {
        let world = try world(40, 410, "Unregistered")
        #expect(world.switchboard.metrics.isDeletionStopped)
        world.wait(700)
        #expect(!world.switchboard.metrics.isDeletionStopped)
    }

    @Test("Deletion continues if APNs accepts half of all pushes: then the refused tokens belong to deleted apps")
    func ordinary() throws {
        let world = try world(40, 200, nil)
        try ring(40, 410, "Unregistered", from: 200, in: world)
        #expect(try registered(200..<240, in: world) == 0)
        #expect(!world.switchboard.metrics.isDeletionStopped)
    }

    @Test("A device that has registered since APNs' timestamp is kept, and does not count towards the stop")
    func registeredSince() throws {
        let world = try world(40, 410, "Unregistered", at: Moment(milliseconds: 0))
        #expect(try registered(100..<140, in: world) == 40)
        #expect(!world.switchboard.metrics.isDeletionStopped)
    }

    @Test(
        "No push token is deleted if APNs refuses the server's topic, key, clock, certificate or payload size",
        arguments: [
            (400, "DeviceTokenNotForTopic"), (400, "TopicDisallowed"), (400, "BadTopic"), (403, "InvalidProviderToken"),
            (403, "ExpiredProviderToken"), (403, "MissingProviderToken"), (403, "BadCertificateEnvironment"),
            (413, "PayloadTooLarge"),
        ]
    )
    func ownFault(_ status: Int, _ reason: String) throws {
        let world = try world(30, status, reason)
        #expect(try registered(100..<130, in: world) == 30)
    }
}
