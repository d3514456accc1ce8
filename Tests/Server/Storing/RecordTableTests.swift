import CallCore
import CallPorts
import CallTesting
import Testing

@testable import Storing

@Suite("Tables of records")
struct RecordTableTests {
    private static let dialects = [(true, "?"), (false, "$")].map { replaces, parameter in
        Dialect(
            parameter: Character(parameter),
            replacesRows: replaces,
            greatest: "max",
            hasLog: "log_kept",
            hasUninformedLegs: "false"
        )
    }

    @Test("A table makes its statements in both dialects")
    func statements() {
        let (sqlite, postgres) = (Self.dialects[0], Self.dialects[1])
        let blocks = TableSentences(of: Tables.blocks, sqlite)
        #expect(blocks.write.text == "INSERT OR REPLACE INTO block (by, blocked, at) VALUES (?1, ?2, ?3)")
        #expect(blocks.remove.text == "DELETE FROM block WHERE by = ?1 AND blocked = ?2")
        let quiet = TableSentences(of: Tables.doNotDisturb, postgres)
        #expect(
            quiet.write.text == """
                INSERT INTO do_not_disturb ("user", until) VALUES ($1, $2) \
                ON CONFLICT ("user") DO UPDATE SET until = excluded.until
                """
        )
        #expect(quiet.all.text == #"SELECT "user", until FROM do_not_disturb ORDER BY "user""#)
        let devices = TableSentences(of: Tables.devices, postgres)
        #expect(devices.remove.text == #"DELETE FROM device WHERE "user" = $1 AND id = $2"#)
        #expect(devices.beginning.text.hasSuffix(#"FROM device WHERE "user" = $1 ORDER BY "user", id"#))
    }

    @Test("The values of a record have the kinds of their columns, and no column comes twice")
    func kinds() throws {
        let user = try #require(UserID("10"))
        check(Tables.blocks, BlockRecord(by: user, blocked: user, at: Moment(milliseconds: 1)))
        check(Tables.revocations, UserMoment(user, Moment(milliseconds: 1)))
        check(Tables.doNotDisturb, UserMoment(user, Moment(milliseconds: 1)))
        for case .device(let device) in StoreSample.changes { check(Tables.devices, device) }
    }

    private func check<Record>(_ table: RecordTable<Record>, _ record: Record) {
        #expect(table.values(record).map(\.kind) == table.columns.map(\.kind), "\(table.name)")
        #expect(Set(table.columns.map(\.name)).count == table.columns.count, "\(table.name)")
    }
}
