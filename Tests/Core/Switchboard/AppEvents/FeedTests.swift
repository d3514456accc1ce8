import CallCore
import CallPorts
import CallWire
import JSON
import Testing

@testable import Switchboard

@Suite("The feed of events")
struct FeedTests {
    private typealias Feed = Switchboard.FeedRead

    /// The service that reads the feed.
    private func backend() throws -> Principal {
        var backend = try principal("backend")
        backend.isService = true
        return backend
    }

    private func page(_ world: SwitchboardWorld, _ feed: Switchboard.FeedRead = .init()) throws -> Page {
        try Page(try world.reply(try backend(), .feed(feed)))
    }

    private struct Page {
        let ids: [String]
        let next: EventCursor?
        let body: String

        init(_ reply: Reply) throws {
            body = String(decoding: reply.body, as: UTF8.self)
            try #require(reply.status == 200, "\(reply.status) \(body)")
            let data = try EventData(reply.body)
            next = data["next"].flatMap { EventCursor($0) }
            ids = body.split(separator: "\"id\":\"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
        }
    }

    /// A world with three events of one call: started, answered, ended.
    private func world() throws -> SwitchboardWorld {
        let world = SwitchboardWorld.reporting()
        let talk = try Talk.answered(world)
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        return world
    }

    @Test("The feed shows the events in their order, and the next page begins where the last one ended")
    func pages() throws {
        let world = try world()
        let all = try page(world)
        #expect(all.ids == ["evt_1_1", "evt_1_2", "evt_1_3"])
        var seen: [String] = []
        var after: EventCursor?
        for _ in 1...4 {
            let page = try page(world, Feed(after: after, count: 1))
            seen += page.ids
            after = page.next
        }
        #expect(seen == all.ids)
        #expect(after == EventCursor(.first, EventPosition(rawValue: 3)))
    }

    @Test("The feed shows an event as it is delivered")
    func body() throws {
        let world = try world()
        let event = try #require(world.appEvents.first)
        let text = String(decoding: event.body(in: .first), as: UTF8.self)
        let begin = #"{"type":"call.started","timestamp":"2023-11-14T22:13:20.000Z","id":"evt_1_1","cursor":"1_1","#
        #expect(text.hasPrefix(begin))
        #expect(try page(world).body.contains(text))
    }

    @Test("The feed can be filtered by types and by callId")
    func filters() throws {
        let world = try world()
        #expect(try page(world, Feed(types: [.callEnded])).ids == ["evt_1_3"])
        #expect(try page(world, Feed(callID: try call("c-1"))).ids.count == 3)
        let other = try page(world, Feed(callID: try call("c-2")))
        #expect(other.ids.isEmpty && other.next?.position.rawValue == 3)
    }

    @Test("A read that waits is answered by the next event, or with an empty page at its end")
    func waits() throws {
        let world = try world()
        let end = try #require(try page(world).next)
        let waiting = world.request(try backend(), .feed(Feed(after: end, wait: .seconds(20))))
        #expect(world.replies[waiting] == nil)
        try world.register(try principal("10"), "b1", voip: "b1b1")
        #expect(try Page(try #require(world.replies[waiting])).ids == ["evt_1_4"])
        let next = try #require(try page(world).next)
        let empty = world.request(try backend(), .feed(Feed(after: next, wait: .seconds(20))))
        world.wait(19)
        #expect(world.replies[empty] == nil)
        world.wait(2)
        #expect(try Page(try #require(world.replies[empty])).next == next)
    }

    @Test("A read with a filter goes on waiting after an event that it does not want")
    func waitsOn() throws {
        let world = try world()
        let end = try #require(try page(world).next)
        let id = world.request(try backend(), .feed(Feed(after: end, types: [.callStarted], wait: .seconds(20))))
        try world.register(try principal("10"), "b1", voip: "b1b1")
        #expect(world.replies[id] == nil)
        world.send(try world.open("12", "d1"), SwitchboardWorld.offer("c-2", to: "13"))
        #expect(try Page(try #require(world.replies[id])).ids == ["evt_1_5"])
    }

    @Test("A request that its client has abandoned is answered no more, and one that waits at a shutdown is at once")
    func ends() throws {
        let world = try world()
        let end = try #require(try page(world).next)
        let abandoned = world.request(try backend(), .feed(Feed(after: end, wait: .seconds(20))))
        world.give(.abandoned(abandoned))
        let waiting = world.request(try backend(), .feed(Feed(after: end, wait: .seconds(20))))
        world.give(.drain)
        world.wait(60)
        #expect(world.replies[abandoned] == nil && world.replies[waiting]?.status == 200)
    }

    @Test("A cursor of another incarnation, or beyond the newest event, is gone, and the refusal names the oldest one")
    func gone() throws {
        let world = try world()
        let others = [
            EventCursor(EventIncarnation(rawValue: 2), EventPosition(rawValue: 1)),
            EventCursor(.first, EventPosition(rawValue: 4)),
        ]
        for cursor in others {
            let reply = try world.reply(try backend(), .feed(Feed(after: cursor)))
            #expect(reply.status == 410)
            #expect(try EventData(reply.body)["code"] == "cursor_gone" && EventData(reply.body)["oldest"] == "1_0")
        }
    }

    @Test("A cursor whose next events were deleted is gone")
    func forgotten() throws {
        let world = SwitchboardWorld.reporting { $0.events?.keptFor = .seconds(3_600) }
        let talk = try Talk.answered(world)
        world.wait(30_000)
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.wait(3_000)
        let page = try page(world)
        #expect(!page.ids.contains("evt_1_1") && !page.ids.isEmpty)
        let reply = try world.reply(try backend(), .feed(Feed(after: EventCursor(.first, .start))))
        #expect(reply.status == 410)
        let oldest = try #require(try EventData(reply.body)["oldest"].flatMap { EventCursor($0) })
        #expect(try self.page(world, Feed(after: oldest)).ids == page.ids)
    }

    @Test("Only services read the feed, and only of a server that keeps events")
    func refused() throws {
        let world = try world()
        #expect(try world.reply(try principal("11"), .feed(Feed())).status == 403)
        #expect(try SwitchboardWorld().reply(try backend(), .feed(Feed())).status == 404)
    }

    @Test("A store that cannot be read is reported, and the client tries again")
    func unavailable() throws {
        let world = try world()
        world.failsQueries = true
        #expect(try world.reply(try backend(), .feed(Feed())).status == 503)
    }
}

@Suite("The delivery of events by the switchboard")
struct SwitchboardDeliveryTests {
    private static let url = "https://app.example/ringline"

    private func world() -> SwitchboardWorld {
        SwitchboardWorld.reporting { $0.events?.endpoints = [Self.url] }
    }

    @Test("An event is sent when it is durable, not before, and a call's next event when it was accepted")
    func durable() throws {
        let world = world()
        world.holdsCommits = true
        let talk = try Talk.answered(world)
        #expect(world.deliveries.isEmpty)
        world.commit()
        #expect(world.deliveries.map(\.eventID) == ["evt_1_1"])
        #expect(world.deliveries.first?.url == Self.url)
        world.give(.delivered(world.deliveries[0].id, .response(status: 204, retryAfter: nil)))
        #expect(world.deliveries.map(\.eventID) == ["evt_1_1", "evt_1_2"])
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.commit()
        world.give(.delivered(world.deliveries[1].id, .response(status: 200, retryAfter: nil)))
        #expect(world.deliveries.map(\.eventID) == ["evt_1_1", "evt_1_2", "evt_1_3"])
    }

    @Test("An event that was not accepted is sent again, in this run and in the next, under the same id and unchanged")
    func again() throws {
        let world = world()
        _ = try Talk(world)
        let first = try #require(world.deliveries.first)
        world.give(.delivered(first.id, .response(status: 500, retryAfter: nil)))
        world.wait(10)
        let second = try #require(world.deliveries.last)
        #expect(second.id != first.id && second.eventID == first.eventID && second.body == first.body)
        let next = world.restarted(uncleanStarts: 1, { $0.events = EventPolicy(endpoints: [Self.url]) }, after: 1)
        next.wait(10)
        #expect(next.deliveries.first?.body == first.body)
    }

    @Test("Events that nobody had before they were too old are counted, logged and reported by an event")
    func lost() throws {
        let world = SwitchboardWorld.reporting {
            $0.events?.endpoints = [Self.url]
            $0.events?.keptFor = .seconds(3_600)
        }
        let talk = try Talk.answered(world)
        world.wait(30_000)
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.wait(4_000)
        #expect(world.eventTypes.contains(.eventsLost))
        #expect(world.switchboard.metrics.eventsLost > 0)
        #expect(world.notes.contains { if case .eventsLost = $0 { true } else { false } })
    }
}
