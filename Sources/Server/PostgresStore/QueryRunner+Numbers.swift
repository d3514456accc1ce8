import CallCore
import CallPorts
import Postgres
import Storing

/// Queries about the call directory.
extension QueryRunner {
    /// Returns a page of a user's list.
    func page(_ read: NumberRead) throws(PostgresError) -> NumberPage {
        do throws(PostgresError) {
            return try pageInSnapshot(read)
        } catch {
            // The transaction has ended already if a statement of it failed; the first error is the cause.
            _ = try? connection.run(Self.rollback)
            throw error
        }
    }

    /// Reads a page in one transaction: the version of a page is the one that its rows have.
    private func pageInSnapshot(_ read: NumberRead) throws(PostgresError) -> NumberPage {
        let begun = try connection.run(
            [Self.beginSnapshot, Self.useIndexes, Self.numberState].map { Connection.Step($0) }
        )
        let state = begun[2].first.map { RowReader.numberState($0) } ?? NumberState()
        var step = read.step(in: state)
        var changes = 0
        if let since = step.since {
            var parameters = Self.parameters(read)
            parameters.add(since)
            parameters.add(Int64(read.countedChanges))
            changes = Int(try connection.run(Self.changeCount, parameters).first?.int64(0) ?? 0)
            if changes > NumberRead.mostChanges { step = read.step(in: state, hasTooManyChanges: true) }
        }
        var page = NumberPage(read.list, step, at: state.version)
        page.rowsRead = changes
        if let since = step.since, changes <= NumberRead.mostRows {
            var parameters = Self.parameters(read)
            parameters.add(since)
            parameters.add(step.after)
            parameters.add(Int64(read.limit) + 1)
            let rows = try connection.run([
                Connection.Step(Self.changes, parameters), Connection.Step(OwnerTable.commit),
            ])[0]
            for index in 0..<rows.count {
                guard let row = reader.number(rows[index]) else { continue }
                guard page.append(row.number, row.label, isShown: row.removedAt == nil, limit: read.limit) else {
                    break
                }
            }
        } else {
            var own = ListRows(runner: self, read: read, owner: read.user.text, after: step.after)
            var shared = ListRows(runner: self, read: read, owner: "", after: step.after)
            try page.scan(
                limit: read.limit,
                own: { () throws(PostgresError) in try own.next() },
                shared: { () throws(PostgresError) in try shared.next() }
            )
            try connection.run([Connection.Step(OwnerTable.commit)])
        }
        return page
    }

    /// The rows of one owner's list in the order of their numbers, fetched in parts: a page with few lines mostly needs
    /// few rows.
    private struct ListRows {
        let runner: QueryRunner
        let read: NumberRead
        let owner: String
        var after: Int64
        private var rows: Rows?
        private var index = 0
        private var size: Int

        init(runner: QueryRunner, read: NumberRead, owner: String, after: Int64) {
            self.runner = runner
            self.read = read
            self.owner = owner
            self.after = after
            size = min(read.limit, NumberRead.mostRows) + 1
        }

        mutating func next() throws(PostgresError) -> NumberRow? {
            while true {
                if let rows, index < rows.count {
                    let row = rows[index]
                    index += 1
                    after = row.int64(0)
                    if let number = runner.reader.number(row) { return number }
                } else if let rows, rows.count < size {
                    return nil
                } else {
                    if rows != nil { size = min(size * 4 + 60, NumberRead.mostRows + 1) }
                    rows = try runner.connection.run(
                        QueryRunner.list,
                        QueryRunner.parameters(read, of: owner, after, count: size)
                    )
                    index = 0
                }
            }
        }
    }

    private static func parameters(_ read: NumberRead) -> Parameters {
        var parameters = Parameters()
        parameters.add(read.user.text)
        parameters.add(read.list.rawValue)
        return parameters
    }

    private static func parameters(
        _ read: NumberRead,
        of owner: String,
        _ after: Int64,
        count: Int
    ) -> Parameters {
        var parameters = Parameters()
        parameters.add(owner)
        parameters.add(read.list.rawValue)
        parameters.add(after)
        parameters.add(Int64(count))
        return parameters
    }

    /// Returns the rows of an update that would change a list of names.
    func compare(_ update: [NumberRow], _ owner: UserID?) throws(PostgresError) -> NumberComparison {
        var (numbers, name) = (Column<Int64>(), Parameters())
        for row in update { numbers.append(row.number.rawValue) }
        name.add(owner?.text ?? "")
        var parameters = name
        parameters.add(numbers)
        let results = try connection.run([
            Connection.Step(Self.beginSnapshot), Connection.Step(Self.useIndexes),
            Connection.Step(Self.named, parameters),
            Connection.Step(Self.count, name), Connection.Step(OwnerTable.commit),
        ])
        var stored: [PhoneNumber: NumberRow] = [:]
        for index in 0..<results[2].count {
            if let row = reader.number(results[2][index]) { stored[row.number] = row }
        }
        let count = results[3].first?.int64(0) ?? 0
        return NumberComparison(of: update, with: stored, count: owner == nil ? 0 : Int(count))
    }

    static let numberState = SQL("directory state", RowReader.numberState)

    /// Keeps the planner, in this transaction, from ways that read or sort much of the table.
    ///
    /// It takes them while it does not know the table: after a million names were written, and before autovacuum has come,
    /// a page took 385 ms with a bitmap scan and a sort, and 3 ms along the index. A plan that is kept from the time when
    /// the table was empty is worse: a comparison took more than ten seconds.
    private static let useIndexes = SQL(
        "use indexes",
        """
        SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
            set_config('enable_sort', 'off', true), set_config('jit', 'off', true),
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

    private static let list = SQL(
        "numbers of an owner",
        """
        SELECT number, label, version, removed_at FROM directory
        WHERE owner = $1 AND list = $2 AND number > $3 ORDER BY number LIMIT $4
        """
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

    private static let changeCount = SQL(
        "count of changes",
        "SELECT count(*) FROM (SELECT 1 FROM (\(changed("UNION ALL", limit: "$4"))) AS found LIMIT $4) AS changed"
    )

    /// A user's own entry takes the place of the one for all users; a number with neither was removed.
    private static let changes: SQL = {
        let (own, shared) = ("$1", "''")
        func entry(_ owner: String, _ name: String) -> String {
            """
            LEFT JOIN LATERAL \(Self.entry(owner, list: "$2", number: "changed.number")) AS \(name)
                ON \(name).number = changed.number AND \(name).removed_at IS NULL
            """
        }
        return SQL(
            "changed numbers",
            """
            WITH changed AS MATERIALIZED (
                SELECT number FROM (\(changed("UNION", limit: "\(NumberRead.mostRows)"))) AS found WHERE number > $4 ORDER BY number LIMIT $5)
            SELECT changed.number, CASE WHEN own.number IS NULL THEN shared.label ELSE own.label END AS label,
                0::bigint AS version,
                CASE WHEN own.number IS NULL AND shared.number IS NULL THEN 0::bigint END AS removed_at
            FROM changed \(entry(own, "own")) \(entry(shared, "shared"))
            ORDER BY changed.number
            """
        )
    }()
}
