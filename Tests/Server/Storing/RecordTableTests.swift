import CallCore
import CallPorts
import Testing

@testable import CallTesting
@testable import Storing

@Suite("Tables of records")
struct RecordTableTests {
    private static let dialects = [(true, "?"), (false, "$")].map { replaces, parameter in
        Dialect(
            parameter: Character(parameter),
            replacesRows: replaces,
            greatest: "max",
            position: "instr",
            hasLog: "log_kept",
            hasUninformedLegs: "false"
        )
    }

    @Test("A table makes its statements in both dialects")
    func statements() {
        let (sqlite, postgres) = (Self.dialects[0], Self.dialects[1])
        let blocks = TableStatements(of: Tables.blocks, sqlite)
        #expect(blocks.write.text == "INSERT OR REPLACE INTO block (by, blocked, at) VALUES (?1, ?2, ?3)")
        #expect(blocks.remove.text == "DELETE FROM block WHERE by = ?1 AND blocked = ?2")
        let quiet = TableStatements(of: Tables.doNotDisturb, postgres)
        #expect(
            quiet.write.text == """
                INSERT INTO do_not_disturb ("user", until) VALUES ($1, $2) \
                ON CONFLICT ("user") DO UPDATE SET until = excluded.until
                """
        )
        #expect(quiet.all.text == #"SELECT "user", until FROM do_not_disturb ORDER BY "user""#)
        let devices = TableStatements(of: Tables.devices, postgres)
        #expect(devices.remove.text == #"DELETE FROM device WHERE "user" = $1 AND id = $2"#)
        #expect(devices.ofOwner.text.hasSuffix(#"FROM device WHERE "user" = $1 ORDER BY "user", id"#))
    }

    @Test("Every column of a full record has a value, and a row of the values is read as the record")
    func roundTrips() throws {
        try check(Tables.devices, Sample.fullDevice(Sample.bob, "iphone-h"), missing: [])
        try check(Tables.schedules, Sample.fullSchedule, missing: [])
        let moment = Sample.moment(7)
        try check(Tables.blocks, BlockRecord(by: Sample.bob, blocked: Sample.alice, at: moment), missing: [])
        try check(Tables.doNotDisturb, UserMoment(Sample.bob, moment), missing: [])
        try check(Tables.revocations, UserMoment(Sample.bob, moment), missing: [])
        let endpoint = EventEndpoint(
            url: "u",
            settledUpTo: EventPosition(rawValue: 7),
            stoppedAt: moment,
            parkedCount: 2
        )
        try check(Tables.eventEndpoints, endpoint, missing: [])
        try check(Tables.heldEvents, Sample.held("u", 7, .retry(at: moment)), missing: [])
        try check(Tables.heldEvents, Sample.held("u", 7, call: nil, .parked), missing: ["call", "retry_at"])
        let bare = Sample.schedule("daily")
        let optional: Set = ["display_name", "handle", "handle_type", "data", "every", "times"]
        try check(Tables.schedules, bare, missing: optional.union(["next", "occurrence", "again", "last_occurrence"]))
    }

    private func check<Record: Equatable>(_ table: RecordTable<Record>, _ record: Record, missing: Set<String>) throws {
        let row = FakeRow(of: table, record)
        #expect(row.values.map(\.kind) == table.columns.map(\.kind), "\(table.name)")
        #expect(Set(row.names).count == row.names.count, "\(table.name)")
        #expect(Set(row.names.indices.filter { row.isNull(Int32($0)) }.map { row.names[$0] }) == missing)
        let damages = DamageLog()
        #expect(table.record(row, damages) == record)
        #expect(damages.take() == [])
    }

    @Test("An impossible integer is found in every column")
    func integers() {
        damage(Tables.devices, Sample.fullDevice(Sample.bob, "iphone-h"))
        damage(Tables.schedules, Sample.fullSchedule)
        damage(Tables.blocks, BlockRecord(by: Sample.bob, blocked: Sample.alice, at: Sample.moment(7)))
        damage(Tables.doNotDisturb, UserMoment(Sample.bob, Sample.moment(7)))
        damage(Tables.revocations, UserMoment(Sample.bob, Sample.moment(7)))
    }

    private func damage<Record>(_ table: RecordTable<Record>, _ record: Record) {
        for (index, column) in table.columns.enumerated() where column.kind == .integer && column.name != "salt" {
            for value in [Int64.min, .max] {
                var row = FakeRow(of: table, record)
                row.values[index] = .integer(value)
                let damages = DamageLog()
                #expect(table.record(row, damages) != nil)
                #expect(damages.take().map(\.column) == [column.name], "\(table.name) \(value)")
            }
        }
    }

    @Test(
        "A row with an unknown word is left out",
        arguments: ["user", "id", "environment", "working_environment", "push_environment"]
    )
    func words(_ column: String) throws {
        var row = FakeRow(of: Tables.devices, Sample.fullDevice(Sample.bob, "iphone-h"))
        row.values[try #require(row.names.firstIndex(of: column))] = .word("no such word")
        let damages = DamageLog()
        #expect(Tables.devices.record(row, damages) == nil)
        #expect(damages.take().map(\.remedy) == [.leftOut])
    }

    @Test("Data of a schedule that are no JSON value are replaced by none")
    func data() throws {
        var row = FakeRow(of: Tables.schedules, Sample.fullSchedule)
        row.values[try #require(row.names.firstIndex(of: "data"))] = .free("{")
        let damages = DamageLog()
        let found = try #require(Tables.schedules.record(row, damages))
        #expect(found.data == nil)
        #expect(damages.take().map(\.remedy) == [.replaced])
    }
}

/// A row as a database would return it after a record was written.
private struct FakeRow: StoredRow {
    let names: [String]
    var values: [SQLValue]

    init<Record>(of table: RecordTable<Record>, _ record: Record) {
        names = table.columns.map(\.name)
        values = table.values(record)
    }

    func isNull(_ column: Int32) -> Bool { optional(column) == nil }

    func int64(_ column: Int32) -> Int64 { Int64(text(column)) ?? 0 }

    func text(_ column: Int32) -> String { optional(column) ?? "" }

    func bytes(_ column: Int32) -> [UInt8] { Array(text(column).utf8) }

    func columnName(_ column: Int32) -> String { names[Int(column)] }

    private func optional(_ column: Int32) -> String? {
        switch values[Int(column)] {
        case .integer(let number): number.map { String($0) }
        case .flag(let isTrue): isTrue ? "1" : "0"
        case .word(let text), .free(let text): text
        }
    }
}
