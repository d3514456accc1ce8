import CallCore
import CallPorts

/// The bounds of a search for the newest epoch of a callId and two users.
///
/// There is an index of callIds and one of callers, but none of both. Nearly always the callId's newest call is between
/// the two users; but an app may use one callId for all calls of all users. So the newest calls of the callId are
/// searched, then the newest calls of each user. If neither search reaches the end, the number of the callId's newest
/// call takes the place of the epoch, because a longer search would cost too much. That number is at least as great as
/// every epoch of the callId: numbers grow with each call, and epochs by one at most.
package enum EpochSearch {
    /// The number of calls of the callId that are searched.
    package static let callsOfID = 256
    /// The number of calls of each of the two users, as callers, that are searched.
    package static let callsOfCaller = 2_048

    /// Returns an upper bound of the epoch, for a search that did not reach the end; `newest` = the number of the
    /// callId's newest call.
    package static func bound(_ newest: Int64) -> UInt32 {
        UInt32(min(max(newest, 0), StorableRange.epochs.upperBound - 1))
    }

    /// A condition that leaves out epochs and numbers that no call can have.
    package static let isPossible = """
        \(CallCondition.isPossible) AND epoch BETWEEN \(StorableRange.epochs.lowerBound) AND \(StorableRange.epochs.upperBound)
        """
}
