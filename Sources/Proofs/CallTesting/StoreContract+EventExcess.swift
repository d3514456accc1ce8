import CallCore
import CallPorts

/// The deletion of events for the app's backend.
extension StoreContract {
    static let forgettingEvents: [Case] = [
        Case("events are forgotten up to a position, and the held ones stay on demand") { bench in
            try bench.open()
            bench.commit((1...9).map { .appEvent(Sample.appEvent($0)) })
            bench.commit([2, 4, 8].map { .eventHeld(Sample.held("a", $0)) } + [.eventHeld(Sample.held("b", 4))])
            bench.commit([.eventsForgotten(upTo: position(5), keepsHeld: true)])
            try expect(try bench.positions(), [2, 4, 6, 7, 8, 9], "the events without those that are not held")
            bench.commit([.eventsForgotten(upTo: position(6), keepsHeld: false)])
            try expect(try bench.positions(), [7, 8, 9], "the events")
            try expect(try bench.heldEvents("a", .after(.start)).map(\.held.position.rawValue), [8], "the held events")
            try expect(try bench.heldEvents("b", .after(.start)), [], "the other endpoint's")
            bench.commit([.appEvent(Sample.appEvent(10)), .eventsForgotten(upTo: position(9), keepsHeld: true)])
            try expect(try bench.positions(), [8, 10], "the events at last")
        },
        Case("old events are forgotten, and those that were not delivered are counted as lost") { bench in
            try bench.open()
            try expect(try bench.excess(before: 99, bytes: 0), EventExcess(upTo: nil), "of no events")
            bench.commit((1...9).map { .appEvent(Sample.appEvent($0)) })
            try expect(try bench.excess(before: 1), EventExcess(upTo: nil), "of none that is old")
            try expect(try bench.excess(before: 4), EventExcess(upTo: position(3)), "without endpoints")
            try bench.save([.eventHeld(Sample.held("a", 2))] + endpoints(("a", 5), ("b", 7)))
            try expect(try bench.excess(before: 4), EventExcess(upTo: position(3), lostCount: 1), "with a held one")
            let late = EventExcess(upTo: position(7), lostCount: 3)
            try expect(try bench.excess(before: 8), late, "with two that one endpoint did not get")
            let all = EventExcess(upTo: position(8), lostCount: 4)
            try expect(try bench.excess(before: 99), all, "of all, except the newest event")
            let more = EventExcess(upTo: position(3), lostCount: 1, hasMore: true)
            try expect(try bench.excess(before: 4, bytes: 5 * 300), more, "of old ones that are not enough")
            try expect(try bench.excess(before: 4, bytes: 6 * 300).hasMore, false, "of old ones that are enough")
        },
        Case("the delivered events go first when there are too many bytes, and then the oldest ones") { bench in
            try bench.open()
            bench.commit((1...10).map { .appEvent(Sample.appEvent($0)) })
            try bench.save([1, 3].map { .eventHeld(Sample.held("a", $0)) } + endpoints(("a", 5), ("b", 7)))
            try expect(try bench.excess(bytes: 3_000), EventExcess(upTo: nil), "of what is within the bound")
            let first = EventExcess(upTo: position(2), keepsHeld: true)
            try expect(try bench.excess(bytes: 2_999), first, "of one event")
            let delivered = EventExcess(upTo: position(5), keepsHeld: true)
            try expect(try bench.excess(bytes: 2_100), delivered, "of all that were delivered")
            let notAll = EventExcess(upTo: position(5), keepsHeld: true, hasMore: true)
            try expect(try bench.excess(bytes: 1_800), notAll, "of more than were delivered")
            try expect(try bench.forgetAll(bytes: 1_800), 1, "how many were lost")
            try expect(try bench.positions(), [3, 6, 7, 8, 9, 10], "what is left")
            try expect(try bench.reopenedForgetAll(bytes: 700), 4, "how many were lost of a smaller bound")
            try expect(try bench.positions(), [9, 10], "what is left of it")
            try expect(try bench.forgetAll(bytes: 0), 1, "how many were lost of no bytes")
            try expect(try bench.positions(), [10], "the newest event")
        },
        Case("what is no longer held can be forgotten, also if the events after it were") { bench in
            try bench.open()
            bench.commit((1...10).map { .appEvent(Sample.appEvent($0)) })
            bench.commit([1, 2, 3, 4].map { .eventHeld(Sample.held("a", $0)) } + endpoints(("a", 9)))
            bench.commit([.eventHeld(Sample.held("b", 4))])
            try expect(try bench.forgetAll(bytes: 2_100), 0, "how many were lost")
            try expect(try bench.positions(), [1, 2, 3, 4, 8, 9, 10], "what is left")
            bench.commit([.eventReleased(url: "a", position(2))])
            try expect(try bench.forgetAll(bytes: 1_800), 0, "how many were lost")
            try expect(try bench.positions(), [1, 3, 4, 8, 9, 10], "what is left after a release")
            bench.commit([.eventEndpointRemoved(url: "a")])
            try expect(try bench.forgetAll(bytes: 1_200), 0, "how many were lost without the endpoint")
            try expect(try bench.positions(), [4, 8, 9, 10], "what is left without the endpoint")
        },
        Case("very many events are forgotten in portions") { bench in
            try bench.open()
            let last = Int64(EventRead.limit) + 10
            bench.commit((1...last).map { .appEvent(Sample.appEvent($0)) })
            bench.commit([.eventHeld(Sample.held("a", 7))] + endpoints(("a", last)))
            let limit = position(Int64(EventRead.limit))
            let old = EventExcess(upTo: limit, lostCount: 1, hasMore: true)
            try expect(try bench.excess(before: last), old, "of old events")
            let all = EventExcess(upTo: limit, keepsHeld: true, hasMore: true)
            try expect(try bench.excess(bytes: 0), all, "of too many bytes")
            try expect(try bench.forgetAll(bytes: 600), 0, "how many were lost")
            try expect(try bench.positions(), [7, last], "what is left")
        },
    ]

    private static func position(_ number: Int64) -> EventPosition { EventPosition(rawValue: number) }

    private static func endpoints(_ endpoints: (url: String, settled: Int64)...) -> [Change] {
        endpoints.map { .eventEndpoint(EventEndpoint(url: $0.url, settledUpTo: position($0.settled))) }
    }
}

extension StoreBench {
    /// Returns the positions of all events.
    fileprivate func positions() throws -> [Int64] { try events().map(\.position.rawValue) }

    /// Deletes events until a bound on their bytes is kept, as the switchboard does, and returns how many were lost.
    fileprivate func forgetAll(bytes: Int64) throws -> Int {
        var lostCount = 0
        while true {
            let found = try excess(bytes: bytes)
            guard let position = found.upTo else { return lostCount }
            lostCount += found.lostCount
            try save([.eventsForgotten(upTo: position, keepsHeld: found.keepsHeld)])
            if !found.hasMore { return lostCount }
        }
    }

    fileprivate func reopenedForgetAll(bytes: Int64) throws -> Int {
        _ = try reopen()
        return try forgetAll(bytes: bytes)
    }
}
