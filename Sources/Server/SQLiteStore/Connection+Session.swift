import CallCore
import CallPorts
import SQLite
import Storing

/// A statement stands for its current row.
extension Statement: StoredRow {}

extension Connection {
    /// Returns the statement of a text, with the values bound.
    func statement(_ sql: SQLText, _ values: [SQLValue]) throws(SQLiteError) -> Statement {
        let statement = try statement(SQL(sql.name, sql.text))
        var index: Int32 = 1
        for value in values {
            switch value {
            case .integer(let number): try statement.bind(number, at: index)
            case .flag(let isTrue): try statement.bind(isTrue ? 1 : 0 as Int64, at: index)
            case .word(let text), .free(let text): try statement.bind(text, at: index)
            }
            index += 1
        }
        return statement
    }
}

extension Connection: SQLSession {
    static let statements = StoreStatements(
        Dialect(
            parameter: "?",
            replacesRows: true,
            greatest: "max",
            position: "instr",
            hasLog: "log_kept = 1",
            hasUninformedLegs: "instr(legs, '\(LegText.uninformed)') > 0"
        ),
        changeCount: changeCount,
        changes: changes
    )

    func read(
        _ sql: SQLText,
        _ values: [SQLValue],
        _ body: (any StoredRow) -> Void
    ) throws(SQLiteError) {
        let rows = try statement(sql, values)
        while try rows.step() { body(rows) }
    }

    func readLargeTable(_ sql: SQLText, _ body: (any StoredRow) -> Void) throws(SQLiteError) {
        try read(sql, [], body)
    }

    func readSnapshot(_ steps: [SQLStep], _ body: (Int, any StoredRow) -> Void) throws(SQLiteError) {
        try statement(Self.begin).run()
        defer { abandonSnapshot() }
        for (index, step) in steps.enumerated() { try read(step.text, step.values) { body(index, $0) } }
    }

    func beginSnapshot(_ first: SQLText, _ body: (any StoredRow) -> Void) throws(SQLiteError) {
        try statement(Self.begin).run()
        try read(first, [], body)
    }

    func endSnapshot(_ last: SQLStep?, _ body: (any StoredRow) -> Void) throws(SQLiteError) {
        if let last { try read(last.text, last.values, body) }
        try statement(Self.end).run()
    }

    func abandonSnapshot() {
        // If this fails, the first error is the cause.
        if isInTransaction { try? statement(Self.end).run() }
    }

    func names(
        of owner: UserID?,
        among update: [NumberRow],
        _ reader: RowReader
    ) throws(SQLiteError) -> (stored: [PhoneNumber: NumberRow], count: Int) {
        let rows = try statement(Self.number)
        try rows.bind(owner?.text ?? "", at: 1)
        var (stored, total) = ([PhoneNumber: NumberRow](), 0)
        for row in update {
            try rows.bind(row.number.rawValue, at: 2)
            while try rows.step() { if let old = reader.number(rows) { stored[old.number] = old } }
        }
        guard let owner else { return (stored, 0) }
        let count = try statement(Self.count)
        try count.bind(owner.text, at: 1)
        while try count.step() { total = Int(count.int64(0)) }
        return (stored, total)
    }

    private static let begin = SQL("begin snapshot", "BEGIN")
    private static let end = SQL("end snapshot", "COMMIT")

    private static let number = SQL(
        "number",
        "SELECT number, label, version, removed_at FROM directory WHERE owner = ?1 AND list = 0 AND number = ?2"
    )

    private static let count = SQL(
        "count of numbers",
        "SELECT count(*) FROM directory WHERE owner = ?1 AND list = 0 AND removed_at IS NULL"
    )

    private static let changeCount = """
        SELECT count(*) FROM (
            SELECT 1 FROM directory INDEXED BY directory_by_version
            WHERE owner IN ('', $1) AND list = $2 AND version > $3 LIMIT $4)
        """

    /// Finds what has changed by the index of versions, so that a list of a million numbers is not searched.
    private static let changes = """
        SELECT changed.number, iif(own.number IS NULL, shared.label, own.label), 0,
            iif(own.number IS NULL AND shared.number IS NULL, 0, NULL) AS removed_at
        FROM (SELECT number FROM (
                SELECT number FROM directory INDEXED BY directory_by_version
                WHERE owner = '' AND list = $2 AND version > $3
                UNION
                SELECT number FROM directory INDEXED BY directory_by_version
                WHERE owner = $1 AND list = $2 AND version > $3)
            WHERE number > $4 ORDER BY number LIMIT $5) AS changed
        LEFT JOIN directory AS own
            ON own.owner = $1 AND own.list = $2 AND own.number = changed.number AND own.removed_at IS NULL
        LEFT JOIN directory AS shared
            ON shared.owner = '' AND shared.list = $2 AND shared.number = changed.number AND shared.removed_at IS NULL
        ORDER BY changed.number
        """
}
