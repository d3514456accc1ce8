import CallCore
import CallPorts
import CallTesting
import Foundation
import SQLite
import SQLiteStore
import Storing
import Testing
import Threads

/// Tests with values that no server writes, but that a bad disk or an operator's SQL may have put into the database.
@Suite("Impossible values in the database")
struct DamagedTests {
    private let folder: TemporaryDataFolder
    private let now = Moment(milliseconds: 1_800_000_000_000)

    init() throws { folder = try TemporaryDataFolder() }

    /// Every integer column of the schema.
    static let columns: [(table: String, column: String)] = [
        ("call", "number epoch has_video started_at ring_until answered_at active_at ended_at log_kept"),
        ("entry", "call seq at mark digest"),
        ("event", "position call at"),
        (
            "device",
            "is_named voip_token_at alert_token_at created_at seen_at unanswered_pushes push_at push_status"
        ),
        ("block", "at"), ("do_not_disturb", "until"), ("revocation", "before"), ("meta", "value"),
        ("directory", "list number version removed_at"),
    ].flatMap { table, columns in columns.split(separator: " ").map { (table, String($0)) } }

    /// The columns in which every integer is valid, or in which an invalid integer has no noticeable effect.
    static let free: Set<String> = [
        "call.has_video", "call.log_kept", "entry.call", "entry.mark", "entry.digest", "event.call", "device.is_named",
        "directory.list", "directory.version", "directory.removed_at",
    ]

    static let values: [Int64] = [.min, .min + 1, -1 << 53, 1 << 62, .max - 1, .max]

    @Test("The store opens, commits and runs queries with an impossible integer in any column", arguments: columns)
    func integers(_ table: String, _ column: String) throws {
        for (value, isLive) in Self.values.flatMap({ [($0, true), ($0, false)] }) {
            let folder = try TemporaryDataFolder()
            try fill(folder, isLive: isLive)
            try damage(folder, "UPDATE \(table) SET \(column) = \(value)")
            let context = Comment(rawValue: "\(table).\(column) = \(value), \(isLive ? "live" : "ended")")
            try readBeside(folder, context)
            let reports = StoreReports()
            let store = SQLiteCallStore(folder: folder.path) { reports.add($0) }
            let state = try store.open(at: now)
            check(state, context)
            if !Self.free.contains("\(table).\(column)") {
                // A timeline is not read at an opening, and a negative position of an event is valid.
                let isHarmless = table == "event" && (column == "at" || value < 0)
                // A start reads an ended call's row only in part, and the rest on request.
                for end in state.ended {
                    store.submit(.log(end.identity.number), as: StoreQueryID(rawValue: 9))
                    try reports.wait { $0.contains("answered 9") }
                }
                let isTold =
                    state.damages.contains { $0.table == table && $0.column == column }
                    || reports.now.reported.contains("damaged \(table).\(column)")
                #expect(isTold || isHarmless, context)
            }
            try goOn(store, in: folder, reports, state, context)
            store.close()
            // The store also opens with the rows that were written meanwhile.
            let again = SQLiteCallStore(folder: folder.path) { _ in }
            check(try again.open(at: now), context)
            again.close()
        }
    }

    @Test("A row with an impossible word is left out, and the damage is reported")
    func words() throws {
        let damages = [
            "call": "reason = 'nonsense'", "entry": "device = ''", "device": "environment = 'moon'",
            "block": "by = ' '", "do_not_disturb": "user = ''", "revocation": "user = '\n'",
        ]
        for (table, damage) in damages {
            let folder = try TemporaryDataFolder()
            try fill(folder, isLive: true)
            try self.damage(folder, "UPDATE \(table) SET \(damage)")
            let store = SQLiteCallStore(folder: folder.path) { _ in }
            let state = try store.open(at: now)
            #expect(state.damages.map(\.table) == [table])
            #expect(state.damages.map(\.remedy) == [.leftOut])
            store.close()
        }
    }

    @Test("A call with an impossible end time gets its start time as its end time, and is deleted with the history")
    func forgetting() throws {
        try fill(folder, isLive: false)
        try damage(folder, "UPDATE call SET ended_at = \(Int64.max)")
        let reports = StoreReports()
        let store = SQLiteCallStore(folder: folder.path) { reports.add($0) }
        #expect(try store.open(at: now).ended.first?.endedAt == Moment(milliseconds: now.milliseconds - 60_000))
        store.commit([.historyForgotten(before: now)], as: Ticket(rawValue: 1))
        try reports.wait { $0.contains("committed 1") }
        store.close()
        let again = SQLiteCallStore(folder: folder.path) { _ in }
        #expect(try again.open(at: now).ended.isEmpty)
        again.close()
    }

    @Test("A call with an impossible number does not count towards the limit of a query")
    func hiding() throws {
        try fill(folder, isLive: true)
        try damage(
            folder,
            """
            CREATE TABLE copy AS SELECT * FROM call;
            UPDATE copy SET number = \(Int64.max), callee = '19';
            INSERT INTO call SELECT * FROM copy;
            DROP TABLE copy;
            """
        )
        let reader = try SQLiteCallStore.reader(of: folder.path)
        let call = try #require(try reader.liveCalls(limit: 1).first)
        #expect(call.number == CallNumber(rawValue: 1))
        #expect(try reader.calls(CallSelector(call.id), limit: 1) == [call])
        let (reports, results) = (StoreReports(), Monitor<[StoreQueryID: StoreResult]>([:]))
        let store = SQLiteCallStore(folder: folder.path) { report in
            if case .queryResult(let id, let result) = report { results.withLock { $0[id] = result } }
            reports.add(report)
        }
        _ = try store.open(at: now)
        let (timeline, peers) = (StoreQueryID(rawValue: 1), StoreQueryID(rawValue: 2))
        store.submit(.timeline(CallSelector(call.id)), as: timeline)
        store.submit(.peers(call.caller, limit: 1), as: peers)
        try reports.wait { $0.contains("answered 1") && $0.contains("answered 2") }
        store.close()
        let found = results.withLock { $0 }
        guard case .timeline(let record?, _) = found[timeline] else {
            Issue.record("the call was not found")
            return
        }
        #expect(record.number == call.number)
        #expect(found[peers] == .peers([call.callee]))
    }

    @Test("If 'forgetting_before', the mark of a deletion under way, is an impossible time, nothing is deleted")
    func deletion() throws {
        try fill(folder, isLive: false)
        try damage(folder, "INSERT OR REPLACE INTO meta VALUES ('forgetting_before', \(Int64.max))")
        let reader = try SQLiteCallStore.reader(of: folder.path)
        #expect(try reader.history(of: try user("10"), limit: 9, before: nil).count == 1)
        let store = SQLiteCallStore(folder: folder.path) { _ in }
        #expect(try store.open(at: now).ended.count == 1)
        store.close()
    }

    @Test("A revocation with an impossible time gets the time of the opening that finds it, and keeps that time")
    func revocation() throws {
        try fill(folder, isLive: true)
        for value in [Int64.min, .max] {
            try damage(folder, "UPDATE revocation SET before = \(value)")
            let store = SQLiteCallStore(folder: folder.path) { _ in }
            #expect(try store.open(at: now).revocations == [try user("12"): now])
            store.close()
        }
        let store = SQLiteCallStore(folder: folder.path) { _ in }
        #expect(try store.open(at: now + .seconds(9)).revocations == [try user("12"): now], "the time stays the same")
        store.close()
    }

    @Test("A damaged value is reported once, no matter how often it is read")
    func once() throws {
        try fill(folder, isLive: false)
        try damage(folder, "UPDATE call SET started_at = \(Int64.min), log_kept = 0")
        let reports = StoreReports()
        let store = SQLiteCallStore(folder: folder.path) { reports.add($0) }
        #expect(try store.open(at: now).damages == [])
        for number in 1...3 as ClosedRange<UInt64> {
            store.submit(.history(try user("10"), limit: 9, before: nil), as: StoreQueryID(rawValue: number))
        }
        try reports.wait { $0.contains("answered 3") }
        #expect(reports.now.reported.count { $0 == "damaged call.started_at" } == 1)
        store.close()
    }

    // MARK: Fixtures and checks

    private func user(_ text: String) throws -> UserID { try #require(UserID(text)) }

    /// Writes a row into every table.
    private func fill(_ folder: TemporaryDataFolder, isLive: Bool) throws {
        let reports = StoreReports()
        let store = SQLiteCallStore(folder: folder.path) { reports.add($0) }
        _ = try store.open(at: now)
        let past = Moment(milliseconds: now.milliseconds - 60_000)
        var call = try sampleCall(1)
        (call.session.startedAt, call.session.ringUntil) = (past, now)
        (call.session.answeredAt, call.session.activeAt) = (past, past)
        call.session.ending = isLive ? nil : CallSession.Ending(reason: .hangup, at: past)
        var device = DeviceRecord(
            user: try user("10"),
            id: try #require(DeviceID("iphone-h")),
            isNamed: true,
            platform: "ios",
            bundleID: "org.example",
            createdAt: past
        )
        (device.voipToken, device.voipTokenAt, device.alertToken, device.alertTokenAt) = ("00", past, "ff", past)
        device.lastPush = .init(at: past, status: 200, reason: nil, environment: .sandbox, hint: nil)
        let caller = DeviceIdentity(id: try #require(DeviceID("iphone-t")), fingerprint: TokenFingerprint(rawValue: 1))
        let entry = EntryRecord(
            LogEntry(
                seq: 1,
                at: past,
                content: .signal(.offer, from: .caller, device: caller, id: nil, digest: 0),
                audience: .callee
            ),
            object: Array("{}".utf8)[...]
        )
        let number = NumberRow(number: try #require(PhoneNumber(rawValue: 821_012_345_678)), version: 2)
        let numbers = NumberState(version: 2, oldest: 1, count: 1)
        store.commit(
            [
                .call(call), .entry(call.number, entry),
                .event(call.number, TimelineRecord(at: past, event: .other(name: "offer", details: ""))),
                .device(device),
                .blocked(try user("13"), by: try user("10"), at: past),
                .doNotDisturb(try user("11"), until: past), .revoked(try user("12"), before: past),
                .numbers(NumberChange(owner: nil, list: .identities, rows: [number], state: numbers)),
                .numbers(NumberChange(owner: try user("10"), list: .blocks, rows: [number], state: numbers)),
            ],
            as: Ticket(rawValue: 1)
        )
        try reports.wait { $0 == ["committed 1"] }
        store.close()
    }

    private func damage(_ folder: TemporaryDataFolder, _ sql: String) throws {
        let connection = try Connection(.file(path: folder.path + "/ringline.sqlite", .readWrite))
        try connection.execute(SQL("damage", sql))
        try connection.checkpoint(.truncate)
    }

    /// Reads the damaged database before a server has repaired it, as an operator's command does.
    private func readBeside(_ folder: TemporaryDataFolder, _ context: Comment) throws {
        let reader = try SQLiteCallStore.reader(of: folder.path)
        for call in try reader.history(of: try user("10"), limit: 9, before: nil) + (try reader.liveCalls(limit: 9)) {
            check(call, context)
            _ = (try reader.timeline(of: call.number), try reader.log(of: call.number))
        }
        for device in try reader.devices(of: try user("10")) { check(device, context) }
    }

    private func check(_ state: StoredState, _ context: Comment) {
        for call in state.ended {
            let number = call.identity.number.rawValue
            #expect(isSane(call.endedAt) && (1..<1 << 62).contains(number) && call.identity.epoch <= 1 << 31, context)
        }
        for call in state.calls {
            check(call.record, context)
            for entry in call.entries { #expect(entry.seq < 1 << 62 && isSane(entry.entry.at), context) }
        }
        for device in state.devices { check(device, context) }
        for block in state.blocks { #expect(isSane(block.at), context) }
        for moment in state.doNotDisturb.values { #expect((0...1 << 53).contains(moment.milliseconds), context) }
        for moment in state.revocations.values { #expect(isSane(moment), context) }
        #expect(state.lastCallAt.map(isSane) ?? true, context)
        #expect((0..<1 << 62).contains(state.lastCallNumber), context)
        let numbers = [state.numbers.state.version, state.numbers.state.oldest, Int64(state.numbers.state.count)]
        #expect(numbers.allSatisfy { (0..<1 << 62).contains($0) }, context)
        #expect(state.numbers.state.oldest <= state.numbers.state.version, context)
        #expect((0...1_000_001).contains(state.uncleanStarts), context)
    }

    private func check(_ call: CallRecord, _ context: Comment) {
        let moments = [call.startedAt, call.ringUntil, call.answeredAt, call.activeAt, call.endedAt].compactMap { $0 }
        #expect(moments.allSatisfy(isSane), context)
        #expect((1..<1 << 62).contains(call.number.rawValue) && call.epoch <= 1 << 31, context)
    }

    private func check(_ device: DeviceRecord, _ context: Comment) {
        let moments = [device.voipTokenAt, device.alertTokenAt, device.createdAt, device.seenAt, device.lastPush?.at]
        #expect(moments.allSatisfy { $0.map(isSane) ?? true }, context)
        #expect((0...1_000_000).contains(device.unansweredPushes), context)
        #expect((0...999).contains(device.lastPush?.status ?? 0), context)
    }

    private func isSane(_ moment: Moment) -> Bool { StorableRange.moments.contains(moment.milliseconds) }

    /// Begins another call, ends it, and checks that it is found again.
    private func goOn(
        _ store: SQLiteCallStore,
        in folder: TemporaryDataFolder,
        _ reports: StoreReports,
        _ state: StoredState,
        _ context: Comment
    ) throws {
        var next = try sampleCall(state.lastCallNumber + 1)
        next.session.startedAt = now
        let event = TimelineRecord(at: now, event: .other(name: "later", details: ""))
        store.commit([.call(next), .event(next.number, event)], as: Ticket(rawValue: 1))
        next.session.ending = CallSession.Ending(reason: .hangup, at: now)
        store.commit([.call(next), .uncleanStartsForgotten], as: Ticket(rawValue: 2))
        store.submit(.history(try user("10"), limit: 9, before: nil), as: StoreQueryID(rawValue: 1))
        try reports.wait { $0.contains("answered 1") }
        #expect(reports.now.reported.contains("committed 2"), context)
        let found = try SQLiteCallStore.reader(of: folder.path)
        #expect(try found.history(of: try user("10"), limit: 9, before: nil).first?.number == next.number, context)
    }
}
