import CallCore
import CallPorts
import CallTesting
import Testing

@testable import PostgresStore

/// Tests with values that no server writes, but that an operator may have written with SQL.
@Suite("Impossible values in a PostgreSQL database")
struct PostgresDamageTests {
    private let now = Moment(milliseconds: 1_800_000_000_000)

    /// Every integer column of the schema except those of `owner`.
    static let columns: [(table: String, column: String)] = [
        ("call", "number epoch started_at ring_until answered_at active_at ended_at"),
        ("entry", "call seq at mark digest"), ("event", "position call at"),
        ("device", "voip_token_at alert_token_at created_at seen_at unanswered_pushes push_at push_status"),
        ("block", "at"), ("do_not_disturb", "until"), ("revocation", "before"), ("meta", "value"),
    ].flatMap { table, columns in columns.split(separator: " ").map { (table, String($0)) } }

    /// The columns in which the opening reports no integer: every integer is valid there, or the opening does not read
    /// the column.
    static let unreported: Set<String> = [
        "entry.call", "entry.mark", "entry.digest", "event.call", "event.position", "event.at",
    ]

    @Test("The store opens, commits and runs queries with an impossible integer in any column", arguments: columns)
    func integers(_ table: String, _ column: String) throws {
        let schema = try TemporarySchema()
        for (value, isLive) in [(Int64.min, true), (-1 << 53, false), (1 << 62, true), (.max, false)] {
            try fill(schema, isLive: isLive)
            try schema.execute("UPDATE \(table) SET \(column) = \(value)")
            let context = Comment(rawValue: "\(table).\(column) = \(value), \(isLive ? "live" : "ended")")
            let reports = StoreReports()
            let store = PostgresCallStore(schema.options) { reports.add($0) }
            let state = try store.open(at: now)
            check(state, context)
            if !Self.unreported.contains("\(table).\(column)") {
                // A start reads an ended call's row only in part, and the rest on request.
                for end in state.ended {
                    store.submit(.log(end.identity.number), as: StoreQueryID(rawValue: 9))
                    try reports.wait { $0.contains("answered 9") }
                }
                let isTold =
                    state.damages.contains { $0.table == table && $0.column == column }
                    || reports.now.reported.contains("damaged \(table).\(column)")
                #expect(isTold, context)
            }
            let next = try call(state.lastCallNumber + 1)
            store.commit([.call(next), .uncleanStartsForgotten], as: Ticket(rawValue: 1))
            store.submit(.history(next.callee, limit: 9, before: nil), as: StoreQueryID(rawValue: 1))
            store.submit(.timeline(CallSelector(next.id)), as: StoreQueryID(rawValue: 2))
            try reports.wait { $0.contains("answered 1") && $0.contains("answered 2") }
            #expect(reports.now.reported.contains("committed 1"), context)
            store.close()
            try schema.execute("DROP SCHEMA \(schema.options.schema) CASCADE")
        }
    }

    @Test(
        "A row with an impossible word, id or JSON is left out and reported",
        arguments: [
            ("call", "reason = 'nonsense'"), ("call", #"legs = '\xff00'"#), ("call", "state = 'x'"),
            ("entry", "device = ''"), ("device", "environment = 'moon'"), ("block", "by = ' '"),
            ("do_not_disturb", #""user" = ''"#), ("revocation", #""user" = E'\n'"#),
        ]
    )
    func words(_ table: String, _ damage: String) throws {
        let schema = try TemporarySchema()
        try fill(schema, isLive: true)
        try schema.execute("UPDATE \(table) SET \(damage)")
        let store = PostgresCallStore(schema.options) { _ in }
        let state = try store.open(at: now)
        #expect(state.damages.map(\.table) == [table])
        #expect(state.damages.map(\.remedy) == [.leftOut])
        store.close()
    }

    // MARK: Fixtures and checks

    private func user(_ text: String) throws -> UserID { try #require(UserID(text)) }

    private func call(_ number: Int64) throws -> CallRecord {
        CallRecord(
            number: CallNumber(rawValue: number),
            id: try #require(CallID("11-10")),
            epoch: 1,
            room: "p2p:11-10",
            caller: try user("11"),
            callee: try user("10"),
            displayName: nil,
            hasVideo: false,
            startedAt: past,
            ringUntil: now
        )
    }

    private var past: Moment { Moment(milliseconds: now.milliseconds - 60_000) }

    /// Writes one row into each table of records, through a store.
    private func fill(_ schema: TemporarySchema, isLive: Bool) throws {
        let store = PostgresCallStore(schema.options) { _ in }
        _ = try store.open(at: now)
        var call = try call(1)
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
        store.commit(
            [
                .call(call), .entry(call.number, entry),
                .event(call.number, TimelineRecord(at: past, event: .other(name: "offer", details: ""))),
                .device(device), .blocked(try user("13"), by: try user("10"), at: past),
                .doNotDisturb(try user("11"), until: past), .revoked(try user("12"), before: past),
            ],
            as: Ticket(rawValue: 1)
        )
        store.close()
    }

    private func check(_ state: StoredState, _ context: Comment) {
        for call in state.ended {
            let number = call.identity.number.rawValue
            #expect(isSane(call.endedAt) && (1..<1 << 62).contains(number) && call.identity.epoch <= 1 << 31, context)
        }
        for call in state.calls {
            let record = call.record
            let moments = [record.startedAt, record.ringUntil, record.answeredAt, record.activeAt, record.endedAt]
            #expect(moments.allSatisfy { $0.map(isSane) ?? true }, context)
            #expect((1..<1 << 62).contains(record.number.rawValue) && record.epoch <= 1 << 31, context)
            for entry in call.entries { #expect(entry.seq < 1 << 62 && isSane(entry.entry.at), context) }
        }
        for device in state.devices {
            #expect((0...1_000_000).contains(device.unansweredPushes) && isSane(device.createdAt), context)
            #expect([device.voipTokenAt, device.alertTokenAt].allSatisfy { $0.map(isSane) ?? true }, context)
        }
        #expect(state.revocations.values.allSatisfy(isSane) && state.blocks.allSatisfy { isSane($0.at) }, context)
        #expect((0..<1 << 62).contains(state.lastCallNumber) && (0...1_000_001).contains(state.uncleanStarts), context)
    }

    private func isSane(_ moment: Moment) -> Bool { StorableRange.moments.contains(moment.milliseconds) }
}
