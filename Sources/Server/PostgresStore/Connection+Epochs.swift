import CallCore
import CallPorts
import Postgres
import Storing

/// Finds the newest epoch of a callId.
extension Connection {
    func newestEpoch(of key: CallKey) throws(PostgresError) -> UInt32? {
        var users = Parameters()
        users.add(key.id.text)
        users.add(key.pair.low.text)
        users.add(key.pair.high.text)
        var id = Parameters()
        id.add(key.id.text)
        let found = try run([Step(Self.ofID, users), Step(Self.extent, id)])
        if let row = found[0].first { return UInt32(row.int64(0)) }
        guard let extent = found[1].first, extent.int64(0) == EpochSearch.callsOfID else { return nil }
        guard let row = try run(Self.ofCallers, users).first else { return nil }
        if let epoch = row.optionalInt64(0) { return UInt32(epoch) }
        return row.int64(1) < EpochSearch.callsOfCaller ? nil : EpochSearch.bound(extent.int64(1))
    }

    /// The order of the inner query is that of the outer one, so that the search ends at the first call of the two users.
    private static let ofID = SQL(
        "newest epoch of a callId",
        """
        SELECT epoch FROM (
            SELECT epoch, caller, callee, number FROM call WHERE id = $1 AND \(EpochSearch.isPossible)
            ORDER BY number DESC LIMIT \(EpochSearch.callsOfID)) AS newest
        WHERE caller = $2 AND callee = $3 OR caller = $3 AND callee = $2 ORDER BY number DESC LIMIT 1
        """
    )

    private static let extent = SQL(
        "number of calls of a callId",
        """
        SELECT count(*), coalesce(max(number), 0) FROM (
            SELECT number FROM call WHERE id = $1 AND \(CallCondition.isPossible)
            ORDER BY number DESC LIMIT \(EpochSearch.callsOfID)) AS newest
        """
    )

    /// Returns the newest epoch among the newest calls of both users, and the greater number of their calls.
    private static let ofCallers = SQL(
        "newest epoch of two callers",
        """
        WITH calls AS MATERIALIZED (
            (SELECT id, caller, callee, epoch FROM call WHERE caller = $2 AND \(EpochSearch.isPossible)
                ORDER BY number DESC LIMIT \(EpochSearch.callsOfCaller))
            UNION ALL
            (SELECT id, caller, callee, epoch FROM call WHERE caller = $3 AND $3 <> $2 AND \(EpochSearch.isPossible)
                ORDER BY number DESC LIMIT \(EpochSearch.callsOfCaller)))
        SELECT max(epoch) FILTER (WHERE id = $1 AND (caller = $2 AND callee = $3 OR caller = $3 AND callee = $2)),
            greatest(count(*) FILTER (WHERE caller = $2), count(*) FILTER (WHERE caller = $3))
        FROM calls
        """
    )
}
