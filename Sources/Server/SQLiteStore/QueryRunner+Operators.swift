import CallCore
import CallPorts
import SQLite
import Storing

/// The queries that only operators ask.
extension QueryRunner {
    /// Returns the bundle ids of all devices' apps, in alphabetical order.
    func bundleIDs(limit: Int) throws(StoreFailure) -> [String] {
        try reading { () throws -> [String] in
            let rows = try connection.statement(
                SQL("apps", "SELECT DISTINCT bundle_id FROM device WHERE bundle_id <> '' ORDER BY bundle_id LIMIT ?1")
            )
            defer { rows.reset() }
            try rows.bind(Int64(limit), at: 1)
            var found: [String] = []
            while try rows.step() { found.append(rows.text(0)) }
            return found
        }
    }

    /// Returns the kinds of push for which at least one device has a token.
    func registeredKinds() throws(StoreFailure) -> Set<PushKind> {
        try reading { () throws -> Set<PushKind> in
            let row = try connection.statement(SQL("registered kinds", RowReader.registeredKinds))
            defer { row.reset() }
            guard try row.step() else { return [] }
            return RowReader.kinds(row)
        }
    }

    /// Returns the calls that have not ended, newest first.
    func liveCalls(limit: Int) throws(StoreFailure) -> [CallRecord] { try calls(Self.live, limit: limit) }

    /// Returns the calls that have ended, newest first.
    func endedCalls(limit: Int) throws(StoreFailure) -> [CallRecord] { try calls(Self.ended, limit: limit) }

    private func calls(_ query: SQL, limit: Int) throws(StoreFailure) -> [CallRecord] {
        try reading { () throws -> [CallRecord] in
            let rows = try connection.statement(query)
            defer { rows.reset() }
            try rows.bind(Int64(limit), at: 1)
            var calls: [CallRecord] = []
            while try rows.step() { if let call = RowReader(damages: damages).call(rows) { calls.append(call) } }
            return calls
        }
    }

    /// A live call always has its log, so the index `call_with_log` finds it.
    private static let live = SQL(
        "live calls",
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE log_kept = 1 AND ended_at IS NULL AND \(CallCondition.isPossible) ORDER BY number DESC LIMIT ?1
        """
    )

    private static let ended = SQL(
        "ended calls",
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE ended_at IS NOT NULL AND \(CallCondition.isPossible) ORDER BY number DESC LIMIT ?1
        """
    )
}
