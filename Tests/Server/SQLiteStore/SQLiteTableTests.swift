import SQLite
import Storing
import Testing

@testable import SQLiteStore

@Suite("The tables of cold records in SQLite")
struct SQLiteTableTests {
    private let connection: Connection

    init() throws {
        connection = try Connection(.memory(named: "tables-\(UInt64.random(in: 0...UInt64.max))"))
        try Schema.migrations.run(on: connection)
    }

    @Test("The columns of each table are those of the newest schema")
    func columns() throws {
        try check(Tables.devices)
        try check(Tables.schedules)
        try check(Tables.blocks)
        try check(Tables.doNotDisturb)
        try check(Tables.revocations)
        try check(Tables.eventEndpoints)
        try check(Tables.heldEvents)
    }

    private func check<Record>(_ table: RecordTable<Record>) throws {
        let rows = try connection.statement(
            SQL("columns", "SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid")
        )
        try rows.bind(table.name, at: 1)
        var (found, key) = ([String](), [String]())
        while try rows.step() {
            found.append("\(rows.text(0)) \(rows.text(1))")
            if rows.int64(2) > 0 { key.append(rows.text(0)) }
        }
        #expect(Set(table.columns.map { "\($0.name) \(type(of: $0.kind))" }) == Set(found))
        #expect(table.columns.count == found.count)
        #expect(table.columns.prefix(table.keyCount).map(\.name) == key)
    }

    private func type(of kind: SQLValue.Kind) -> String {
        switch kind {
        case .integer, .flag: "INTEGER"
        case .word, .free: "TEXT"
        }
    }
}
