import CallPorts
import Postgres

/// Deletes old history in slices, so that the deletion of a whole day never delays the current commits.
///
/// The change `historyForgotten` only records in `meta` which calls must go. From then on no query sees these calls.
/// Their rows are deleted in the transactions that follow, after a restart as well.
struct Retention {
    /// The maximum number of calls that one transaction deletes, which takes some milliseconds.
    static let slice = 100

    /// Whether there may be more to delete.
    private(set) var isUnfinished = true

    /// Records that a change asked for more deletions.
    mutating func begin() { isUnfinished = true }

    /// The statements that delete the next slice of calls; they belong into the transaction of a commit.
    static let steps = [deletion, end, pending].map { Connection.Step($0) }

    /// Updates ``isUnfinished`` after a transaction with ``steps`` was committed; `rows` is the result of the last
    /// step.
    mutating func committed(_ rows: Rows) { isUnfinished = rows.count > 0 }

    private static let deletion = SQL(
        "forget calls",
        """
        WITH gone AS (
            DELETE FROM call WHERE number IN (
                SELECT number FROM call
                WHERE ended_at IS NOT NULL AND ended_at < (SELECT value FROM meta WHERE name = 'forgetting_before')
                ORDER BY ended_at LIMIT \(slice))
            RETURNING number
        ), entries AS (
            DELETE FROM entry WHERE call IN (SELECT number FROM gone)
        ), events AS (
            DELETE FROM event WHERE call IN (SELECT number FROM gone)
        )
        UPDATE meta SET value = greatest(value, (
            SELECT max(number) FROM gone
            WHERE number BETWEEN \(StorableRange.numbers.lowerBound) AND \(StorableRange.numbers.upperBound)))
        WHERE name = 'last_call_number'
        """
    )
    private static let end = SQL(
        "end forgetting",
        """
        DELETE FROM meta WHERE name = 'forgetting_before'
            AND NOT EXISTS (SELECT FROM call WHERE ended_at IS NOT NULL AND ended_at < meta.value)
        """
    )
    private static let pending = SQL("is forgetting", "SELECT 1 FROM meta WHERE name = 'forgetting_before'")
}
