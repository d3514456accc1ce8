import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Connections of an earlier owner of the calls")
struct AdoptionTests {
    private static let first = CallNumber(rawValue: 1)

    /// A world whose server is one of several.
    private static func world() -> SwitchboardWorld {
        SwitchboardWorld {
            $0.withholdsDecisions = true
            $0.marksLogs = true
        }
    }

    /// Returns the next owner of a world's calls.
    private static func next(_ world: SwitchboardWorld, after seconds: Int64 = 0) -> SwitchboardWorld {
        world.restarted(
            uncleanStarts: 1,
            {
                $0.withholdsDecisions = true
                $0.marksLogs = true
            },
            after: seconds
        )
    }

    @Test("An adopted connection is not welcomed, and gets the frames of its calls")
    func silent() throws {
        let talk = try Talk.answered(Self.world())
        let next = Self.next(talk.world)
        let caller = try next.adopt("11", "a1", seen: [Self.first: 4])
        let callee = try next.adopt("10", "b1", seen: [Self.first: 4])
        #expect(next.takeFrames(of: caller).isEmpty)
        #expect(next.takeFrames(of: callee).isEmpty)
        next.send(caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(next.takeFrames(of: callee).types == ["ice"])
        #expect(next.takeFrames(of: caller).types == ["ack"])
    }

    @Test("A log is replayed from behind its mark, and a log without a mark is replayed whole")
    func marks() throws {
        let talk = try Talk(Self.world())
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i1"))
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i2"))
        #expect(try Self.next(talk.world).adoptedFrames("10", "b1").types == ["offer", "ice", "ice"])
        let marked = try Self.next(talk.world).adoptedFrames("10", "b1", seen: [Self.first: 3])
        #expect(marked.map { $0["id"] } == ["i2"])
        let strange = try Self.next(talk.world).adoptedFrames("10", "b1", seen: [CallNumber(rawValue: 9): 99])
        #expect(strange.types == ["offer", "ice", "ice"], "the mark of another log does not count")
    }

    @Test("What a deposed owner has shown beyond the durable log is not shown again, and what follows is")
    func beyond() throws {
        let talk = try Talk.answered(Self.world())
        let next = Self.next(talk.world)
        let caller = try next.adopt("11", "a1", seen: [Self.first: 4])
        let callee = try next.adopt("10", "b1", seen: [Self.first: 20])
        #expect(next.takeFrames(of: callee).isEmpty)
        next.send(caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(next.takeFrames(of: callee).first.map { $0.seq > 20 } == true)
    }

    @Test("The end of a call, which the earlier owner did not deliver, is delivered")
    func end() throws {
        let talk = try Talk.answered(Self.world())
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let next = Self.next(talk.world)
        let callee = try next.adopt("10", "b1", seen: [Self.first: 99])
        #expect(next.takeFrames(of: callee).states == ["ended hangup"])
        #expect(try Self.next(next).adoptedFrames("10", "b1").isEmpty == false, "there was no pong yet")
        next.pong(callee)
        #expect(try Self.next(next).adoptedFrames("10", "b1").isEmpty)
    }

    @Test("An adopted connection is told of the end that its device has sent by a request to the new owner")
    func endByRequest() throws {
        let end = Switchboard.Request.end(try call("c-1"), device: try device("b1"))
        let declined = Self.next(try Talk(Self.world()).world)
        #expect(try declined.reply(try principal("10"), end)["reason"] == "declined")
        #expect(try declined.adoptedFrames("10", "b1", seen: [Self.first: 99]).states == ["ended declined"])

        let late = Self.next(try Talk(Self.world()).world)
        let answering = try late.open("10", "b2")
        late.send(answering, SwitchboardWorld.answer("c-1"))
        #expect(try late.reply(try principal("10"), end)["reason"] == "answered_elsewhere")
        late.send(answering, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let callee = try late.adopt("10", "b1", seen: [Self.first: 99])
        #expect(late.takeFrames(of: callee).states == ["ended answered_elsewhere"])
        late.wait(30)
        late.pong(callee)
        #expect(try Self.next(late).adoptedFrames("10", "b1").isEmpty, "the device knows of the end by now")
    }

    @Test("An adopted connection is not told of the end that its device has sent on a connection")
    func endByConnection() throws {
        let declined = try Talk(Self.world())
        declined.world.send(declined.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(try Self.next(declined.world).adoptedFrames("10", "b1", seen: [Self.first: 99]).isEmpty)

        let late = try Talk(Self.world())
        let answering = try late.world.open("10", "b2")
        late.world.send(answering, SwitchboardWorld.answer("c-1"))
        late.world.send(late.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        late.world.send(answering, SwitchboardWorld.plain("end", "c-1", id: "f"))
        #expect(try Self.next(late.world).adoptedFrames("10", "b1", seen: [Self.first: 99]).isEmpty)
    }

    @Test("An adopted callee is probed and not pushed; without a sign of life it is closed and pushed")
    func ringing() throws {
        let world = Self.world()
        try world.register(try principal("10"), "b1")
        let talk = try Talk(world)
        #expect(world.takenPushes().isEmpty)
        let alive = Self.next(world)
        let callee = try alive.adopt("10", "b1", seen: [Self.first: 99])
        #expect(alive.pings[callee] == 1)
        alive.pong(callee)
        alive.wait(10)
        #expect(alive.pushes.isEmpty)
        let dead = Self.next(talk.world)
        let halfOpen = try dead.adopt("10", "b1", seen: [Self.first: 99])
        dead.wait(3)
        #expect(dead.closes[halfOpen] == 1001)
        #expect(dead.pushes.count == 1)
    }

    @Test("A pong to a ping of an earlier owner confirms nothing")
    func stalePong() throws {
        let talk = try Talk.answered(Self.world())
        talk.world.give(.closed(talk.callee))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let next = Self.next(talk.world)
        let callee = try next.adopt("10", "b1")
        next.wait(30)
        for number: UInt64 in [1, 2, 1 << 31, .max] { next.give(.ponged(callee, number)) }
        #expect(try Self.next(next).adoptedFrames("10", "b1").states == ["ended hangup"])
        next.pong(callee)
        #expect(try Self.next(next).adoptedFrames("10", "b1").isEmpty)
        let other = SwitchboardWorld(stored: next.kept.state(uncleanStarts: 1), after: next.kept, seed: 8, at: next.now)
        let again = try other.adopt("10", "b1")
        other.wait(30)
        #expect(other.pingBases[again] != next.pingBases[callee], "each owner begins with a number of its own")
    }

    @Test("Of two connections of one device, the one that was opened last stays")
    func twice() throws {
        let world = Self.world()
        let older = try world.adopt("10", "b1", openFor: .seconds(60))
        let younger = try world.adopt("10", "b1", openFor: .seconds(5))
        #expect(world.closes == [older: 4409])
        let oldest = try world.adopt("10", "b1", openFor: .seconds(600))
        #expect(world.closes == [older: 4409, oldest: 4409])
        let new = try world.open("10", "b1")
        #expect(world.closes[younger] == 4409)
        world.wait(2)
        _ = try world.adopt("10", "b1", openFor: .seconds(3))
        #expect(world.closes[new] == nil)
        #expect(world.switchboard.connectionCount == 1)
    }

    @Test("The connections that clients opened without naming a device all stay")
    func unnamed() throws {
        let world = Self.world()
        let ids = [try world.adopt("10", nil), try world.adopt("10", nil)]
        #expect(world.closes.isEmpty)
        #expect(Set(ids.compactMap { world.switchboard.connections[$0]?.device.id }).count == 2)
    }

    @Test("An id that an earlier owner gave a device stays with one connection; another one gets an id of its own")
    func assigned() throws {
        let world = Self.world()
        let ids = try (0..<2).map { _ in world.adopt(try principal("10"), assigned: "c-1") }
        let devices = ids.compactMap { world.switchboard.connections[$0]?.device.id.text }
        #expect(world.closes.isEmpty)
        #expect(devices.count == 2 && devices[0] == "c-1" && devices[1] != "c-1")
    }

    @Test("A client without a device id that is in a call continues it on its adopted connection")
    func unnamedInCall() throws {
        let world = Self.world()
        let caller = world.connect(try principal("11"))
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(callee, SwitchboardWorld.answer("c-1"))
        let next = Self.next(world)
        let adopted = try next.adopt("11", nil, seen: [Self.first: 99])
        next.send(try next.adopt("10", "b1", seen: [Self.first: 99]), SwitchboardWorld.ice("c-1", id: "i"))
        #expect(next.takeFrames(of: adopted).types == ["ice"])
    }

    @Test("The limit of connections, revocations and expired tokens apply to adopted connections")
    func limits() throws {
        let world = SwitchboardWorld { $0.connectionsPerUser = 1 }
        _ = try world.adopt("10", "b1")
        let second = try world.adopt("10", "b2")
        #expect(world.closes[second] == 4429)

        var expired = try principal("11")
        expired.expiresAt = world.now
        let leeway = world.adopt(expired)
        #expect(world.closes[leeway] == nil, "the leeway for clocks is not over")
        world.wait(60)
        let late = world.adopt(expired)
        #expect(world.closes[late] == 4401)

        var old = try principal("12")
        old.issuedAt = world.now
        world.wait(1)
        world.give(.operatorCommand(OperatorCommandID(rawValue: 1), .revoke(try user("12"), before: world.now)))
        let revoked = world.adopt(old)
        #expect(world.closes[revoked] == 4401)

        world.give(.drain)
        let draining = try world.adopt("13", "d1")
        #expect(world.takeFrames(of: draining).types == ["draining"])
        #expect(world.closes[draining] == 1001)
    }

    @Test("Presence is told once, to those who had already asked for it")
    func presence() throws {
        let talk = try Talk(Self.world())
        let next = Self.next(talk.world)
        let watcher = try next.open("11", "a1")
        next.send(watcher, #"{"type":"presence","userId":"10"}"#)
        #expect(next.takeFrames(of: watcher).of("presence").map { $0["online"] } == ["false"])
        _ = try next.adopt("10", "b1")
        _ = try next.adopt("10", "b2")
        #expect(next.takeFrames(of: watcher).of("presence").map { $0["online"] } == ["true"])
    }

    @Test("A push is retried by the next owner under the same apns-id and callUUID, and not after it was accepted")
    func push() throws {
        let world = Self.world()
        try world.register(try principal("10"), "b1")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10", more: #","ringTimeout":30"#))
        let push = try #require(world.takenPushes().first)
        world.respondToPush(push, 503)
        world.wait(1)
        #expect(world.takenPushes().map(\.uuid) == [push.uuid])
        let next = Self.next(world, after: 1)
        next.wait(3)
        let retry = try #require(next.takenPushes().first)
        #expect(retry.uuid == push.uuid)
        #expect(retry.payload.uuid == push.payload.uuid)
        #expect(retry.expiresAt == push.expiresAt, "the ring ends when the offer said")
        next.respondToPush(retry, 200)
        let last = Self.next(next, after: 1)
        last.wait(60)
        #expect(last.pushes.isEmpty)
        #expect(last.notes.contains(.ended(try call("c-1"), epoch: 1, .unanswered)))
    }

    @Test("A server that may be deposed refuses a signal, or a fetch, of an unknown call only after a commit")
    func unknownCall() throws {
        let world = Self.world()
        let device = try world.open("10", "b1")
        world.holdsCommits = true
        _ = world.takeFrames(of: device)
        world.send(device, SwitchboardWorld.plain("ringing", "c-9", id: "r"))
        let fetch = try world.fetch(try principal("10"), "c-9", device: "b1")
        #expect(world.takeFrames(of: device).isEmpty)
        #expect(world.replies[fetch] == nil)
        world.commit()
        #expect(world.takeFrames(of: device).code == "not_found")
        #expect(world.replies[fetch]?.status == 404)
    }

    @Test("A deposed owner orders no push and no retry, and acknowledges no signal")
    func deposed() throws {
        let world = Self.world()
        try world.register(try principal("10"), "b1")
        try world.register(try principal("12"), "c1", voip: "cc")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.respondToPush(try #require(world.takenPushes().first), 503)
        // From here on, the store takes no commit.
        world.holdsCommits = true
        _ = world.takeFrames(of: caller)
        world.send(caller, SwitchboardWorld.offer("c-2", to: "12"))
        world.send(caller, SwitchboardWorld.ice("c-1", id: "i"))
        world.wait(10)
        #expect(world.pushes.isEmpty)
        #expect(world.takeFrames(of: caller).of("ack").isEmpty)
    }
}

extension SwitchboardWorld {
    /// Hands over a connection of a user that an earlier owner had.
    fileprivate func adopt(
        _ user: String,
        _ device: String?,
        openFor: Moment.Duration = .seconds(60),
        seen: [CallNumber: UInt64] = [:]
    ) throws -> SocketID { adopt(try principal(user), device, openFor: openFor, seen: seen) }

    /// Adopts a connection, and returns the frames that it is sent at once.
    fileprivate func adoptedFrames(
        _ user: String,
        _ device: String,
        seen: [CallNumber: UInt64] = [:]
    ) throws -> [Frame] {
        takeFrames(of: try adopt(user, device, seen: seen))
    }
}

extension [UInt8] {
    /// The CallKit UUID in a push's payload.
    fileprivate var uuid: String? {
        Frame([UInt8](repeating: 0, count: CallWire.Frame.headroom) + self)["callUUID"]
    }
}
