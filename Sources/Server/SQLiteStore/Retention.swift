import CallPorts
import SQLite

/// Deletes old history in slices, so that the deletion of a whole day never delays the current commits.
///
/// The change `historyForgotten` only records in `meta` which calls must go. From then on no query sees these calls.
/// Their rows are deleted in the transactions that follow, after a restart as well.
struct Retention {
    /// The maximum number of calls that one transaction deletes, which takes some milliseconds.
    static let slice = 100

    private let connection: Connection
    /// Whether there may be more to delete.
    private(set) var isUnfinished = true

    init(_ connection: Connection) { self.connection = connection }

    /// Records that a change asked for more deletions.
    mutating func begin() { isUnfinished = true }

    /// Deletes the next slice of calls, within the transaction that is open.
    mutating func proceed() throws(SQLiteError) {
        let next = try connection.statement(Self.next)
        var numbers: [Int64] = []
        while try next.step() { numbers.append(next.int64(0)) }
        if let last = numbers.filter(StorableRange.numbers.contains).max() {
            let keep = try connection.statement(Self.keepLastNumber)
            try keep.bind(last, at: 1)
            try keep.run()
        }
        for number in numbers {
            for sql in Self.deletions {
                let statement = try connection.statement(sql)
                try statement.bind(number, at: 1)
                try statement.run()
            }
        }
        if numbers.count < Self.slice { try connection.statement(Self.end).run() }
    }

    /// Updates ``isUnfinished`` after a transaction was committed.
    mutating func committed() throws(SQLiteError) {
        let pending = try connection.statement(Self.pending)
        isUnfinished = try pending.step()
        pending.reset()
    }

    private static let next = SQL(
        "forgettable calls",
        """
        SELECT number FROM call
        WHERE ended_at IS NOT NULL AND ended_at < (SELECT value FROM meta WHERE name = 'forgetting_before')
        ORDER BY ended_at LIMIT \(slice)
        """
    )
    private static let keepLastNumber = SQL(
        "keep last number",
        "UPDATE meta SET value = max(value, ?1) WHERE name = 'last_call_number'"
    )
    private static let deletions =
        ["entry", "event"].map { SQL("forget \($0)", "DELETE FROM \($0) WHERE call = ?1") }
        + [SQL("forget call", "DELETE FROM call WHERE number = ?1")]
    private static let end = SQL("end forgetting", "DELETE FROM meta WHERE name = 'forgetting_before'")
    private static let pending = SQL("is forgetting", "SELECT 1 FROM meta WHERE name = 'forgetting_before'")
}
