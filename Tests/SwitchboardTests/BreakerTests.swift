import CallCore
import Testing

@testable import Switchboard

@Suite("When many tokens are refused alike")
struct BreakerTests {
    /// 11 calls each of so many users, who have a phone each, and APNs says the same of every phone.
    private func world(_ phones: Int, _ status: Int, _ reason: String?, at timestamp: Moment? = nil) throws -> World {
        let world = World { $0.callsPerMinute = 10_000 }
        try ring(phones, status, reason, at: timestamp, in: world)
        return world
    }

    private func ring(
        _ phones: Int,
        _ status: Int,
        _ reason: String?,
        at timestamp: Moment? = nil,
        from first: Int = 100,
        in world: World
    ) throws {
        for number in first..<first + phones {
            try world.register(try who("\(number)"), "p", voip: "\(number)\(number)")
            // A session of one's own for each: signals are limited by session.
            let caller = try world.open("11", "a\(number)")
            world.send(caller, World.offer("c-\(number)", to: "\(number)"))
            world.answerPush(try #require(world.takenPushes().first), status, reason, at: timestamp)
            world.give(.closed(caller))
        }
    }

    private func registered(_ numbers: Range<Int>, in world: World) throws -> Int {
        try numbers.filter { try world.reply(try who("\($0)"), .devices).text != "[]" }.count
    }

    @Test("stops deleting them, and says so in the metrics; ten minutes later it goes on")
    func stops() throws {
        let world = try world(40, 410, "Unregistered")
        #expect(try registered(100..<140, in: world) == 21, "19 were deleted before it was too much")
        #expect(world.board.metrics.isDeletionStopped)
        world.wait(601)
        try ring(1, 410, "Unregistered", from: 200, in: world)
        #expect(try registered(200..<201, in: world) == 0)
        #expect(!world.board.metrics.isDeletionStopped)
    }

    @Test("says in the metrics that they are deleted again, though no push comes meanwhile")
    func saysWhenOver() throws {
        let world = try world(40, 410, "Unregistered")
        #expect(world.board.metrics.isDeletionStopped)
        world.wait(700)
        #expect(!world.board.metrics.isDeletionStopped)
    }

    @Test("goes on deleting where as many phones take their pushes: those are just deleted apps")
    func ordinary() throws {
        let world = try world(40, 200, nil)
        try ring(40, 410, "Unregistered", from: 200, in: world)
        #expect(try registered(200..<240, in: world) == 0)
        #expect(!world.board.metrics.isDeletionStopped)
    }

    @Test("does not count phones that have registered since")
    func registeredSince() throws {
        let world = try world(40, 410, "Unregistered", at: Moment(milliseconds: 0))
        #expect(try registered(100..<140, in: world) == 40)
        #expect(!world.board.metrics.isDeletionStopped)
    }

    @Test(
        "deletes none at all for a fault of ours: the topic, the key, the clock",
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
