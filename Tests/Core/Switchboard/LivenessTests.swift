import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The life of a connection")
struct LivenessTests {
    /// The moments at which connections are checked are rounded up to a multiple of this duration, so that one
    /// wake-up serves many connections.
    private let grain = Moment.Duration.milliseconds(64)

    @Test("A connection is pinged every 25 s, first at a random moment within 25 s, and closed after 60 s of silence")
    func silence() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        world.wait(25)
        world.wait(grain)
        #expect(world.pings[connection] == 1)
        world.wait(25)
        world.wait(grain)
        #expect(world.pings[connection] == 2)
        world.wait(.milliseconds(9_999 - 2 * grain.milliseconds))
        #expect(world.closes[connection] == nil)
        world.wait(.milliseconds(1))
        world.wait(grain)
        #expect(world.closes[connection] == 1_001)
        #expect(world.switchboard.connectionCount == 0)
    }

    @Test("Connections that were opened together are pinged at different moments")
    func spread() throws {
        let world = SwitchboardWorld()
        for index in 0..<200 { _ = try world.open("\(index)", "a1") }
        world.wait(12)
        #expect((60...140).contains(world.pings.count))
    }

    @Test("A connection stays open as long as pongs or frames come")
    func alive() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        for round in 0..<20 {
            world.wait(50)
            if round.isMultiple(of: 2) { world.pong(connection) } else { world.send(connection, "{}") }
        }
        #expect(world.closes[connection] == nil)
    }

    @Test("A connection is closed a minute after its token expires, unless the token is renewed in time")
    func expiry() throws {
        for isRenewed in [false, true] {
            let world = SwitchboardWorld()
            var principal = try principal("11")
            principal.expiresAt = world.now + .seconds(100)
            let connection = world.connect(principal, device: "a1")
            func live(_ seconds: Int64) {
                for _ in 0..<seconds / 10 {
                    world.wait(10)
                    world.pong(connection)
                }
            }
            live(150)
            if isRenewed {
                world.send(connection, #"{"type":"auth","id":"t","token":"new"}"#)
                #expect(world.verifications.map(\.2) == ["new"])
                principal.expiresAt = world.now + .seconds(1_000)
                _ = world.takeFrames(of: connection)
                world.give(.verified(connection, id: SignalID("t"), .success(principal)))
                #expect(world.takeFrames(of: connection).types == ["ack"])
            }
            world.wait(.milliseconds(9_999))
            #expect(world.closes[connection] == nil)
            world.wait(.milliseconds(1))
            #expect(world.closes[connection] == (isRenewed ? nil : 4401))
            #expect(world.takeFrames(of: connection).code == (isRenewed ? nil : "token_expired"))
        }
    }

    @Test("A connection's token is not renewed by another user's token, nor by an invalid token")
    func wrongRenewal() throws {
        let world = SwitchboardWorld()
        let connection = try world.open("11", "a1")
        world.give(.verified(connection, id: nil, .success(try principal("10"))))
        #expect(world.takeFrames(of: connection).code == "forbidden")
        world.give(.verified(connection, id: nil, .failure(WireError(.unauthenticated, "no"))))
        #expect(world.takeFrames(of: connection).code == "unauthenticated")
        world.give(.verified(SocketID(rawValue: 99), id: nil, .success(try principal("10"))))
    }

    @Test("An answered call ends as disconnected exactly when the grace after a closed connection is over")
    func grace() throws {
        let talk = try Talk.answered()
        talk.world.give(.closed(talk.callee))
        talk.clear()
        talk.world.wait(.milliseconds(29_999))
        #expect(talk.world.takeFrames(of: talk.caller).isEmpty)
        talk.world.wait(.milliseconds(1))
        #expect(talk.world.takeFrames(of: talk.caller).states == ["ended disconnected"])
    }

    @Test("A device without a connection keeps its call as long as it makes requests")
    func requests() throws {
        let talk = try Talk.answered()
        talk.world.give(.closed(talk.callee))
        for _ in 0..<10 {
            talk.world.wait(20)
            talk.world.pong(talk.caller)
            _ = try talk.world.fetched(try principal("10"), "c-1", device: "b1")
        }
        #expect(!talk.world.takeFrames(of: talk.caller).states.contains("ended disconnected"))
        talk.world.wait(30)
        #expect(talk.world.takeFrames(of: talk.caller).states.contains("ended disconnected"))
    }
}

@Suite("Time")
struct TimeTests {
    @Test("A wake-up before the deadline does nothing, and a wake-up at the deadline does all that is due")
    func due() throws {
        let talk = try Talk()
        let world = talk.world
        try world.register(try principal("12"), "x1", voip: "xx")
        world.send(talk.caller, SwitchboardWorld.offer("c-2", to: "12", id: "o2"))
        world.respondToPush(try #require(world.takenPushes().first), 503)
        _ = try world.fetch(try principal("10"), "c-1", since: 99, wait: 10, device: "b1")
        for _ in 0..<200 {
            guard let deadline = world.switchboard.deadline else { break }
            var outputs: [Switchboard.Output] = []
            let early = Moment(milliseconds: deadline.milliseconds - 1)
            world.switchboard.handle(.deadlineReached, at: early, into: &outputs)
            #expect(outputs.isEmpty)
            #expect(world.switchboard.deadline == deadline)
            world.wait(deadline - world.now)
            let following = world.switchboard.deadline
            let next = try #require(following)
            #expect(next > world.now, "one wake-up does all that is due")
        }
    }

    @Test("After the clock jumps ahead, as on a machine that was suspended, every due call ends exactly once")
    func jump() throws {
        let talk = try Talk()
        var outputs: [Switchboard.Output] = []
        let later = talk.world.now + .seconds(86_400)
        talk.world.switchboard.handle(.deadlineReached, at: later, into: &outputs)
        #expect(talk.world.switchboard.connectionCount == 0)
        #expect(talk.world.switchboard.deadline.map { $0 > later } == true)
        let ended = outputs.count { if case .note(.ended) = $0 { true } else { false } }
        #expect(ended == 1)
    }

    @Test("Setting the clock back takes nothing from a rate limit's bucket")
    func setBack() {
        var bucket = TokenBucket(perSecond: 1, burst: 3, at: SwitchboardWorld.start + .seconds(100))
        let atOnce = (0..<4).map { _ in bucket.admit(at: SwitchboardWorld.start) }
        #expect(atOnce == [true, true, true, false])
        #expect(bucket.secondsUntilNext == 1)
        let later = (0..<2).map { _ in bucket.admit(at: SwitchboardWorld.start + .seconds(1)) }
        #expect(later == [true, false])
    }

    @Test("After some time without events, no call and no rate-limit entry is left, and one timer remains")
    func idle() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        for index in 0..<25 {
            world.send(caller, SwitchboardWorld.offer("c-\(index)", to: "10", id: "o\(index)"))
            world.send(caller, SwitchboardWorld.plain("end", "c-\(index)", id: "e\(index)"))
        }
        world.give(.closed(caller))
        world.wait(1_000)
        #expect(world.switchboard.calls.count == 0)
        #expect(world.switchboard.timerCount == 1)
        #expect(world.switchboard.limits.calls.count == 0)
        #expect(world.switchboard.calls.endNotices.isEmpty)
        #expect(world.switchboard.commits.waitingCount == 0)
    }

    @Test("An ended call can be fetched for ten minutes, to the millisecond")
    func fetchable() throws {
        let talk = try Talk()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.wait(.milliseconds(599_999))
        let view = try talk.world.fetched(try principal("10"), "c-1", device: "b1")
        #expect(view["state"] == "ended")
        #expect(view["reason"] == "cancelled")
        talk.world.wait(.milliseconds(1))
        #expect(try talk.world.fetched(try principal("10"), "c-1", device: "b1").status == 404)
    }
}
