import CallCore
import CallPorts
import SQLite
import Storing

/// Changes of the call directory.
extension ChangeWriter {
    func write(_ change: NumberChange) throws(SQLiteError) {
        let statement = try connection.statement(Self.writeNumber)
        try statement.bind(change.owner?.text ?? "", at: 1)
        try statement.bind(change.list.rawValue, at: 2)
        for row in change.rows {
            try statement.bind(row.number.rawValue, at: 3)
            try statement.bind(row.label, at: 4)
            try statement.bind(row.version, at: 5)
            try statement.bind(row.removedAt?.milliseconds, at: 6)
            try statement.run()
        }
        let state = [change.state.version, change.state.oldest, Int64(change.state.count)]
        try connection.statement(Connection.statements.cold.countNumbers, state.map { .integer($0) }).run()
    }

    /// Deletes the oldest removed numbers, and records up to which version that was.
    func forgetRemovals(before moment: Moment) throws(SQLiteError) {
        for sql in [Self.raiseOldest, Self.deleteRemovals] {
            let statement = try connection.statement(sql)
            try statement.bind(moment.milliseconds, at: 1)
            try statement.run()
        }
    }

    private static let writeNumber = SQL(
        "write number",
        """
        INSERT OR REPLACE INTO directory (owner, list, number, label, version, removed_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """
    )

    /// Both statements that use it find the same rows: the order is complete.
    private static let oldRemovals = """
        FROM directory WHERE removed_at IS NOT NULL AND removed_at < ?1
        ORDER BY removed_at, owner, list, number LIMIT \(NumberChange.forgottenAtOnce)
        """

    private static let raiseOldest = SQL(
        "raise oldest version",
        """
        INSERT INTO meta (name, value)
        SELECT 'directory_oldest', max(version) FROM (SELECT version \(oldRemovals)) HAVING max(version) IS NOT NULL
        ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)
        """
    )

    private static let deleteRemovals = SQL(
        "forget removals",
        "DELETE FROM directory WHERE (owner, list, number) IN (SELECT owner, list, number \(oldRemovals))"
    )
}
