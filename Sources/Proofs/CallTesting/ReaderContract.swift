import CallCore
package import CallPorts

/// The requirements on every `StoreReader`, as cases that the tests of any adapter can run.
package enum ReaderContract {
    /// A place where a store keeps data, and where a reader reads it.
    package protocol Storage: StoreContract.Storage {
        /// Returns a reader of this place.
        func makeReader() throws -> any StoreReader

        /// Runs SQL on the tables, as somebody who damages them.
        func execute(_ sql: String) throws

        /// Pretends that another version of the program wrote the tables.
        func setVersion(_ version: Int) throws

        /// The version of the tables.
        var version: Int { get }
    }

    /// One requirement on a reader.
    package struct Case: Sendable, CustomStringConvertible {
        /// The requirement, for example "live calls are those that have not ended".
        package let description: String
        private let body: @Sendable (any Storage, StoreBench) throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (any Storage, StoreBench) throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Runs the case.
        /// - Throws: `StoreContract.Violation`, or the failure of the store or the reader.
        package func run(at storage: any Storage) throws {
            let bench = StoreBench(storage: storage)
            defer { bench.closeIfOpen() }
            try body(storage, bench)
        }
    }

    /// All cases.
    package static let cases: [Case] = access + content

    private static let access: [Case] = [
        Case("a reader sees what a running server has committed, and what it commits later") { storage, bench in
            try bench.open()
            try bench.save([.call(Sample.call(1)), .event(Sample.number(1), Sample.event("offer"))])
            let reader = try storage.makeReader()
            try expect(try reader.timeline(of: Sample.number(1)).map(\.event.name), ["offer"], "the timeline")
            try bench.save([.event(Sample.number(1), Sample.event("ended"))])
            try expect(try reader.timeline(of: Sample.number(1)).map(\.event.name), ["offer", "ended"], "later")
            bench.close()
            try expect(try reader.calls(CallSelector(Sample.callID("11-10")), limit: 9).count, 1, "after the stop")
        },
        Case("a reader does not disturb the server, nor count as a start of one") { storage, bench in
            try bench.open()
            let reader = try storage.makeReader()
            try bench.save([.call(Sample.call(1))])
            try expect(try reader.liveCalls(limit: 9).count, 1, "the call")
            try bench.save([.call(Sample.call(2))])
            try expect(try bench.reopen().uncleanStarts, 0, "the count of unclean starts")
        },
        Case("a reader reads the records of a server that was killed") { storage, bench in
            try bench.open()
            try bench.save([.call(Sample.call(1))])
            bench.crash()
            try expect(try storage.makeReader().liveCalls(limit: 9).map(\.number), [Sample.number(1)], "live calls")
        },
        Case("without tables a reader fails, and makes none") { storage, _ in
            for _ in 0..<2 { try expectFailure(of: storage, "server that has run", "without tables") }
        },
        Case("tables of another version are refused, in words that say what helps") { storage, bench in
            try bench.open()
            bench.close()
            try storage.setVersion(storage.version - 1)
            try expectFailure(of: storage, "start the server once", "an older version")
            try storage.setVersion(storage.version + 1)
            try expectFailure(of: storage, "newer ringline", "a newer version")
        },
    ]

    private static let content: [Case] = [
        Case("live calls are those that have not ended, newest first") { storage, bench in
            try bench.open()
            try bench.save([
                .call(Sample.call(1)), .call(Sample.call(2, endedAt: 9_000)), .call(Sample.call(3)),
                .call(Sample.call(4)),
            ])
            let reader = try storage.makeReader()
            try expect(try reader.liveCalls(limit: 9).map(\.number.rawValue), [4, 3, 1], "all")
            try expect(try reader.liveCalls(limit: .max).map(\.number.rawValue), [4, 3, 1], "without a limit")
            try expect(try reader.liveCalls(limit: 2).map(\.number.rawValue), [4, 3], "two")
        },
        Case("ended calls are those that have ended, newest first") { storage, bench in
            try bench.open()
            try bench.save([
                .call(Sample.call(1, endedAt: 9_000)), .call(Sample.call(2)), .call(Sample.call(3, endedAt: 8_000)),
                .call(Sample.call(4, endedAt: 8_500)),
            ])
            let reader = try storage.makeReader()
            try expect(try reader.endedCalls(limit: 9).map(\.number.rawValue), [4, 3, 1], "all")
            try expect(try reader.endedCalls(limit: .max).map(\.number.rawValue), [4, 3, 1], "without a limit")
            try expect(try reader.endedCalls(limit: 2).map(\.number.rawValue), [4, 3], "two")
        },
        Case("calls are chosen by callId, users and epoch, newest first, each with all its fields") { storage, bench in
            try bench.open()
            let full = Sample.fullCall(9)
            try bench.save([
                .call(Sample.call(1)), .call(Sample.call(2, from: Sample.carol)), .call(Sample.call(3)), .call(full),
            ])
            let reader = try storage.makeReader()
            func numbers(_ choice: CallSelector, _ limit: Int = 9) throws -> [Int64] {
                try reader.calls(choice, limit: limit).map(\.number.rawValue)
            }
            let id = Sample.callID("11-10")
            try expect(try numbers(CallSelector(id)), [3, 2, 1], "by callId")
            try expect(try numbers(CallSelector(id), 1), [3], "the newest")
            try expect(try numbers(CallSelector(id, of: [Sample.carol])), [2], "by user")
            try expect(try numbers(CallSelector(id, of: [Sample.bob, Sample.alice])), [3, 1], "by both users")
            try expect(try numbers(CallSelector(id, epoch: 2)), [], "by another epoch")
            try expect(try reader.calls(CallSelector(full.id), limit: 1), [full], "a call with everything")
            try expect(
                try reader.history(of: Sample.bob, limit: 9, before: full.number).map(\.number.rawValue),
                [3, 2, 1],
                "a history"
            )
        },
        Case("a log is empty once it is forgotten, and the timeline stays") { storage, bench in
            try bench.open()
            let entries = [Sample.entry(1), Sample.entry(2, #"{"type":"end"}"#)]
            try bench.save(
                [.call(Sample.call(1)), .event(Sample.number(1), Sample.event("offer", #""device":"a\u0000""#))]
                    + entries.map { .entry(Sample.number(1), $0) }
            )
            let reader = try storage.makeReader()
            try expect(try reader.log(of: Sample.number(1)), entries, "the log")
            try bench.save([.logForgotten(Sample.number(1))])
            try expect(try reader.log(of: Sample.number(1)), [], "the forgotten log")
            try expect(try reader.timeline(of: Sample.number(1)).count, 1, "the timeline")
            try expect(try reader.log(of: Sample.number(7)), [], "the log of no call")
        },
        Case("calls whose history was forgotten are not shown") { storage, bench in
            try bench.open()
            try bench.save([.call(Sample.call(1, endedAt: 2_000)), .call(Sample.call(2, endedAt: 9_000))])
            try bench.save([.historyForgotten(before: Sample.moment(5_000))])
            let reader = try storage.makeReader()
            try expect(
                try reader.calls(CallSelector(Sample.callID("11-10")), limit: 9).map(\.number.rawValue),
                [2],
                "calls"
            )
            try expect(try reader.history(of: Sample.bob, limit: 9, before: nil).count, 1, "the history")
        },
        Case("a user's devices have all their fields, and each app is listed once") { storage, bench in
            try bench.open()
            var other = Sample.fullDevice(Sample.bob, "b")
            other.bundleID = "org.example.another"
            let devices = [Sample.fullDevice(Sample.alice, "b"), Sample.fullDevice(Sample.alice, "c")]
            try bench.save((devices + [other]).map { .device($0) })
            let reader = try storage.makeReader()
            try expect(try reader.devices(of: Sample.alice), devices, "devices")
            try expect(try reader.devices(of: Sample.carol), [], "devices of a user without any")
            let apps = ["org.example.another", "org.example.テスト"]
            try expect(try reader.bundleIDs(limit: 9), apps, "apps")
            try expect(try reader.bundleIDs(limit: 1), [apps[0]], "one app")
            try expect(try reader.registeredKinds(), Set(PushKind.allCases), "kinds of push")
        },
        Case("only the kinds of push for which a device has a token are registered") { storage, bench in
            try bench.open()
            let reader = try storage.makeReader()
            try expect(try reader.registeredKinds(), [], "no device")
            var device = Sample.fullDevice(Sample.alice, "b")
            for kind in PushKind.allCases where kind != .web { device.routes[kind] = nil }
            try bench.save([.device(device)])
            try expect(try reader.registeredKinds(), [.web], "a browser")
        },
        Case("events are read, with their endpoints and what is held for them") { storage, bench in
            try bench.open()
            let events = [Sample.appEvent(1), Sample.appEvent(2, .deviceRemoved, call: nil)]
            let held = Sample.held("a", 2, call: nil, .parked)
            try bench.save(
                events.map { .appEvent($0) } + [
                    .eventEndpoint(
                        EventEndpoint(url: "a", settledUpTo: EventPosition(rawValue: 2), parkedCount: 1)
                    ),
                    .eventHeld(held),
                ]
            )
            let reader = try storage.makeReader()
            let stored = try reader.storedEvents()
            try expect(stored.newest, EventPosition(rawValue: 2), "the newest event")
            try expect(stored.endpoints.map(\.url), ["a"], "the endpoints")
            try expect(stored.endpoints.map(\.parkedCount), [1], "the number of parked events")
            try expect(try reader.events(EventRead(after: .start, count: 9)).events, events, "the events")
            try expect(
                try reader.heldEvents(HeldRead(url: "a", .parked(after: .start), count: 9)),
                [HeldContent(held: held, event: events[1])],
                "the parked events"
            )
        },
        Case("impossible values are replaced or left out, and reported once") { storage, bench in
            try bench.open()
            try bench.save([.call(Sample.call(1)), .call(Sample.call(2))])
            bench.close()
            try storage.execute("UPDATE call SET started_at = -5 WHERE number = 1")
            try storage.execute("UPDATE call SET epoch = 0 WHERE number = 2")
            let reader = try storage.makeReader()
            for _ in 0..<2 {
                try expect(try reader.liveCalls(limit: 9).map(\.startedAt), [Sample.moment(0)], "the calls")
            }
            try expect(
                reader.takeDamages(),
                [
                    DamagedValue(table: "call", column: "epoch", row: "2", remedy: .leftOut),
                    DamagedValue(table: "call", column: "started_at", row: "1", remedy: .replaced),
                ],
                "the damages"
            )
            try expect(reader.takeDamages(), [], "the damages again")
        },
    ]

    private static func expectFailure(of storage: any Storage, _ words: String, _ what: String) throws {
        do { _ = try storage.makeReader() } catch let failure as StoreFailure {
            return try expect(failure.message.contains(words), "\(what): \(failure.message)")
        }
        throw StoreContract.Violation(description: "\(what): a reader was made")
    }
}
