import CallCore
import CallPorts

/// Events for the app's backend.
extension StoreContract {
    static let appEvents: [Case] = keepingEvents + readingEvents + heldEvents + forgettingEvents

    private static let keepingEvents: [Case] = [
        Case("an event keeps all its fields, also over a crash, and a start knows only the newest position") { bench in
            try bench.open()
            var events = AppEventType.allCases.enumerated().map { Sample.appEvent(Int64($0) + 1, $1, call: 7) }
            events[0].at = Sample.moment(StorableRange.moments.lowerBound)
            events[1].at = Sample.lastMoment
            events[1].incarnation = EventIncarnation(rawValue: .max)
            events[1].call = Sample.number(Sample.lastNumber)
            events[1].number = .max
            events[2].call = nil
            events[2].number = 0
            events[2].user = Sample.bob
            events[2].data = Array(#"{"ü":"\#u{1F4DE} \u0000 ' \\ \""}"#.utf8)
            events[3].data = Array("{}".utf8)
            try bench.save(events[..<5].map { .appEvent($0) })
            try bench.save(events[5...].map { .appEvent($0) })
            try expect(try bench.events(), events, "the events")
            bench.crash()
            var stored = StoredEvents()
            stored.newest = EventPosition(rawValue: Int64(events.count))
            try expect(try bench.open().events, stored, "what a start reads")
            try expect(try bench.events(), events, "the events after a crash")
        },
        Case("an event never changes") { bench in
            try bench.open()
            let first = Sample.appEvent(1)
            try bench.save([.appEvent(first), .appEvent(Sample.appEvent(1, .callEnded, data: "{}"))])
            try bench.save([.appEvent(Sample.appEvent(1, .callMissed, call: nil))])
            try expect(try bench.events(), [first], "the event")
        },
        Case("endpoints keep all their fields, and a later one replaces that with the same address") { bench in
            try bench.open()
            let last = EventPosition(rawValue: Sample.lastNumber)
            var full = EventEndpoint(url: "https://b.example/ü?a=1", settledUpTo: last)
            full.stoppedAt = Sample.lastMoment
            full.parkedCount = Int(StorableRange.counts.upperBound)
            let bare = EventEndpoint(url: "https://a.example/", settledUpTo: .start)
            bench.commit([.eventEndpoint(full), .eventEndpoint(bare)])
            try expect(try bench.reopen().events.endpoints, [bare, full], "the endpoints")
            full.stoppedAt = nil
            full.settledUpTo = .start
            bench.commit([.eventEndpoint(full), .eventEndpointRemoved(url: bare.url)])
            bench.commit([.eventEndpointRemoved(url: "https://c.example/")])
            try expect(try bench.reopen().events.endpoints, [full], "the endpoints after a change")
        },
        Case("a call keeps which events it has") { bench in
            try bench.open()
            var calls = [Sample.call(1), Sample.call(2, "two"), Sample.call(3, "three", endedAt: 9)]
            calls[1].events = CallEvents()
            var events = CallEvents()
            for type in [AppEventType.callStarted, .callEnded, .callMissed] { _ = events.add(type) }
            calls[2].events = events
            bench.commit(calls.map { .call($0) })
            try expect(try bench.calls(bench.reopen()).map(\.record), calls, "the calls")
        },
        Case("the newest position survives when everything is deleted") { bench in
            try bench.open()
            let events = (1...3 as ClosedRange<Int64>).map { Sample.appEvent($0) }
            try bench.save(
                events.map { .appEvent($0) } + [
                    .eventHeld(Sample.held("a", 3)),
                    .eventsForgotten(upTo: EventPosition(rawValue: 9), keepsHeld: false),
                ]
            )
            try expect(try bench.events(), [events[2]], "what is left")
            try expect(try bench.heldEvents("a", .after(.start)), [], "the held events")
            try expect(try bench.reopen().events.newest, events[2].position, "the newest position")
            bench.commit([.appEvent(Sample.appEvent(4)), .eventsForgotten(upTo: events[2].position, keepsHeld: false)])
            try expect(try bench.reopen().events.newest.rawValue, 4, "the newest position later")
            try expect(try bench.events().map(\.position.rawValue), [4], "what is left later")
        },
    ]

    private static let readingEvents: [Case] = [
        Case("events are read page by page, in the order of their positions") { bench in
            try bench.open()
            try expect(try bench.page(), EventPage(events: [], readUpTo: .start, oldest: nil), "no events")
            let events = (1...9 as ClosedRange<Int64>).map { Sample.appEvent($0) }
            for event in events.reversed() { try bench.save([.appEvent(event)]) }
            try bench.save([.eventsForgotten(upTo: EventPosition(rawValue: 2), keepsHeld: false)])
            for count in [1, 3, 7, 8, EventRead.limit, .max] {
                try expect(try bench.events(count: count), Array(events[2...]), "the events in pages of \(count)")
            }
            func page(_ after: Int64, _ upTo: Int64?, _ count: Int) throws -> [Int64] {
                let upTo = upTo.map { EventPosition(rawValue: $0) }
                let page = try bench.page(
                    EventRead(after: EventPosition(rawValue: after), upTo: upTo, count: count)
                )
                try expect(page.oldest?.rawValue, 3, "the oldest event")
                return page.events.map(\.position.rawValue) + [page.readUpTo.rawValue]
            }
            try expect(try page(0, nil, 2), [3, 4, 4], "the first page")
            try expect(try page(4, 6, 2), [5, 6, 6], "a page up to the end of its range")
            try expect(try page(4, 6, 9), [5, 6, 6], "a page that is not full")
            try expect(try page(7, 99, 9), [8, 9, 9], "a page up to more than there is")
            try expect(try page(9, nil, 9), [9], "a page after the newest event")
            try expect(try page(99, nil, 9), [99], "a page after more than there is")
            try expect(try page(5, 4, 9), [5], "a page of an empty range")
            try expect(try page(5, nil, 0), [5], "a page without room")
        },
        Case("events of types are read, of a limited number of rows at a time") { bench in
            try bench.open()
            let last = Int64(EventRead.searched) + 9
            let wanted: [Int64: AppEventType] = [
                2: .callEnded, 4: .callMissed, last - 1: .callEnded, last: .callMissed,
            ]
            var position: Int64 = 0
            while position < last {
                let next = min(position + 2_000, last)
                bench.commit(
                    ((position + 1)...next).map { .appEvent(Sample.appEvent($0, wanted[$0] ?? .deviceRemoved)) }
                )
                position = next
            }
            func read(_ after: Int64, _ types: Set<AppEventType>, _ count: Int = 9) throws -> [Int64] {
                let page = try bench.page(
                    EventRead(after: EventPosition(rawValue: after), types: types, count: count)
                )
                return page.events.map(\.position.rawValue) + [page.readUpTo.rawValue]
            }
            let searched = Int64(EventRead.searched)
            try expect(try read(0, [.callEnded, .callMissed]), [2, 4, searched], "a page")
            try expect(try read(0, [.callEnded, .callMissed], 1), [2, 2], "a full page")
            try expect(try read(searched, [.callEnded, .callMissed]), [last - 1, last, last], "the last page")
            try expect(try read(0, [.callMissed]), [4, searched], "a page of one type")
            try expect(try read(3, [.callEnded]), [searched + 3], "a page without events")
            try expect(try read(0, []), [searched], "a page of no types")
        },
        Case("events of a callId are those of all its calls") { bench in
            try bench.open()
            let (upper, lower) = ("7D444840-9DC0-11D1-B245-5FFDCE74FAD2", "7d444840-9dc0-11d1-b245-5ffdce74fad2")
            bench.commit([.call(Sample.call(1, upper)), .call(Sample.call(2, "other")), .call(Sample.call(3, lower))])
            let calls: [Int64?] = [1, 2, nil, 3, 9, 1, 3, 2]
            let types: [AppEventType] = [.callStarted, .callEnded]
            let events = calls.enumerated().map {
                Sample.appEvent(Int64($0) + 1, $1 == nil ? .deviceRemoved : types[$0 / 5], call: $1)
            }
            try bench.save(events.map { .appEvent($0) })
            for (id, expected) in [(upper, [1, 4, 6, 7]), (lower, [1, 4, 6, 7]), ("other", [2, 8]), ("none", [])] {
                for count in [1, 3, 4, 9] {
                    let found = try bench.events(of: Sample.callID(id), count: count)
                    try expect(found.map { Int($0.position.rawValue) }, expected, "of \(id) in pages of \(count)")
                }
            }
            let ended = try bench.events([.callEnded], of: Sample.callID(upper))
            try expect(ended.map(\.position.rawValue), [6, 7], "the events of one type")
        },
        Case("events of a callId that very many calls have are read too") { bench in
            try bench.open()
            let numbers = 1...600 as ClosedRange<Int64>
            for number in numbers {
                bench.commit([
                    .call(Sample.call(number, number.isMultiple(of: 3) ? "other" : "one")),
                    .appEvent(Sample.appEvent(number, call: number)),
                ])
            }
            let expected = numbers.filter { !$0.isMultiple(of: 3) }
            for count in [7, 4_096] {
                let found = try bench.events([.callStarted], of: Sample.callID("one"), count: count)
                try expect(found.map(\.position.rawValue), expected, "the events in pages of \(count)")
            }
            try expect(try bench.events([.callEnded], of: Sample.callID("one")), [], "the events of another type")
        },
    ]
}

extension StoreBench {
    /// Returns a page of events.
    func page(_ read: EventRead = EventRead(after: .start, count: EventRead.limit)) throws -> EventPage {
        let result = try query(.events(read))
        guard case .events(let page) = result else {
            throw StoreContract.Violation(description: "the result of a query for events was \(result)")
        }
        return page
    }

    /// Returns all events, read in pages.
    func events(
        _ types: Set<AppEventType>? = nil,
        of id: CallID? = nil,
        count: Int = EventRead.limit
    ) throws -> [AppEvent] {
        var events: [AppEvent] = []
        var after = EventPosition.start
        while true {
            let page = try page(EventRead(after: after, types: types, callID: id, count: count))
            events += page.events
            if page.readUpTo <= after { return events }
            after = page.readUpTo
        }
    }

    /// Returns held events of an endpoint.
    func heldEvents(_ url: String, _ choice: HeldRead.Choice, count: Int = 99) throws -> [HeldContent] {
        let result = try query(.heldEvents(HeldRead(url: url, choice, count: count)))
        guard case .heldEvents(let held) = result else {
            throw StoreContract.Violation(description: "the result of a query for held events was \(result)")
        }
        return held
    }

    /// Returns what bounds on stored events demand.
    func excess(before: Int64 = 0, bytes: Int64 = .max) throws -> EventExcess {
        let result = try query(.eventExcess(EventBounds(before: Sample.moment(before), bytes: bytes)))
        guard case .eventExcess(let excess) = result else {
            throw StoreContract.Violation(description: "the result of a query for the excess was \(result)")
        }
        return excess
    }
}

extension Sample {
    /// Returns an event of 300 bytes in the sum of all, unless it has other data; it happened at its position.
    static func appEvent(
        _ position: Int64,
        _ type: AppEventType = .callStarted,
        call: Int64? = 1,
        data: String? = nil
    ) -> AppEvent {
        let padding = String(repeating: "x", count: 300 - AppEvent.rowBytes - #"{"a":""}"#.utf8.count)
        return AppEvent(
            position: EventPosition(rawValue: position),
            incarnation: .first,
            at: moment(position),
            type: type,
            call: call.map { number($0) },
            number: call == nil ? 0 : 1,
            data: Array((data ?? #"{"a":"\#(padding)"}"#).utf8)
        )
    }

    /// Returns an event that is held for an endpoint.
    static func held(
        _ url: String,
        _ position: Int64,
        call: Int64? = 1,
        _ state: HeldEvent.State = .behind
    ) -> HeldEvent {
        HeldEvent(
            url: url,
            position: EventPosition(rawValue: position),
            call: call.map { number($0) },
            state: state,
            attempts: 3,
            since: moment(5)
        )
    }
}
