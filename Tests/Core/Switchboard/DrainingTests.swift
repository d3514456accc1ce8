import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("A server that is shutting down")
struct DrainingTests {
    @Test("Every connection is closed with 1001, also each connection that is opened afterwards")
    func sessions() throws {
        let talk = try Talk()
        talk.world.give(.drain)
        #expect(talk.world.closes[talk.caller] == 1_001)
        #expect(talk.world.closes[talk.callee] == 1_001)
        #expect(try talk.world.closing("10", "b1") == 1_001)
        talk.world.give(.drain)
    }

    @Test("Long polls and signals are refused with 503 and Retry-After; a fetch is still served")
    func requests() throws {
        let talk = try Talk()
        let poll = try talk.world.fetch(try principal("11"), "c-1", since: 99, wait: 20, device: "a1")
        #expect(talk.world.replies[poll] == nil)
        talk.world.give(.drain)
        #expect(talk.world.replies[poll]?.status == 503)
        #expect(talk.world.replies[poll]?.retryAfterSeconds != nil)
        let reply = try talk.world.post(try principal("11"), #"{"action":"ringing","callId":"c-1"}"#)
        #expect(reply.status == 503)
        #expect(reply.retryAfterSeconds == 1)
        #expect(try talk.world.fetched(try principal("11"), "c-1").status == 200)
    }

    @Test("If the server closes a device's connection to shut down, the device is not pushed because of that")
    func noPush() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        _ = try world.open("10", "b1")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.pushes.isEmpty)
        world.give(.drain)
        #expect(world.pushes.isEmpty)
    }

    /// Returns the delay, in milliseconds, that a connection's `draining` frame contains.
    ///
    /// Checks that the close reason contains the same delay.
    private func pause(of connection: SocketID, in world: SwitchboardWorld) throws -> Int64 {
        let frames = world.takeFrames(of: connection)
        let frame = try #require(frames.last)
        #expect(frames.of("draining").count == 1 && frame.type == "draining")
        let reason = try #require(world.farewells.first { $0.connection == connection }).reason
        let pause = try #require(frame["reconnectAfterMs"].flatMap { Int64($0) })
        #expect(reason == "the server is shutting down; reconnectAfterMs=\(pause)" && reason.utf8.count <= 123)
        return pause
    }

    @Test("Each device is told to reconnect in a separate time slot, users in a call first")
    func spread() throws {
        let world = SwitchboardWorld(seed: 3)
        var talking: [SocketID] = []
        var idle: [SocketID] = []
        for number in 0..<1_000 {
            let connection = try world.open("\(number)", "d")
            if number < 100 { talking.append(connection) } else { idle.append(connection) }
        }
        for number in 0..<50 {
            world.send(talking[number], SwitchboardWorld.offer("c-\(number)", to: "\(number + 50)"))
        }
        world.give(.drain)
        let first = try talking.map { try pause(of: $0, in: world) }.sorted()
        let all = try (first + idle.map { try pause(of: $0, in: world) }).sorted()
        // 1,000 devices at 500 a second reconnect within two seconds, after the half second that the next server needs.
        #expect(all.allSatisfy { (500..<2_500).contains($0) })
        #expect(Array(all.prefix(100)) == first)
        for (place, pause) in all.enumerated() {
            #expect(pause == 500 + Int64(place) * 2 || pause == 501 + Int64(place) * 2)
        }
        // The connections are not closed in the order in which they were opened.
        #expect(idle.map(\.rawValue) == idle.map(\.rawValue).sorted())
        #expect(world.farewells.map(\.connection.rawValue) != world.farewells.map(\.connection.rawValue).sorted())
    }

    @Test("Devices reconnect after 0.5 s, over 1 s if few and 10 s if many, but at most over a third of a call's grace")
    func span() throws {
        func longest(_ count: Int, grace: Int64 = 30) throws -> Int64 {
            let world = SwitchboardWorld({ $0.grace = .seconds(grace) })
            let connections = try (0..<count).map { try world.open("\($0)", "d") }
            world.give(.drain)
            return try connections.map { try pause(of: $0, in: world) }.max() ?? 0
        }
        #expect(try (500..<1_500).contains(longest(1)))
        #expect(try (1_490..<1_500).contains(longest(200)))
        #expect(try (10_480..<10_500).contains(longest(6_000)))
        #expect(try (1_480..<1_500).contains(longest(1_000, grace: 3)))
    }

    @Test("The delays are drawn from the injected random number generator")
    func seeded() throws {
        func pauses(seed: UInt64) throws -> [Int64] {
            let world = SwitchboardWorld(seed: seed)
            let connections = try (0..<20).map { try world.open("\($0)", "d") }
            world.give(.drain)
            return try connections.map { try pause(of: $0, in: world) }
        }
        #expect(try pauses(seed: 1) == pauses(seed: 1))
        #expect(try pauses(seed: 1) != pauses(seed: 2))
    }

    @Test("A Socket.IO client is sent no draining frame; a /ws client is, even if it connects during the draining")
    func others() throws {
        let world = SwitchboardWorld()
        let old = world.join(try principal("10"))
        world.give(.drain)
        #expect(world.takeFrames(of: old).of("draining").isEmpty && world.closes[old] == 1_001)
        let late = world.join(try principal("12"))
        #expect(world.takeFrames(of: late).isEmpty && world.closes[late] == 1_001)
        let native = try world.open("11", "a1")
        #expect(try (500..<1_500).contains(pause(of: native, in: world)))
    }
}
