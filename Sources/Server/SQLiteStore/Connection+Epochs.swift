import CallCore
import CallPorts
import SQLite
import Storing

/// Finds the newest epoch of a callId.
extension Connection {
    func newestEpoch(of key: CallKey) throws(SQLiteError) -> UInt32? {
        let calls = try statement(Self.ofID)
        defer { calls.reset() }
        try calls.bind(key.id.text, at: 1)
        var (count, newest) = (0, Int64(0))
        while try calls.step() {
            count += 1
            newest = max(newest, calls.int64(3))
            let users = (calls.text(0), calls.text(1))
            if users == (key.pair.low.text, key.pair.high.text) || users == (key.pair.high.text, key.pair.low.text) {
                return UInt32(calls.int64(2))
            }
        }
        guard count == EpochSearch.callsOfID else { return nil }
        let found = [
            try newestEpoch(of: key, from: key.pair.low, to: key.pair.high),
            try newestEpoch(of: key, from: key.pair.high, to: key.pair.low),
        ]
        if let epoch = found.compactMap(\.epoch).max() { return epoch }
        return found.allSatisfy(\.isComplete) ? nil : EpochSearch.bound(newest)
    }

    /// Searches the newest calls of a caller; `isComplete`: whether these were all of them.
    private func newestEpoch(
        of key: CallKey,
        from caller: UserID,
        to callee: UserID
    ) throws(SQLiteError) -> (epoch: UInt32?, isComplete: Bool) {
        let calls = try statement(Self.ofCaller)
        defer { calls.reset() }
        try calls.bind(caller.text, at: 1)
        var count = 0
        while try calls.step() {
            count += 1
            if calls.text(0) == key.id.text, calls.text(1) == callee.text { return (UInt32(calls.int64(2)), true) }
        }
        return (nil, count < EpochSearch.callsOfCaller)
    }

    private static let ofID = SQL(
        "newest calls of a callId",
        """
        SELECT caller, callee, epoch, number FROM call INDEXED BY call_by_id WHERE id = ?1 AND \(EpochSearch.isPossible)
        ORDER BY number DESC LIMIT \(EpochSearch.callsOfID)
        """
    )

    private static let ofCaller = SQL(
        "newest calls of a caller",
        """
        SELECT id, callee, epoch FROM call INDEXED BY call_by_caller WHERE caller = ?1 AND \(EpochSearch.isPossible)
        ORDER BY number DESC LIMIT \(EpochSearch.callsOfCaller)
        """
    )
}
