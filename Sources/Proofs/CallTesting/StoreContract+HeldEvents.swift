import CallCore
import CallPorts

/// Events that are held for endpoints of the app's backend.
extension StoreContract {
    static let heldEvents: [Case] = [
        Case("held events keep all their fields, and are read with their contents") { bench in
            try bench.open()
            var full = Sample.held("a", Sample.lastNumber - 1, call: Sample.lastNumber, .retry(at: Sample.lastMoment))
            full.attempts = Int(StorableRange.counts.upperBound)
            full.since = Sample.lastMoment
            let held = [Sample.held("a", 1, call: nil, .parked), Sample.held("a", 2), full]
            let events = [Sample.appEvent(1, .deviceRemoved, call: nil), Sample.appEvent(2)]
            bench.commit(held.reversed().map { .eventHeld($0) } + events.map { .appEvent($0) })
            let expected = [
                HeldContent(held: held[0], event: events[0]), HeldContent(held: held[1], event: events[1]),
                HeldContent(held: full, event: nil),
            ]
            try expect(try bench.heldEvents("a", .after(.start)), expected, "the held events")
            bench.crash()
            try bench.open()
            try expect(try bench.heldEvents("a", .after(.start)), expected, "the held events after a crash")
            try expect(try bench.heldEvents("b", .after(.start)), [], "those of another endpoint")
        },
        Case("a held event is replaced and released, for its endpoint only") { bench in
            try bench.open()
            bench.commit(["a", "b"].flatMap { url in (1...3).map { .eventHeld(Sample.held(url, $0)) } })
            let later = Sample.held("a", 2, .retry(at: Sample.moment(9)))
            bench.commit([
                .eventHeld(later), .eventReleased(url: "a", EventPosition(rawValue: 1)),
                .eventReleased(url: "c", EventPosition(rawValue: 2)),
            ])
            func held(_ url: String) throws -> [HeldEvent] { try bench.heldEvents(url, .after(.start)).map(\.held) }
            try expect(try held("a"), [later, Sample.held("a", 3)], "those of the endpoint")
            try expect(try held("b"), (1...3).map { Sample.held("b", $0) }, "those of the other")
            bench.commit([.eventEndpointRemoved(url: "b")])
            try expect(try held("b"), [], "those of an endpoint that was removed")
            try expect(try held("a").count, 2, "the others")
        },
        Case("held events are read by what they wait for, by their calls, and by their positions") { bench in
            try bench.open()
            let held = [
                Sample.held("a", 1, call: 1, .retry(at: Sample.moment(30))), Sample.held("a", 2, call: 1),
                Sample.held("a", 3, call: 2, .parked), Sample.held("a", 4, call: nil, .retry(at: Sample.moment(10))),
                Sample.held("a", 5, call: 2, .parked), Sample.held("a", 6, call: 3, .retry(at: Sample.moment(10))),
                Sample.held("a", 7, call: 1, .parked), Sample.held("a", 8, call: 3),
            ]
            let other = (1...8).map { Sample.held("b", $0, call: 1, .retry(at: Sample.moment(1))) }
            bench.commit((held.shuffled() + other).map { .eventHeld($0) })
            bench.commit((1...8).map { .appEvent(Sample.appEvent($0)) })
            func read(_ choice: HeldRead.Choice, _ count: Int = 99) throws -> [Int64] {
                let found = try bench.heldEvents("a", choice, count: count)
                try expect(found.allSatisfy { $0.event?.position == $0.held.position }, "the contents")
                return found.map(\.held.position.rawValue)
            }
            let second = EventPosition(rawValue: 2)
            try expect(try read(.retries), [4, 6, 1], "the retries")
            try expect(try read(.retries, 2), [4, 6], "the first retries")
            try expect(try read(.ofCall(Sample.number(1), after: .start)), [1, 2, 7], "those of a call")
            try expect(try read(.ofCall(Sample.number(1), after: .start), 2), [1, 2], "the first of a call")
            try expect(try read(.ofCall(Sample.number(1), after: second)), [7], "the later ones of a call")
            try expect(try read(.ofCall(Sample.number(4), after: .start)), [], "those of a call without any")
            let calls = [3, 1, 9, 2, 1].map { Sample.number($0) }
            try expect(try read(.ofCalls(calls)), [1, 3, 6], "the first of each call")
            try expect(try read(.ofCalls(calls), 2), [1, 3], "the first two of them")
            try expect(try read(.ofCalls([])), [], "those of no calls")
            try expect(try read(.after(second)), [3, 4, 5, 6, 7, 8], "the later ones")
            try expect(try read(.after(second), 1), [3], "the next one")
            try expect(try read(.parked(after: .start)), [3, 5, 7], "the parked ones")
            try expect(try read(.parked(after: .start), 2), [3, 5], "the first parked ones")
            try expect(try read(.parked(after: EventPosition(rawValue: 3))), [5, 7], "the later parked ones")
            try expect(try read(.after(.start), 0), [], "none")
        },
    ]
}
