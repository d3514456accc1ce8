package import CallCore

/// An endpoint of the app's backend that events are delivered to, as it is stored.
package struct EventEndpoint: Equatable, Sendable {
    /// The address to which events are posted; it identifies the endpoint.
    package var url: String
    /// Every event up to this position was delivered, or is held (``HeldEvent``).
    package var settledUpTo: EventPosition
    /// When the endpoint said that it is gone (410); `nil` = it is not.
    package var stoppedAt: Moment?
    /// The number of held events that are parked.
    package var parkedCount: Int

    /// An endpoint with the given members.
    package init(url: String, settledUpTo: EventPosition, stoppedAt: Moment? = nil, parkedCount: Int = 0) {
        self.url = url
        self.settledUpTo = settledUpTo
        self.stoppedAt = stoppedAt
        self.parkedCount = parkedCount
    }

    /// Returns an endpoint's address as logs and tables show it: without its query, which may contain a key.
    package static func shown(_ url: String) -> String { String(url.prefix { $0 != "?" }) }
}

/// An event that could not be delivered to an endpoint yet, and that later events of other calls do not wait for.
package struct HeldEvent: Equatable, Sendable {
    /// The endpoint's address.
    package var url: String
    /// The event's position.
    package var position: EventPosition
    /// The call that the event is about; `nil` = none.
    package var call: CallNumber?
    /// What the event waits for.
    package var state: State
    /// The number of attempts so far.
    package var attempts: Int
    /// When the event was first tried; if it was not, when it was held.
    package var since: Moment

    /// What a held event waits for.
    package enum State: Equatable, Sendable {
        /// The next attempt, at a moment.
        case retry(at: Moment)
        /// An earlier held event of its call.
        case behind
        /// An operator (`ringline events resend`): it was tried for too long, or an earlier event of its call is parked.
        case parked

        /// The moment of the next attempt; `nil` = there is none.
        package var retryAt: Moment? { if case .retry(let moment) = self { moment } else { nil } }
    }

    /// A held event with the given members.
    package init(
        url: String,
        position: EventPosition,
        call: CallNumber?,
        state: State,
        attempts: Int,
        since: Moment
    ) {
        self.url = url
        self.position = position
        self.call = call
        self.state = state
        self.attempts = attempts
        self.since = since
    }
}

/// What a start needs of the events.
package struct StoredEvents: Equatable, Sendable {
    /// The incarnation of the database.
    package var incarnation = EventIncarnation.first
    /// The position of the newest event; ``EventPosition/start`` when there was none.
    package var newest = EventPosition.start
    /// The endpoints, in the order of their addresses.
    package var endpoints: [EventEndpoint] = []

    /// A database without events.
    package init() {}
}
