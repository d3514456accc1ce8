import CallPorts

/// The statements that all databases understand but for their dialect.
package struct StoreSentences: Sendable {
    let dialect: Dialect
    package let cold: ColdSentences
    let history, peers, calls, callsByUUID, events, call, entries: Sentence
    let bundleIDs, registeredKinds, newestLive, newestEnded: Sentence
    package let liveCalls: Sentence
    let endedWithLog, lastCall, numberState, blockedNumbers, list, changeCount, changes: Sentence

    /// The statements in a dialect.
    /// - Parameters:
    ///   - dialect: The database's dialect.
    ///   - changeCount: Counts the changes of a user's list ($1, $2) since a version ($3), at most $4.
    ///   - changes: Selects what has changed in a user's list ($1, $2) since a version ($3), after a number ($4), at most
    ///     $5 rows as `RowReader.number` reads them. A user's own entry takes the place of the one for all users; a number
    ///     with neither was removed.
    package init(_ dialect: Dialect, changeCount: String, changes: String) {
        self.dialect = dialect
        cold = ColdSentences(dialect)
        // Two indexes are read backwards, each no further than the limit. A user's call to themself is found by the first
        // one only.
        history = dialect.sentence(
            "history",
            """
            SELECT * FROM (
                SELECT \(RowReader.callColumns) FROM call
                WHERE caller = $1 AND schedule IS NULL AND number <= $2 AND \(CallCondition.isNotForgotten)
                ORDER BY number DESC LIMIT $3) AS made
            UNION ALL
            SELECT * FROM (
                SELECT \(RowReader.callColumns) FROM call
                WHERE callee = $1 AND caller <> $1 AND number <= $2 AND \(CallCondition.isNotForgotten)
                ORDER BY number DESC LIMIT $3) AS received
            ORDER BY number DESC LIMIT $3
            """
        )
        let isShown = "schedule IS NULL AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)"
        peers = dialect.sentence(
            "peers",
            """
            SELECT peer FROM (
                SELECT * FROM (
                    SELECT callee AS peer, number FROM call WHERE caller = $1 AND callee <> $1 AND \(isShown)
                    ORDER BY number DESC LIMIT $2) AS made
                UNION ALL
                SELECT * FROM (
                    SELECT caller AS peer, number FROM call WHERE callee = $1 AND caller <> $1 AND \(isShown)
                    ORDER BY number DESC LIMIT $2) AS received) AS found
            GROUP BY peer ORDER BY max(number) DESC
            """
        )
        func calls(_ name: String, _ condition: String) -> Sentence {
            dialect.sentence(
                name,
                """
                SELECT \(RowReader.callColumns) FROM call
                WHERE \(condition) AND ($2 IS NULL OR caller = $2 OR callee = $2)
                    AND ($3 IS NULL OR caller = $3 OR callee = $3) AND ($4 IS NULL OR epoch = $4)
                    AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
                    AND ($6 IS NULL OR caller = $6 AND schedule IS NULL
                        OR callee = $6 AND (hidden IS NULL OR hidden NOT IN ('block', 'name_taken')))
                ORDER BY number DESC LIMIT $5
                """
            )
        }
        self.calls = calls("calls of a name", "id = $1")
        callsByUUID = calls("calls of a UUID", "id IN ($1, $7)")
        events = dialect.sentence(
            "events",
            "SELECT \(RowReader.eventColumns) FROM event WHERE call = $1 ORDER BY position"
        )
        let selectCall = "SELECT \(RowReader.callColumns) FROM call WHERE"
        call = dialect.sentence(
            "call with log",
            "\(selectCall) number = $1 AND \(dialect.hasLog) AND \(CallCondition.isNotForgotten)"
        )
        entries = dialect.sentence(
            "entries",
            "SELECT \(RowReader.entryColumns) FROM entry WHERE call = $1 ORDER BY seq"
        )
        bundleIDs = dialect.sentence(
            "apps",
            "SELECT DISTINCT bundle_id FROM device WHERE bundle_id <> '' ORDER BY bundle_id LIMIT $1"
        )
        registeredKinds = dialect.sentence("registered kinds", RowReader.registeredKinds)
        // A live call always has its log, so the index `call_with_log` finds it.
        let (isLive, newest) = ("\(dialect.hasLog) AND ended_at IS NULL", "ORDER BY number DESC LIMIT $1")
        newestLive = dialect.sentence(
            "newest live calls",
            "\(selectCall) \(isLive) AND \(CallCondition.isPossible) \(newest)"
        )
        newestEnded = dialect.sentence(
            "newest ended calls",
            "\(selectCall) ended_at IS NOT NULL AND \(CallCondition.isPossible) \(newest)"
        )
        liveCalls = dialect.sentence("live calls", "\(selectCall) \(isLive) ORDER BY number")
        let uninformed = "CASE WHEN \(dialect.hasUninformedLegs) THEN legs END"
        endedWithLog = dialect.sentence(
            "ended calls with log",
            """
            SELECT \(RowReader.endedColumns(legs: uninformed)) FROM call
            WHERE \(dialect.hasLog) AND ended_at IS NOT NULL AND \(CallCondition.isNotForgotten) ORDER BY number
            """
        )
        let moments = StorableRange.moments
        lastCall = dialect.sentence(
            "last call number",
            """
            SELECT \(dialect.greatest)(coalesce((SELECT value FROM meta WHERE name = 'last_call_number'), 0),
                    coalesce((SELECT max(number) FROM call WHERE \(CallCondition.isPossible)), 0)),
                (SELECT started_at FROM call
                 WHERE \(CallCondition.isPossible)
                    AND started_at BETWEEN \(moments.lowerBound) AND \(moments.upperBound)
                 ORDER BY number DESC LIMIT 1)
            """
        )
        numberState = dialect.sentence("directory state", RowReader.numberState)
        blockedNumbers = dialect.sentence(
            "blocked numbers",
            "SELECT owner, number FROM directory WHERE list = 1 AND removed_at IS NULL"
        )
        list = dialect.sentence(
            "numbers of an owner",
            """
            SELECT number, label, version, removed_at FROM directory
            WHERE owner = $1 AND list = $2 AND number > $3 ORDER BY number LIMIT $4
            """
        )
        self.changeCount = dialect.sentence("count of changes", changeCount)
        self.changes = dialect.sentence("changed numbers", changes)
    }
}
