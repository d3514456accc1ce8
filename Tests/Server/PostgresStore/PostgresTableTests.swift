import CallCore
import CallPorts
import Postgres
import PostgresStore
import Storing
import Testing

@Suite("The tables of cold records in PostgreSQL")
struct PostgresTableTests {
    @Test("The columns of each table are those of the newest schema")
    func columns() throws {
        let schema = try TemporarySchema()
        let store = schema.makeStore { _ in }
        _ = try store.open(at: .init(milliseconds: 0))
        store.close()
        let connection = try schema.connection()
        try check(Tables.devices, connection)
        try check(Tables.schedules, connection)
        try check(Tables.blocks, connection)
        try check(Tables.doNotDisturb, connection)
        try check(Tables.revocations, connection)
        try check(Tables.eventEndpoints, connection)
        try check(Tables.heldEvents, connection)
    }

    private func check<Record>(_ table: RecordTable<Record>, _ connection: Connection) throws {
        let columns = SQL(
            "columns of \(table.name)",
            """
            SELECT attname::text, format_type(atttypid, NULL), attnum = ANY (conkey) FROM pg_attribute
            JOIN pg_constraint ON conrelid = attrelid AND contype = 'p'
            WHERE attrelid = '\(table.name)'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
            """
        )
        let rows = try connection.run(columns)
        let found = (0..<rows.count).map { rows[$0] }
        #expect(
            Set(table.columns.map { "\($0.name) \(type(of: $0.kind))" })
                == Set(found.map { "\($0.text(0)) \($0.text(1))" })
        )
        #expect(table.columns.count == found.count)
        #expect(
            table.columns.prefix(table.keyCount).map(\.name) == found.filter { $0.int64(2) != 0 }.map { $0.text(0) }
        )
    }

    private func type(of kind: SQLValue.Kind) -> String {
        switch kind {
        case .integer: "bigint"
        case .flag: "boolean"
        case .word: "text"
        case .free: "bytea"
        }
    }
}
