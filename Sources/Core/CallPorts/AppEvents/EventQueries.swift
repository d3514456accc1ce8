package import CallCore

/// A read of stored events, in the order of their positions.
package struct EventRead: Equatable, Sendable {
    /// Only events after this position are read.
    package var after: EventPosition
    /// Only events up to this position are read; `nil` = up to the newest.
    package var upTo: EventPosition?
    /// The types that are wanted; `nil` = all.
    package var types: Set<AppEventType>?
    /// The callId of the calls whose events are wanted; `nil` = all events.
    package var callID: CallID?
    /// The largest number of events, at most ``limit``.
    package var count: Int

    /// The largest number of events that one query reads.
    package static let limit = 4_096
    /// The number of rows that a query with a filter looks at, at most; the page may then have fewer events than there
    /// are (``EventPage/readUpTo``).
    package static let searched = 16_384

    /// A read with the given members.
    package init(
        after: EventPosition,
        upTo: EventPosition? = nil,
        types: Set<AppEventType>? = nil,
        callID: CallID? = nil,
        count: Int
    ) {
        self.after = after
        self.upTo = upTo
        self.types = types
        self.callID = callID
        self.count = count
    }
}

/// The result of an ``EventRead``.
package struct EventPage: Equatable, Sendable {
    /// The events.
    package var events: [AppEvent]
    /// Every event up to this position that the read wants is in the page, or was in an earlier one.
    package var readUpTo: EventPosition
    /// The position of the oldest stored event; `nil` = none is stored.
    package var oldest: EventPosition?

    /// A page with the given members.
    package init(events: [AppEvent], readUpTo: EventPosition, oldest: EventPosition?) {
        self.events = events
        self.readUpTo = readUpTo
        self.oldest = oldest
    }
}

/// A read of held events of an endpoint, in the order of their positions unless said otherwise.
package struct HeldRead: Equatable, Sendable {
    /// The endpoint's address.
    package var url: String
    /// Which of them are read.
    package var choice: Choice
    /// The largest number of events, at most ``EventRead/limit``.
    package var count: Int

    /// A choice among held events.
    package enum Choice: Equatable, Sendable {
        /// Those that wait for an attempt, by the moment of the attempt.
        case retries
        /// Those of a call after a position.
        case ofCall(CallNumber, after: EventPosition)
        /// Those of these calls, in any state; of each call only the first.
        case ofCalls([CallNumber])
        /// Those after a position, in any state: those that an earlier run held beyond what it had settled.
        case after(EventPosition)
        /// The parked ones after a position.
        case parked(after: EventPosition)
    }

    /// A read with the given members.
    package init(url: String, _ choice: Choice, count: Int) {
        self.url = url
        self.choice = choice
        self.count = count
    }
}

/// A held event with its content; `event` is `nil` if it was deleted.
package struct HeldContent: Equatable, Sendable {
    /// The held event.
    package var held: HeldEvent
    /// Its content.
    package var event: AppEvent?

    /// A held event with its content.
    package init(held: HeldEvent, event: AppEvent?) {
        self.held = held
        self.event = event
    }
}

/// The bounds on stored events.
package struct EventBounds: Equatable, Sendable {
    /// Events before this moment may be deleted.
    package var before: Moment
    /// The largest sum of ``AppEvent/byteCount``.
    package var bytes: Int64

    /// These bounds.
    package init(before: Moment, bytes: Int64) {
        self.before = before
        self.bytes = bytes
    }
}

/// What the bounds on stored events demand, in portions of at most ``EventRead/limit`` events.
package struct EventExcess: Equatable, Sendable {
    /// The events up to this position are to be deleted; `nil` = none.
    package var upTo: EventPosition?
    /// Whether the held ones among them stay: the bound on bytes is kept without deleting them.
    package var keepsHeld: Bool
    /// How many of the events to be deleted were not delivered to every endpoint.
    package var lostCount: Int
    /// Whether more is to be deleted afterwards.
    package var hasMore: Bool

    /// An excess with the given members.
    package init(upTo: EventPosition?, keepsHeld: Bool = false, lostCount: Int = 0, hasMore: Bool = false) {
        self.upTo = upTo
        self.keepsHeld = keepsHeld
        self.lostCount = lostCount
        self.hasMore = hasMore
    }
}
