import CallPorts

/// The statements that all databases understand but for their dialect.
///
/// It is a class, so that a query copies one reference and not all texts.
package final class StoreStatements: Sendable {
    let dialect: Dialect
    /// The statements that write one row.
    package let cold: RowStatements
    /// The statements about events for the app's backend.
    package let appEvents: AppEventStatements
    let history, historyOfAll, peers, calls, callsByUUID, events, call, entries: SQLText
    let bundleIDs, registeredKinds, newestLive, newestEnded: SQLText
    /// Reads the live calls, in the order of their numbers.
    package let liveCalls: SQLText
    let endedWithLog, lastCall, numberState, blockedNumbers, list, changeCount, changes: SQLText

    /// The statements in a dialect.
    /// - Parameters:
    ///   - dialect: The database's dialect.
    ///   - changeCount: Counts the changes of a user's list ($1, $2) since a version ($3), at most $4.
    ///   - changes: Selects what has changed in a user's list ($1, $2) since a version ($3), after a number ($4), at
    ///     most $5 rows as `RowReader.number` reads them. A user's own entry takes the place of the one for all users;
    ///     a number with neither was removed.
    package init(_ dialect: Dialect, changeCount: String, changes: String) {
        self.dialect = dialect
        cold = RowStatements(dialect)
        appEvents = AppEventStatements(dialect)
        history = dialect.statement("history", Self.historyText)
        historyOfAll = dialect.statement("history of all", Self.historyOfAllText)
        peers = dialect.statement("peers", Self.peersText)
        calls = dialect.statement("calls of a name", Self.callsText("id = $1"))
        callsByUUID = dialect.statement("calls of a UUID", Self.callsText("id IN ($1, $7)"))
        let event = "SELECT \(RowReader.eventColumns) FROM event WHERE call = $1 ORDER BY position"
        events = dialect.statement("events", event)
        let call = "SELECT \(RowReader.callColumns) FROM call WHERE"
        self.call = dialect.statement(
            "call with log",
            "\(call) number = $1 AND \(dialect.hasLog) AND \(CallCondition.isNotForgotten)"
        )
        let entry = "SELECT \(RowReader.entryColumns) FROM entry WHERE call = $1 ORDER BY seq"
        entries = dialect.statement("entries", entry)
        let apps = "SELECT DISTINCT bundle_id FROM device WHERE bundle_id <> '' ORDER BY bundle_id LIMIT $1"
        bundleIDs = dialect.statement("apps", apps)
        registeredKinds = dialect.statement("registered kinds", RowReader.registeredKinds)
        // A live call always has its log, so the index `call_with_log` finds it.
        let isLive = "\(dialect.hasLog) AND ended_at IS NULL"
        let newest = "AND \(CallCondition.isPossible) ORDER BY number DESC LIMIT $1"
        newestLive = dialect.statement("newest live calls", "\(call) \(isLive) \(newest)")
        newestEnded = dialect.statement("newest ended calls", "\(call) ended_at IS NOT NULL \(newest)")
        liveCalls = dialect.statement("live calls", "\(call) \(isLive) ORDER BY number")
        endedWithLog = dialect.statement("ended calls with log", Self.endedWithLogText(dialect))
        lastCall = dialect.statement("last call number", Self.lastCallText(dialect))
        numberState = dialect.statement("directory state", RowReader.numberState)
        let blocked = "SELECT owner, number FROM directory WHERE list = 1 AND removed_at IS NULL"
        blockedNumbers = dialect.statement("blocked numbers", blocked)
        list = dialect.statement("numbers of an owner", Self.listText)
        self.changeCount = dialect.statement("count of changes", changeCount)
        self.changes = dialect.statement("changed numbers", changes)
    }
}

extension StoreStatements {
    /// Reads two indexes, each backwards and no further than the limit.
    ///
    /// A user's call to themself is found by the first index only.
    private static let historyText = """
        SELECT * FROM (
            SELECT \(RowReader.callColumns) FROM call
            WHERE caller = $1 AND schedule IS NULL AND number <= $2
                AND \(CallCondition.isCall) AND \(CallCondition.isNotForgotten)
            ORDER BY number DESC LIMIT $3) AS made
        UNION ALL
        SELECT * FROM (
            SELECT \(RowReader.callColumns) FROM call
            WHERE callee = $1 AND caller <> $1 AND number <= $2
                AND \(CallCondition.isCall) AND \(CallCondition.isNotForgotten)
            ORDER BY number DESC LIMIT $3) AS received
        ORDER BY number DESC LIMIT $3
        """

    private static let historyOfAllText = """
        SELECT \(RowReader.callColumns) FROM call
        WHERE number <= $1 AND \(CallCondition.isCall) AND \(CallCondition.isPossible)
            AND \(CallCondition.isNotForgotten)
        ORDER BY number DESC LIMIT $2
        """

    private static let peersText = """
        SELECT peer FROM (
            SELECT * FROM (
                SELECT callee AS peer, number FROM call
                WHERE caller = $1 AND callee <> $1 AND schedule IS NULL AND \(CallCondition.isCall)
                    AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
                ORDER BY number DESC LIMIT $2) AS made
            UNION ALL
            SELECT * FROM (
                SELECT caller AS peer, number FROM call
                WHERE callee = $1 AND caller <> $1 AND schedule IS NULL AND \(CallCondition.isCall)
                    AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
                ORDER BY number DESC LIMIT $2) AS received) AS found
        GROUP BY peer ORDER BY max(number) DESC
        """

    private static func callsText(_ condition: String) -> String {
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE \(condition) AND ($2 IS NULL OR caller = $2 OR callee = $2) AND ($3 IS NULL OR caller = $3 OR callee = $3)
            AND ($4 IS NULL OR epoch = $4) AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
            AND ($6 IS NULL OR caller = $6 AND schedule IS NULL AND \(CallCondition.isCall)
                OR callee = $6 AND (hidden IS NULL OR hidden = 'dnd'))
        ORDER BY number DESC LIMIT $5
        """
    }

    /// Excludes calls whose deletion has begun.
    private static func endedWithLogText(_ dialect: Dialect) -> String {
        """
        SELECT \(RowReader.endedColumns(legs: "CASE WHEN \(dialect.hasUninformedLegs) THEN legs END")) FROM call
        WHERE \(dialect.hasLog) AND ended_at IS NOT NULL AND \(CallCondition.isNotForgotten) ORDER BY number
        """
    }

    private static func lastCallText(_ dialect: Dialect) -> String {
        """
        SELECT \(dialect.greatest)(coalesce((SELECT value FROM meta WHERE name = 'last_call_number'), 0),
                coalesce((SELECT max(number) FROM call WHERE \(CallCondition.isPossible)), 0)),
            (SELECT started_at FROM call
             WHERE \(CallCondition.isPossible)
                AND started_at BETWEEN \(StorableRange.moments.lowerBound) AND \(StorableRange.moments.upperBound)
             ORDER BY number DESC LIMIT 1)
        """
    }

    private static let listText = """
        SELECT number, label, version, removed_at FROM directory
        WHERE owner = $1 AND list = $2 AND number > $3 ORDER BY number LIMIT $4
        """
}
