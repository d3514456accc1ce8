import CallCore
import CallPorts
import Postgres
import Storing

/// Runs queries on a connection.
struct QueryRunner {
    let connection: Connection
    /// The log in which impossible values are recorded.
    let damages: DamageLog

    var reader: RowReader { RowReader(damages: damages) }

    /// Returns the result of a query.
    func run(_ query: StoreQuery) throws(PostgresError) -> StoreResult {
        switch query {
        case .history(let user, let limit, let before):
            return .history(try history(of: user, limit: limit, before: before))
        case .timeline(let choice):
            guard let call = try calls(choice, limit: 1).first else { return .timeline(nil, []) }
            return .timeline(call, try events(of: call.number))
        case .peers(let user, let limit): return .peers(try peers(of: user, limit: limit))
        case .log(let number): return .log(try stored(number))
        case .epoch(let key): return .epoch(try newestEpoch(of: key))
        case .numbers(let read): return .numbers(try page(read))
        case .numberChanges(let owner, let rows): return .numberChanges(try compare(rows, owner))
        }
    }

    /// Returns a user's calls as caller or callee, newest first, at most `limit`, with numbers below `before`.
    func history(
        of user: UserID,
        limit: Int,
        before: CallNumber?
    ) throws(PostgresError) -> [CallRecord] {
        guard limit > 0, before?.rawValue != .min else { return [] }
        var parameters = Parameters()
        parameters.add(user.text)
        // The highest number to return. Impossible numbers, which would come before all others, are above it.
        parameters.add(min(before?.rawValue ?? .max, StorableRange.numbers.upperBound + 1) - 1)
        parameters.add(Int64(limit))
        return try read(Self.history, parameters) { reader.call($0) }
    }

    /// Returns the users with whom a user has had a call, the user of the newest call first.
    private func peers(of user: UserID, limit: Int) throws(PostgresError) -> [UserID] {
        var parameters = Parameters()
        parameters.add(user.text)
        parameters.add(Int64(limit))
        return try read(Self.peers, parameters) { UserID($0.text(0)) }
    }

    /// Returns the calls that match, newest first.
    func calls(_ choice: CallSelector, limit: Int) throws(PostgresError) -> [CallRecord] {
        let spellings = choice.id.storedSpellings
        var parameters = Parameters()
        parameters.add(spellings?.lower ?? choice.id.text)
        parameters.add(choice.users.first?.text)
        parameters.add(choice.users.last?.text)
        parameters.add(choice.epoch.map { Int64($0) })
        parameters.add(Int64(limit))
        parameters.add(choice.viewer?.text)
        if let spellings { parameters.add(spellings.upper) }
        return try read(spellings == nil ? Self.named : Self.namedByUUID, parameters) { reader.call($0) }
    }

    /// Returns a call with its log; `nil` if there is no such call, or if its log was deleted.
    private func stored(_ number: CallNumber) throws(PostgresError) -> StoredCall? {
        // In one snapshot, because the writer may delete the log between the two statements.
        let results = try connection.run([
            Connection.Step(Self.beginSnapshot), Connection.Step(Self.call, Self.of(number)),
            Connection.Step(Self.entries, Self.of(number)), Connection.Step(OwnerTable.commit),
        ])
        guard let record = values(results[1], { reader.call($0) }).first else { return nil }
        return StoredCall(record: record, entries: values(results[2]) { reader.entry($0) })
    }

    /// Returns the stored log of a call.
    func log(of number: CallNumber) throws(PostgresError) -> [EntryRecord] {
        try read(Self.entries, Self.of(number)) { reader.entry($0) }
    }

    /// Returns the timeline of a call, in the order of its events.
    func events(of number: CallNumber) throws(PostgresError) -> [TimelineRecord] {
        try read(Self.events, Self.of(number)) { reader.event($0) }
    }

    private static func of(_ number: CallNumber) -> Parameters {
        var parameters = Parameters()
        parameters.add(number.rawValue)
        return parameters
    }

    func read<Value>(
        _ sql: SQL,
        _ parameters: Parameters,
        _ make: (Rows.Row) -> Value?
    ) throws(PostgresError) -> [Value] {
        values(try connection.run(sql, parameters), make)
    }

    private func values<Value>(_ rows: Rows, _ make: (Rows.Row) -> Value?) -> [Value] {
        (0..<rows.count).compactMap { make(rows[$0]) }
    }

    static let beginSnapshot = SQL("begin snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    /// Reads the indexes of callers and of callees backwards, each no further than the limit.
    ///
    /// The part for callers returns a call of a user to themselves, so the part for callees leaves it out.
    private static let history = SQL(
        "history",
        """
        (SELECT \(RowReader.callColumns) FROM call
            WHERE caller = $1 AND schedule IS NULL AND number <= $2 AND \(CallCondition.isNotForgotten) ORDER BY number DESC LIMIT $3)
        UNION ALL
        (SELECT \(RowReader.callColumns) FROM call
            WHERE callee = $1 AND caller <> $1 AND number <= $2 AND \(CallCondition.isNotForgotten) ORDER BY number DESC LIMIT $3)
        ORDER BY number DESC LIMIT $3
        """
    )

    private static let peers = SQL(
        "peers",
        """
        SELECT peer FROM (
            (SELECT callee AS peer, number FROM call
                WHERE caller = $1 AND callee <> $1 AND schedule IS NULL AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
                ORDER BY number DESC LIMIT $2)
            UNION ALL
            (SELECT caller AS peer, number FROM call
                WHERE callee = $1 AND caller <> $1 AND schedule IS NULL AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
                ORDER BY number DESC LIMIT $2)) AS found
        GROUP BY peer ORDER BY max(number) DESC
        """
    )

    private static let named = SQL("calls of a name", calls(named: "id = $1"))
    private static let namedByUUID = SQL("calls of a UUID", calls(named: "id IN ($1, $7)"))

    private static func calls(named condition: String) -> String {
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE \(condition) AND ($2 IS NULL OR caller = $2 OR callee = $2) AND ($3 IS NULL OR caller = $3 OR callee = $3)
            AND ($4 IS NULL OR epoch = $4) AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
            AND ($6 IS NULL OR caller = $6 AND schedule IS NULL OR callee = $6 AND (hidden IS NULL OR hidden NOT IN ('block', 'name_taken')))
        ORDER BY number DESC LIMIT $5
        """
    }

    private static let events = SQL(
        "events",
        "SELECT \(RowReader.eventColumns) FROM event WHERE call = $1 ORDER BY position"
    )

    private static let call = SQL(
        "call with log",
        "SELECT \(RowReader.callColumns) FROM call WHERE number = $1 AND log_kept AND \(CallCondition.isNotForgotten)"
    )

    private static let entries = SQL(
        "entries",
        "SELECT \(RowReader.entryColumns) FROM entry WHERE call = $1 ORDER BY seq"
    )
}
