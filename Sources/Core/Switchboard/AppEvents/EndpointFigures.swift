package import CallCore
import CallPorts

/// What the metrics tell about the delivery to an endpoint.
package struct EndpointFigures: Equatable, Sendable {
    /// The endpoint's address.
    package var url = ""
    /// The number of events that the endpoint has accepted, in this run.
    package var delivered: UInt64 = 0
    /// The number of failed attempts, in this run, by the kind of failure.
    package private(set) var failed: [Failure: UInt64] = [:]
    /// The number of parked events.
    package var parked = 0
    /// The number of events after the one up to which all were delivered or are held.
    package var waiting: Int64 = 0
    /// When the oldest event in memory that was not delivered happened; `nil` = none is in memory.
    package var oldestAt: Moment?
    /// The age of that event in seconds; 0 = none is in memory.
    package var oldestSeconds = 0
    /// Whether the endpoint is down.
    package var isDown = false
    /// Whether the endpoint has said that it is gone.
    package var isStopped = false

    /// The kinds of failed attempts.
    package enum Failure: String, CaseIterable, Sendable {
        /// A redirect, which is not followed.
        case redirect = "3xx"
        /// The endpoint does not want the event.
        case refused = "4xx"
        /// The endpoint could not handle the event.
        case error = "5xx"
        /// There was no response.
        case unreachable
        /// Another status, which is no result.
        case other
    }

    /// Counts a failed attempt.
    mutating func count(_ result: DeliveryResult) {
        let kind: Failure =
            switch result {
            case .response(300...399, _): .redirect
            case .response(400...499, _): .refused
            case .response(500...599, _): .error
            case .response: .other
            case .unreachable: .unreachable
            }
        failed[kind, default: 0] += 1
    }
}

extension EventDelivery {
    /// The figures as they are now.
    var currentFigures: EndpointFigures {
        var figures = figures
        figures.url = endpoint.url
        figures.parked = endpoint.parkedCount
        figures.waiting = max(0, newest.rawValue - endpoint.settledUpTo.rawValue)
        figures.oldestAt = [window.first?.event.at, retries.oldest].compactMap { $0 }.min()
        figures.isDown = down != nil
        figures.isStopped = isStopped
        return figures
    }
}
