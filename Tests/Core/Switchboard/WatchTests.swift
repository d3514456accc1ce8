import CallCore
import CallPorts
import CallTrace
import CallWire
import JSON
import Testing

@testable import Switchboard

@Suite("A service that watches calls is sent their timelines while they happen")
struct WatchTests {
    /// Opens a connection of a service.
    private func console(in world: SwitchboardWorld, device: String = "console") throws -> SocketID {
        var service = try principal("support")
        service.isService = true
        let id = world.connect(service, device: device)
        _ = world.takeFrames(of: id)
        return id
    }

    private static func watch(_ members: String = "") -> String { #"{"type":"watch","id":"w"\#(members)}"# }

    private static let ofCall = watch(#","callId":"c-1""#)

    /// The watched events without what identifies their call, as the timeline of a request shows them.
    private func events(_ frames: [Frame]) -> [String] {
        frames.of("timeline").map { frame in
            let text = frame.description
            return text.firstRange(of: #""event":"#).map { String(text[$0.lowerBound...].dropLast()) } ?? text
        }
    }

    /// The events of the newest call under the callId `c-1`, from the request.
    private func timeline(in world: SwitchboardWorld) throws -> [String] {
        var service = try principal("support")
        service.isService = true
        let body = try world.reply(service, .calls(.timeline(try call("c-1")))).body
        let object = try JSONObject(body)
        let list = try #require(object.members.first { object.name(of: $0) == "events" })
        // `[{`, the events, `}]`
        let text = String(decoding: body[list.value], as: UTF8.self).dropFirst(2).dropLast(2)
        return text.split(separator: "},{").map { String($0) }
    }

    @Test("Only a service may watch, and bad members are refused with the name of the field")
    func forbidden() throws {
        let talk = try Talk()
        talk.clear()
        talk.world.send(talk.caller, Self.watch())
        let refusal = try #require(talk.world.takeFrames(of: talk.caller).of("error").first)
        #expect(refusal["code"] == "forbidden" && refusal["field"] == "type" && refusal["id"] == "w")
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        #expect(talk.world.takeFrames(of: talk.caller).of("timeline").isEmpty)
        let console = try console(in: talk.world)
        talk.world.send(console, Self.watch(#","callId":"ä""#))
        talk.world.send(console, Self.watch(#","userId":true"#))
        let fields = talk.world.takeFrames(of: console).of("error").map { $0["field"] }
        #expect(fields == ["callId", "userId"])
        #expect(talk.world.switchboard.metrics.timelineWatchers == 0)
    }

    @Test("The replay of a call and its live events together are the timeline, whenever the watch begins")
    func whole() throws {
        for step in 0...5 {
            let world = SwitchboardWorld()
            let caller = try world.open("11", "a1")
            let callee = try world.open("10", "b1")
            let console = try console(in: world)
            let steps: [() -> Void] = [
                { world.send(caller, SwitchboardWorld.offer("c-1", to: "10")) },
                { world.pong(callee) },
                { world.send(callee, SwitchboardWorld.answer("c-1")) },
                { world.send(caller, SwitchboardWorld.ice("c-1", id: "i")) },
                { world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e")) },
            ]
            for (index, act) in steps.enumerated() {
                if index == step { world.send(console, Self.ofCall) }
                world.wait(.milliseconds(10))
                act()
            }
            if step == steps.count { world.send(console, Self.ofCall) }
            let frames = world.takeFrames(of: console)
            #expect(frames.first?.type == "ack" && frames.first?["id"] == "w")
            #expect(events(frames) == (try timeline(in: world)), "the watch began before step \(step)")
            #expect(frames.of("timeline").allSatisfy { $0["caller"] == "11" && $0["callee"] == "10" })
            #expect(frames.of("timeline").allSatisfy { $0["callId"] == "c-1" && $0["epoch"] == "1" })
        }
    }

    @Test("Events between a query and its result come once, whether the store has seen them", arguments: [false, true])
    func noGap(_ storeHasSeen: Bool) throws {
        let world = SwitchboardWorld()
        let talk = try Talk(world)
        let console = try console(in: world)
        world.holdsResults = true
        if storeHasSeen {
            world.send(console, Self.ofCall)
            world.send(talk.callee, SwitchboardWorld.answer("c-1"))
            world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
            #expect(world.takeFrames(of: console).isEmpty, "nothing is sent before the replay")
            world.deliverResults()
        } else {
            let before = world.kept
            world.send(console, Self.ofCall)
            world.send(talk.callee, SwitchboardWorld.answer("c-1"))
            world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
            let (query, id) = try #require(world.queries.last)
            world.give(.stored(.queryResult(id, before.run(query))))
        }
        let all = events(world.takeFrames(of: console))
        world.holdsResults = false
        world.deliverResults()
        #expect(all == (try timeline(in: world)))
        #expect(all.count { $0.contains(#""ended""#) } == 1)
    }

    @Test("A call at rest, and one whose log was forgotten, are replayed with their signals", arguments: [60, 4_000])
    func atRest(_ seconds: Int64) throws {
        let world = SwitchboardWorld()
        let talk = try Talk.answered(world)
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.wait(.seconds(seconds))
        let console = try console(in: world)
        world.send(console, Self.ofCall)
        let frames = world.takeFrames(of: console)
        #expect(events(frames) == (try timeline(in: world)))
        #expect(frames.of("timeline").contains { $0["event"] == "signal.answer" })
    }

    @Test("A log that is forgotten moves to the timeline without its signals being sent again")
    func forgotten() throws {
        let world = SwitchboardWorld { $0.silenceTimeout = .seconds(10_000) }
        let console = try console(in: world)
        world.send(console, Self.watch())
        let talk = try Talk.answered(world)
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let live = events(world.takeFrames(of: console))
        world.pong(console)
        world.wait(700)
        #expect(events(world.takeFrames(of: console)).isEmpty)
        #expect(world.closes[console] == nil && world.events("signal.answer").count == 1)
        #expect(live.count == (try timeline(in: world)).count)
    }

    @Test("A watch of a user concerns the calls of this user only; a watch of all concerns every call")
    func filters() throws {
        let world = SwitchboardWorld()
        let one = try console(in: world, device: "one")
        let all = try console(in: world, device: "all")
        world.send(one, Self.watch(#","userId":10"#))
        world.send(all, Self.watch())
        _ = try Talk(world)
        let other = try world.open("12", "d1")
        world.send(other, SwitchboardWorld.offer("c-2", to: "13"))
        #expect(Set(world.takeFrames(of: one).of("timeline").compactMap { $0["callId"] }) == ["c-1"])
        #expect(Set(world.takeFrames(of: all).of("timeline").compactMap { $0["callId"] }) == ["c-1", "c-2"])
        #expect(world.switchboard.metrics.timelineWatchers == 2)
        #expect(world.switchboard.metrics.timelineFrames > 4)
    }

    @Test("A call that begins after its watch is sent from its first event on")
    func early() throws {
        let world = SwitchboardWorld()
        let console = try console(in: world)
        world.send(console, Self.ofCall)
        #expect(world.takeFrames(of: console).types == ["ack"])
        _ = try Talk(world)
        #expect(events(world.takeFrames(of: console)) == (try timeline(in: world)))
    }

    @Test("A new watch replaces the earlier one, also while the earlier one's replay is being read")
    func replaced() throws {
        let world = SwitchboardWorld()
        let talk = try Talk(world)
        let console = try console(in: world)
        world.holdsResults = true
        world.send(console, Self.ofCall)
        world.send(console, Self.watch(#","userId":"99""#))
        world.deliverResults()
        world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        let frames = world.takeFrames(of: console)
        #expect(frames.of("ack").count == 2)
        #expect(frames.of("timeline").isEmpty)
        #expect(world.switchboard.metrics.timelineWatchers == 1)
    }

    @Test("A watch ends with its connection, and with a token that is not a service's")
    func ends() throws {
        let world = SwitchboardWorld()
        let console = try console(in: world)
        world.send(console, Self.watch())
        world.give(.verified(console, id: nil, .success(try principal("support", token: 2))))
        #expect(world.switchboard.metrics.timelineWatchers == 0)
        let talk = try Talk(world)
        #expect(world.takeFrames(of: console).of("timeline").isEmpty)
        let second = try self.console(in: world, device: "second")
        world.send(second, Self.watch())
        world.give(.closed(second))
        #expect(world.switchboard.metrics.timelineWatchers == 0)
        world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        #expect(world.takeFrames(of: second).types == ["ack"])
    }

    @Test("A watch whose replay cannot be read is refused, and one with too many events meanwhile as well")
    func refused() throws {
        let world = SwitchboardWorld { $0.signalBurst = 5_000 }
        let talk = try Talk(world)
        let console = try console(in: world)
        world.failsQueries = true
        world.send(console, Self.ofCall)
        #expect(world.takeFrames(of: console).code == "store_unavailable")
        #expect(world.switchboard.metrics.timelineWatchers == 0)
        world.failsQueries = false
        world.holdsResults = true
        world.send(console, Self.ofCall)
        let connection = try #require(world.switchboard.connections[console])
        let held = try #require(connection.watch)
        connection.watch = TimelineWatch(
            number: held.number,
            callID: held.callID,
            user: nil,
            held: Array(repeating: try #require(Self.someEvent), count: SwitchboardLimits.heldEvents)
        )
        world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        world.deliverResults()
        let frames = world.takeFrames(of: console)
        #expect(frames.code == "rate_limited" && frames.of("timeline").isEmpty && frames.ack == nil)
        #expect(world.switchboard.metrics.timelineWatchers == 0)
        #expect(world.switchboard.metrics.limited[.watch] == 1)
    }

    private static var someEvent: TimelineWatch.HeldEvent? {
        guard let id = CallID("c-9"), let user = UserID("9") else { return nil }
        let start = SwitchboardWorld.start
        return TimelineWatch.HeldEvent(
            call: .init(
                number: CallNumber(rawValue: 9),
                id: id,
                epoch: 1,
                caller: user,
                callee: user,
                startedAt: start
            ),
            record: TimelineRecord(at: start, event: .blocked),
            origin: .timeline
        )
    }

    @Test("A replay is sent in slices that the client confirms, and live events wait for it")
    func slices() throws {
        let world = SwitchboardWorld {
            $0.replaySlice = 400
            $0.signalBurst = 500
        }
        let talk = try Talk.answered(world)
        for number in 0..<20 { world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(number)")) }
        let console = try console(in: world)
        world.pong(console)
        world.send(console, Self.ofCall)
        var frames = world.takeFrames(of: console)
        #expect(frames.of("timeline").count < 10)
        world.wait(.milliseconds(10))
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.takeFrames(of: console).of("timeline").isEmpty)
        for _ in 0..<20 {
            world.pong(console)
            frames += world.takeFrames(of: console)
        }
        #expect(events(frames) == (try timeline(in: world)))
    }

    @Test("A client that confirms nothing is sent everything, so that its queue's limit closes it")
    func slow() throws {
        let world = SwitchboardWorld {
            $0.replaySlice = 100
            $0.signalsPerSecond = 100_000
            $0.signalBurst = 100_000
        }
        let talk = try Talk.answered(world)
        let console = try console(in: world)
        world.send(console, Self.ofCall)
        let begun = world.takeFrames(of: console).of("timeline").count
        #expect(begun < 5)
        for round in 0..<6 {
            for number in 0..<200 { world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(round)-\(number)")) }
            world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e\(round)"))
            let again = SwitchboardWorld.offer("c-1", to: "10", id: "o\(round)", sdp: "v=0\\r\\ns=\(round)")
            world.send(talk.caller, again)
            world.send(talk.callee, SwitchboardWorld.answer("c-1", id: "a\(round)", sdp: "v=0\\r\\ns=a\(round)"))
        }
        #expect(world.takeFrames(of: console).of("timeline").count > 1_000)
    }

    @Test("A connection that watches is bound to the owner that sends it the events")
    func bound() throws {
        let world = SwitchboardWorld { $0.marksLogs = true }
        let console = try console(in: world)
        world.send(console, Self.watch())
        #expect(world.marks[console]?.contains(.bound(true)) == true)
    }
}
