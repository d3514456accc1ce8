import CallCore
import CallPorts
import Storing

/// The requirements on every store in an SQL database that holds values which no server writes, but which a bad disk or
/// an operator's SQL may have put there.
package enum DamageContract {
    /// All cases.
    package static let cases: [ReaderContract.Case] = integers.flatMap(damaging) + words + repairs + eventRepairs

    /// The cases of truth values, for a database that stores them as integers.
    package static let flags: [ReaderContract.Case] = flagColumns.flatMap(damaging)

    /// Every integer column of the schema, as `table.column`.
    private static let integers: [String] =
        [
            ("call", "number epoch started_at ring_until answered_at active_at ended_at"),
            ("entry", "call seq at mark digest"), ("event", "position call at"), ("meta", "value"),
            ("directory", "list number version removed_at"),
            ("app_event", "position incarnation at call number total"),
        ].flatMap { table, columns in columns.split(separator: " ").map { "\(table).\($0)" } }
        + names(Tables.devices, .integer) + names(Tables.schedules, .integer) + names(Tables.blocks, .integer)
        + names(Tables.doNotDisturb, .integer) + names(Tables.revocations, .integer)
        + names(Tables.eventEndpoints, .integer) + names(Tables.heldEvents, .integer)

    private static let flagColumns =
        ["call.has_video", "call.log_kept"] + names(Tables.devices, .flag) + names(Tables.schedules, .flag)

    /// The columns in which every integer is valid, or which an opening does not read.
    private static let unreported = Set([
        "entry.call", "entry.mark", "entry.digest", "event.call", "event.position", "event.at", "directory.list",
        "directory.version", "directory.removed_at", "schedule.salt",
    ]).union(flagColumns)

    private static func names<Record>(_ table: RecordTable<Record>, _ kind: SQLValue.Kind) -> [String] {
        table.columns.filter { $0.kind == kind }.map { "\(table.name).\($0.name)" }
    }

    // MARK: Integers

    private static func damaging(_ name: String) -> [ReaderContract.Case] {
        [(Int64.min, true), (-1 << 53, false), (1 << 62, true), (.max, false)].map { value, isLive in
            let names = name.split(separator: ".").map { String($0) }
            return ReaderContract.Case(
                "a store works with \(name) = \(value) and \(isLive ? "a live" : "an ended") call"
            ) {
                storage,
                bench in
                try fill(bench, isLive: isLive)
                try storage.execute("UPDATE \(names[0]) SET \(names[1]) = \(value)")
                try readBeside(storage)
                let state = try bench.open()
                try expectSane(state)
                // A start reads an ended call's row only in part, and the rest on request.
                for end in state.ended { _ = try bench.query(.log(end.identity.number)) }
                try readEvents(bench)
                let isTold =
                    state.damages.contains { $0.table == names[0] && $0.column == names[1] }
                    || bench.reports.now.reported.contains("damaged \(name)")
                try expect(isTold || unreported.contains(name), "the damage is reported")
                try goOn(storage, bench, after: state.lastCallNumber)
                // The store also opens with the rows that were written meanwhile.
                try expectSane(try bench.reopen())
            }
        }
    }

    /// Reads the damaged database before a server has repaired it, as an operator's command does.
    private static func readBeside(_ storage: any ReaderContract.Storage) throws {
        let reader = try storage.makeReader()
        for call in try reader.history(of: Sample.bob, limit: 9, before: nil) + (try reader.liveCalls(limit: 9)) {
            try expectSane(call)
            _ = (try reader.timeline(of: call.number), try reader.log(of: call.number))
        }
        for device in try reader.devices(of: Sample.bob) { try expectSane(device, Tables.devices) }
    }

    /// Reads the events for the app's backend, as the server does while it runs.
    private static func readEvents(_ bench: StoreBench) throws {
        for event in try bench.events() {
            let position = event.position.rawValue
            try expect(StorableRange.numbers.contains(position) && isSane(event.at), "the event \(event)")
        }
        for choice in [HeldRead.Choice.after(.start), .retries] {
            for held in try bench.heldEvents("https://app.example/", choice) {
                let isPossible = held.held.state.retryAt.map(isSane) ?? true
                try expect(isPossible && isSane(held.held.since), "the held event \(held)")
            }
        }
        for bytes in [0, Int64.max] { _ = try bench.excess(before: 1, bytes: bytes) }
    }

    /// Begins another call, ends it, and checks that it is found again.
    private static func goOn(_ storage: any ReaderContract.Storage, _ bench: StoreBench, after last: Int64) throws {
        var next = Sample.call(last + 1)
        next.session.startedAt = now
        let position = try bench.page().readUpTo.next.rawValue
        try bench.save([
            .call(next), .event(next.number, Sample.event("later")), .appEvent(Sample.appEvent(position)),
        ])
        try expect(try bench.events().last?.position.rawValue, position, "the newest event")
        next.session.ending = CallSession.Ending(reason: .hangup, at: now)
        try bench.save([.call(next), .uncleanStartsForgotten])
        try expect(try bench.history(Sample.bob).first?.number, next.number, "the newest call")
        _ = try bench.timeline(CallSelector(next.id))
        let found = try storage.makeReader().history(of: Sample.bob, limit: 9, before: nil)
        try expect(found.first?.number, next.number, "the newest call for a reader")
    }

    // MARK: Words

    private static let words: [ReaderContract.Case] =
        [
            ("call", "reason = 'nonsense'"), ("call", #"legs = '\xff00'"#), ("call", "state = 'x'"),
            ("entry", "device = ''"), ("device", "environment = 'moon'"), ("device", "push_environment = 'moon'"),
            ("block", "by = ' '"), ("do_not_disturb", #""user" = ''"#), ("revocation", "\"user\" = '\n'"),
            ("schedule", "at = '25:00'"), ("schedule", "dates = 'mon someday'"), ("schedule", "caller = ''"),
        ].map { table, damage in
            ReaderContract.Case("a row of \(table) with \(damage) is left out and reported") { storage, bench in
                try fill(bench, isLive: true)
                try storage.execute("UPDATE \(table) SET \(damage)")
                let damages = try bench.open().damages
                try expect(damages.map(\.table), [table], "the damaged tables")
                try expect(damages.map(\.remedy), [.leftOut], "the remedy")
            }
        }

    // MARK: Repairs

    private static let repairs: [ReaderContract.Case] = [
        ReaderContract.Case("a call with an impossible end time ends when it began, and is deleted with the history") {
            storage,
            bench in
            try fill(bench, isLive: false)
            try storage.execute("UPDATE call SET ended_at = \(Int64.max)")
            try expect(try bench.open().ended.map(\.endedAt), [past], "the end")
            try bench.save([.historyForgotten(before: now)])
            try expect(try bench.reopen().ended.count, 0, "the ended calls")
        },
        ReaderContract.Case("a call with an impossible number does not count towards the limit of a query") {
            storage,
            bench in
            try fill(bench, isLive: true)
            try storage.execute(
                """
                CREATE TABLE copy AS SELECT * FROM call;
                UPDATE copy SET number = \(Int64.max), callee = '19';
                INSERT INTO call SELECT * FROM copy;
                DROP TABLE copy
                """
            )
            let reader = try storage.makeReader()
            let calls = try reader.liveCalls(limit: 1)
            try expect(calls.map(\.number), [Sample.number(1)], "the live calls")
            try expect(try reader.calls(CallSelector(Sample.callID("11-10")), limit: 1), calls, "the calls of the id")
            try bench.open()
            try expect(try bench.timeline(Sample.callID("11-10")).0?.number, Sample.number(1), "the call")
            try expect(try bench.query(.peers(Sample.alice, limit: 1)), .peers([Sample.bob]), "the peers")
        },
        ReaderContract.Case("an impossible mark of a deletion deletes nothing") { storage, bench in
            try fill(bench, isLive: false)
            try storage.execute("INSERT INTO meta (name, value) VALUES ('forgetting_before', \(Int64.max))")
            let history = try storage.makeReader().history(of: Sample.bob, limit: 9, before: nil)
            try expect(history.count, 1, "the history")
            try expect(try bench.open().ended.count, 1, "the ended calls")
        },
        ReaderContract.Case("a revocation with an impossible time gets the time of the opening that finds it") {
            storage,
            bench in
            try fill(bench, isLive: true)
            for value in [Int64.min, .max] {
                try storage.execute("UPDATE revocation SET before = \(value)")
                try expect(try bench.open().revocations, [Sample.carol: now], "the revocations")
                bench.close()
            }
            let store = storage.makeStore { _ in }
            defer { store.close() }
            try expect(try store.open(at: now + .seconds(9)).revocations, [Sample.carol: now], "the same time later")
        },
        ReaderContract.Case("a damaged value is reported once, no matter how often it is read") { storage, bench in
            try fill(bench, isLive: false)
            try storage.execute("UPDATE call SET started_at = \(Int64.min), log_kept = (1 = 0)")
            try expect(try bench.open().damages, [], "the damages that a start finds")
            for _ in 1...3 { _ = try bench.history(Sample.bob) }
            let reported = bench.reports.now.reported.count { $0 == "damaged call.started_at" }
            try expect(reported, 1, "the reports")
        },
    ]

    private static let eventRepairs: [ReaderContract.Case] = [
        ReaderContract.Case("a row of an event or an endpoint that cannot be read is left out and reported") {
            storage,
            bench in
            for damage in [
                "app_event SET type = 'moon'", "app_event SET \"user\" = ''", "held_event SET state = 'moon'",
                "app_event SET data = substr(data, 1, 5)", "app_event SET data = substr(data, 1, 0)",
            ] {
                try fill(bench, isLive: true)
                try storage.execute("UPDATE \(damage)")
                try bench.open()
                let table = damage.hasPrefix("app") ? "app_event" : "held_event"
                _ = (try bench.page(), try bench.heldEvents("https://app.example/", .after(.start)))
                let reported = bench.reports.now.reported.filter { $0.hasPrefix("damaged") }
                try expect(reported.count == 1 && reported[0].hasPrefix("damaged \(table)."), "\(damage): \(reported)")
                bench.close()
                try storage.execute("DELETE FROM app_event; DELETE FROM held_event; DELETE FROM event_endpoint")
            }
        },
        ReaderContract.Case("an impossible sum of the events' bytes deletes nothing, and is counted anew") {
            storage,
            bench in
            try fill(bench, isLive: true)
            try bench.open()
            try bench.save((2...9).map { .appEvent(Sample.appEvent($0)) })
            try bench.save([.eventsForgotten(upTo: EventPosition(rawValue: 3), keepsHeld: false)])
            let deleted = "DELETE FROM meta WHERE name = 'event_bytes_deleted'; INSERT INTO meta (name, value)"
            for damage in [
                "UPDATE app_event SET total = \(Int64.max)", "UPDATE app_event SET total = -1",
                "\(deleted) VALUES ('event_bytes_deleted', \(Int64.max))",
                "\(deleted) VALUES ('event_bytes_deleted', 1000000)",
            ] {
                bench.close()
                try storage.execute(damage)
                let damages = try bench.open().damages
                try expect(
                    damages.count == (damage.contains("1000000") ? 0 : 1),
                    "the damages of \(damage): \(damages)"
                )
                try expect(try bench.excess(bytes: 1_800), EventExcess(upTo: nil), "what is too much after \(damage)")
                let excess = EventExcess(upTo: EventPosition(rawValue: 4), lostCount: 1)
                try expect(try bench.excess(bytes: 1_799), excess, "what is too much of less")
            }
        },
        ReaderContract.Case("an impossible incarnation is replaced by the time of the opening") { storage, bench in
            try fill(bench, isLive: true)
            for value in [0, 1 << 32, Int64.min] {
                try storage.execute(
                    "DELETE FROM meta WHERE name = 'event_incarnation'; INSERT INTO meta VALUES ('event_incarnation', \(value))"
                )
                let state = try bench.open()
                try expect(Int64(state.events.incarnation.rawValue), now.milliseconds / 1_000, "the incarnation")
                try expect(state.damages.map(\.row), ["event_incarnation"], "the damages")
                bench.close()
            }
        },
    ]

    // MARK: Fixtures and checks

    /// The moment at which the bench opens its stores.
    private static let now = Moment(milliseconds: 1_700_000_000_000)
    private static let past = Moment(milliseconds: now.milliseconds - 60_000)

    /// Writes a row into every table, through a store that is closed then.
    private static func fill(_ bench: StoreBench, isLive: Bool) throws {
        try bench.open()
        var call = Sample.call(1)
        (call.session.startedAt, call.session.ringUntil) = (past, now)
        (call.session.answeredAt, call.session.activeAt) = (past, past)
        call.session.ending = isLive ? nil : CallSession.Ending(reason: .hangup, at: past)
        var held = Sample.held("https://app.example/", 1, .retry(at: now))
        (held.since, held.attempts) = (past, 1)
        var endpoint = EventEndpoint(url: held.url, settledUpTo: EventPosition(rawValue: 1), parkedCount: 1)
        endpoint.stoppedAt = past
        let number = NumberRow(number: Sample.phone(821_012_345_678), version: 2)
        let counters = NumberState(version: 2, oldest: 1, count: 1)
        try bench.save([
            .call(call), .entry(call.number, Sample.entry(1)), .event(call.number, Sample.event("offer")),
            .device(Sample.fullDevice(Sample.bob, "iphone-h")), .schedule(Sample.fullSchedule),
            .blocked(Sample.alice, by: Sample.bob, at: past), .doNotDisturb(Sample.alice, until: past),
            .revoked(Sample.carol, before: past),
            .numbers(NumberChange(owner: nil, list: .identities, rows: [number], state: counters)),
            .numbers(NumberChange(owner: Sample.bob, list: .blocks, rows: [number], state: counters)),
            .appEvent(Sample.appEvent(1)), .eventEndpoint(endpoint), .eventHeld(held),
        ])
        bench.close()
    }

    private static func expectSane(_ state: StoredState) throws {
        for call in state.ended {
            let number = call.identity.number.rawValue
            try expect(isSane(call.endedAt) && (1..<1 << 62).contains(number), "the ended call \(call)")
            try expect(call.identity.epoch <= 1 << 31, "the epoch of \(call)")
        }
        for call in state.calls {
            try expectSane(call.record)
            for entry in call.entries { try expect(entry.seq < 1 << 62 && isSane(entry.entry.at), "\(entry)") }
        }
        for device in state.devices { try expectSane(device, Tables.devices) }
        for schedule in state.schedules { try expectSane(schedule, Tables.schedules) }
        try expect(state.blocks.allSatisfy { isSane($0.at) }, "the blocks")
        try expect(state.doNotDisturb.values.allSatisfy { (0...1 << 53).contains($0.milliseconds) }, "do-not-disturb")
        try expect(state.revocations.values.allSatisfy(isSane), "the revocations")
        try expect(state.lastCallAt.map(isSane) ?? true, "the time of the last call")
        let counters = state.numbers.state
        let numbers = [state.lastCallNumber, counters.version, counters.oldest, Int64(counters.count)]
        try expect(numbers.allSatisfy { (0..<1 << 62).contains($0) }, "the counters \(numbers)")
        try expect(counters.oldest <= counters.version, "the versions \(counters)")
        try expect((0...1_000_001).contains(state.uncleanStarts), "the unclean starts")
    }

    private static func expectSane(_ call: CallRecord) throws {
        let moments = [call.startedAt, call.ringUntil, call.answeredAt, call.activeAt, call.endedAt].compactMap { $0 }
        try expect(moments.allSatisfy(isSane), "the moments of \(call)")
        try expect((1..<1 << 62).contains(call.number.rawValue) && call.epoch <= 1 << 31, "the numbers of \(call)")
    }

    /// Checks that each integer of a record is a moment or a count.
    private static func expectSane<Record>(_ record: Record, _ table: RecordTable<Record>) throws {
        for (column, value) in zip(table.columns, table.values(record)) where column.name != "salt" {
            guard case .integer(let number?) = value else { continue }
            try expect(StorableRange.moments.contains(number), "\(table.name).\(column.name) = \(number)")
        }
    }

    private static func isSane(_ moment: Moment) -> Bool { StorableRange.moments.contains(moment.milliseconds) }
}
