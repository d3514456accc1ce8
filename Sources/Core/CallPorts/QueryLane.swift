package import CallCore

/// The lanes in which queries wait, the most urgent first.
package enum QueryLane: Int, CaseIterable, Sendable {
    /// Queries for whose results a call waits.
    case call
    /// A user's own history and timelines.
    case user
    /// Pages of the call directory, and the comparison of an update with it.
    case bulk
    /// Events for the app's backend.
    case events

    /// The lane's name in metrics.
    package var name: String {
        switch self {
        case .call: "call"
        case .user: "user"
        case .bulk: "bulk"
        case .events: "events"
        }
    }
}

extension StoreQuery {
    /// The query's lane.
    package var lane: QueryLane {
        switch self {
        case .log, .epoch: .call
        case .history, .timeline, .peers: .user
        case .numbers, .numberChanges: .bulk
        case .events, .heldEvents, .eventExcess: .events
        }
    }

    /// The user for whom the query is run; `nil` = it is for no single user.
    ///
    /// Users take turns within a lane.
    package var user: UserID? {
        switch self {
        case .history(let user, _, _): user
        case .peers(let user, _): user
        case .timeline(let choice): choice.viewer
        case .numbers(let read): read.user
        case .log, .epoch, .numberChanges, .events, .heldEvents, .eventExcess: nil
        }
    }
}
