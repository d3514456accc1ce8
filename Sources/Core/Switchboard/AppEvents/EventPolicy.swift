package import CallCore
package import CallPorts

/// The operator's settings for events to the app's backend.
package struct EventPolicy: Equatable, Sendable {
    /// The types of the events that are stored and sent; all others do not happen.
    package var types: Set<AppEventType>
    /// The addresses of the endpoints that events are delivered to; empty = events are only read in the feed.
    package var endpoints: [String]
    /// How long events are kept.
    package var keptFor: Moment.Duration
    /// The largest sum of `AppEvent.byteCount` that is kept.
    package var keptBytes: Int64

    /// The largest number of endpoints.
    package static let endpointLimit = 4

    /// Settings for these endpoints.
    package init(
        types: Set<AppEventType> = Set(AppEventType.allCases),
        endpoints: [String] = [],
        keptFor: Moment.Duration = .seconds(7 * 86_400),
        keptBytes: Int64 = 4 << 30
    ) {
        self.types = types
        self.endpoints = endpoints
        self.keptFor = keptFor
        self.keptBytes = keptBytes
    }
}
