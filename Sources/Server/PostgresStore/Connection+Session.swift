import CallCore
import CallPorts
import Postgres
import Storing

/// A row of a statement's result, from which `RowReader` reads a record.
extension Rows.Row: StoredRow {}

extension Connection.Step {
    /// Creates a step that runs a sentence with these values.
    init(_ sql: SQLText, _ values: [SQLValue]) {
        var parameters = Parameters()
        for value in values {
            switch value {
            case .integer(let number): parameters.add(number)
            case .flag(let isTrue): parameters.add(isTrue)
            case .word(let text): parameters.add(text)
            case .free(let text): parameters.add(bytesOf: text)
            }
        }
        self.init(SQL(sql.name, sql.text), parameters)
    }
}

extension Connection: SQLSession {
    static let statements = StoreStatements(
        Dialect(
            parameter: "$",
            replacesRows: false,
            greatest: "greatest",
            position: "strpos",
            hasLog: "log_kept",
            hasUninformedLegs: "position(convert_to('\(LegText.uninformed)', 'UTF8') IN legs) > 0"
        ),
        changeCount: changeCount,
        changes: changes
    )

    func read(
        _ sql: SQLText,
        _ values: [SQLValue],
        _ body: (any StoredRow) -> Void
    ) throws(PostgresError) {
        try run([Step(sql, values)])[0].each(body)
    }

    func readLargeTable(_ sql: SQLText, _ body: (any StoredRow) -> Void) throws(PostgresError) {
        try each(SQL(sql.name, sql.text)) { body($0) }
    }

    func readSnapshot(_ steps: [SQLStep], _ body: (Int, any StoredRow) -> Void) throws(PostgresError) {
        let steps = steps.map { Step($0.text, $0.values) }
        let results = try run([Step(Self.beginSnapshot)] + steps + [Step(OwnerTable.commit)])
        for index in steps.indices { results[index + 1].each { body(index, $0) } }
    }

    func beginSnapshot(_ first: SQLText, _ body: (any StoredRow) -> Void) throws(PostgresError) {
        try run([Step(Self.beginSnapshot), Step(Self.useIndexes), Step(first, [])])[2].each(body)
    }

    func endSnapshot(_ last: SQLStep?, _ body: (any StoredRow) -> Void) throws(PostgresError) {
        let steps = last.map { [Step($0.text, $0.values)] } ?? []
        let results = try run(steps + [Step(OwnerTable.commit)])
        if last != nil { results[0].each(body) }
    }

    func abandonSnapshot() {
        // The transaction has ended already if a statement of it failed; the first error is the cause.
        _ = try? run(Self.rollback)
    }

    func names(
        of owner: UserID?,
        among update: [NumberRow],
        _ reader: RowReader
    ) throws(PostgresError) -> (stored: [PhoneNumber: NumberRow], count: Int) {
        var (numbers, name) = (Column<Int64>(), Parameters())
        for row in update { numbers.append(row.number.rawValue) }
        name.add(owner?.text ?? "")
        var parameters = name
        parameters.add(numbers)
        let results = try run([
            Step(Self.beginSnapshot), Step(Self.useIndexes), Step(Self.named, parameters), Step(Self.count, name),
            Step(OwnerTable.commit),
        ])
        var stored: [PhoneNumber: NumberRow] = [:]
        results[2].each { if let row = reader.number($0) { stored[row.number] = row } }
        return (stored, owner == nil ? 0 : Int(results[3].first?.int64(0) ?? 0))
    }

    private static let beginSnapshot = SQL("begin snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    /// Keeps the planner, in this transaction, from ways that read or sort much of the table.
    ///
    /// It takes them while it does not know the table: after a million names were written, and before autovacuum has come,
    /// a page took 385 ms with a bitmap scan and a sort, and 3 ms along the index. A plan that is kept from the time when
    /// the table was empty is worse: a comparison took more than ten seconds. Each row of a join is looked up, because a
    /// join by order or by hash would read a whole table.
    static let useIndexes = SQL(
        "use indexes",
        """
        SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
            set_config('enable_sort', 'off', true), set_config('jit', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
            set_config('plan_cache_mode', 'force_custom_plan', true)
        """
    )

    private static let rollback = SQL("leave snapshot", "ROLLBACK")

    /// Looks up number by number: with `ANY`, the planner reads the whole list until it knows the table.
    private static let named = SQL(
        "numbers",
        """
        SELECT found.number, found.label, found.version, found.removed_at FROM unnest($2) AS asked (number)
        CROSS JOIN LATERAL \(entry("$1", list: "0", number: "asked.number")) AS found
        WHERE found.number = asked.number
        """
    )

    /// Selects the row of the first number that is not below `number`.
    ///
    /// With `number = …` the planner may take the index of versions and search all of a list, which costs it nothing as
    /// long as it takes the table for a small one. Only the primary key has this order.
    private static func entry(_ owner: String, list: String, number: String) -> String {
        """
        (SELECT number, label, version, removed_at FROM directory
        WHERE owner = \(owner) AND list = \(list) AND number >= \(number) ORDER BY number LIMIT 1)
        """
    }

    private static let count = SQL(
        "count of numbers",
        "SELECT count(*) FROM directory WHERE owner = $1 AND owner <> '' AND list = 0 AND removed_at IS NULL"
    )

    /// Selects what has changed, by the index of versions.
    ///
    /// The order and the limit steer the planner to that index: it does not know how few changes there are.
    private static func changed(_ union: String, limit: String) -> String {
        ["''", "$1"].map { owner in
            """
            (SELECT number FROM directory WHERE owner = \(owner) AND list = $2 AND version > $3
            ORDER BY version LIMIT \(limit))
            """
        }.joined(separator: " \(union) ")
    }

    private static let changeCount =
        "SELECT count(*) FROM (SELECT 1 FROM (\(changed("UNION ALL", limit: "$4"))) AS found LIMIT $4) AS changed"

    private static let changes: String = {
        func entry(_ owner: String, _ name: String) -> String {
            """
            LEFT JOIN LATERAL \(Connection.entry(owner, list: "$2", number: "changed.number")) AS \(name)
                ON \(name).number = changed.number AND \(name).removed_at IS NULL
            """
        }
        return """
            WITH changed AS MATERIALIZED (
                SELECT number FROM (\(changed("UNION", limit: "\(NumberRead.mostRows)"))) AS found
                WHERE number > $4 ORDER BY number LIMIT $5)
            SELECT changed.number, CASE WHEN own.number IS NULL THEN shared.label ELSE own.label END AS label,
                0::bigint AS version,
                CASE WHEN own.number IS NULL AND shared.number IS NULL THEN 0::bigint END AS removed_at
            FROM changed \(entry("$1", "own")) \(entry("''", "shared"))
            ORDER BY changed.number
            """
    }()
}
