package import CallCore

/// An event for the app's backend (protocol, section 13), as it is stored.
///
/// It is stored in the commit of the decision that it reports: the event exists if and only if the decision is durable.
package struct AppEvent: Equatable, Sendable {
    /// Its position among all events.
    package var position: EventPosition
    /// The incarnation of the database in which it was written.
    package var incarnation: EventIncarnation
    /// When the event happened, by the wall clock.
    package var at: Moment
    /// Its type.
    package var type: AppEventType
    /// The call that it is about; `nil` = it is about none.
    package var call: CallNumber?
    /// Its number among the events of its call, from 1; 0 = it is about no call.
    package var number: UInt32
    /// The user that it is about, if it is about no call.
    package var user: UserID?
    /// The member `data`, a JSON object in UTF-8; it never changes, except when a user is erased.
    package var data: [UInt8]

    /// An event with the given members.
    package init(
        position: EventPosition,
        incarnation: EventIncarnation,
        at: Moment,
        type: AppEventType,
        call: CallNumber? = nil,
        number: UInt32 = 0,
        user: UserID? = nil,
        data: [UInt8]
    ) {
        self.position = position
        self.incarnation = incarnation
        self.at = at
        self.type = type
        self.call = call
        self.number = number
        self.user = user
        self.data = data
    }

    /// The bytes of the event that count towards the limit on stored events: its data and what every row needs.
    package var byteCount: Int { data.count + Self.rowBytes }

    /// The bytes that a row needs besides its data, a round figure.
    package static let rowBytes = 100
}

/// The position of an event among all events, in the order of their commits; counts up from 1, without gaps.
///
/// Positions go on after a backup was restored; so the same position may be another event's in another incarnation.
package struct EventPosition: Hashable, Comparable, Sendable {
    /// The position; 0 = before the first event.
    package let rawValue: Int64

    /// The position with this value.
    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// The position before the first event.
    package static let start = EventPosition(rawValue: 0)

    /// The position before this one.
    package var previous: EventPosition { EventPosition(rawValue: rawValue - 1) }

    /// The position after this one.
    package var next: EventPosition { EventPosition(rawValue: rawValue + 1) }

    /// Whether `a` comes before `b`.
    @inlinable
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The incarnation of a database: 1, or the Unix time in seconds at which a backup was last restored.
///
/// A restoration loses the events after the backup, and readers may have seen them. So ids and cursors name the
/// incarnation.
package struct EventIncarnation: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt32

    /// The incarnation with this number.
    @inlinable
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The incarnation of a database that was never restored.
    package static let first = EventIncarnation(rawValue: 1)
}

/// The types of events; a receiver must expect further ones.
package enum AppEventType: String, CaseIterable, Sendable {
    /// A call began.
    case callStarted = "call.started"
    /// The first device alerts its user.
    case callRinging = "call.ringing"
    /// Nobody can be rung any more, while the caller still waits.
    case callUnreachable = "call.unreachable"
    /// A device answered.
    case callAnswered = "call.answered"
    /// Media flows.
    case callActive = "call.active"
    /// The call ended; every call that started has exactly one.
    case callEnded = "call.ended"
    /// The callee has the call as missed.
    case callMissed = "call.missed"
    /// A device was registered, or changed what it registered.
    case deviceRegistered = "device.registered"
    /// A device, or one of its push tokens, was removed.
    case deviceRemoved = "device.removed"
    /// A device is rung by alerts from now on, because it did not react to VoIP pushes.
    case pushDegraded = "push.degraded"
    /// A push service refuses pushes for a reason that concerns many devices.
    case pushRefused = "push.refused"
    /// A user confirmed a scheduled call.
    case scheduleConfirmed = "schedule.confirmed"
    /// A scheduled call was missed.
    case scheduleMissed = "schedule.missed"
    /// A scheduled call is not rung again although nobody confirmed it.
    case scheduleGivenUp = "schedule.given_up"
    /// Events were deleted before they were delivered.
    case eventsLost = "events.lost"
}

extension AppEventType {
    /// A pattern that fits no type.
    package struct UnknownPattern: Error {
        /// The pattern.
        package let pattern: String
    }

    /// Returns the types of a list such as `call.*,device.removed`, in which `*` at the end of a pattern stands for any
    /// rest.
    package static func matching(_ list: String) throws(UnknownPattern) -> Set<Self> {
        var types: Set<Self> = []
        for part in list.split(separator: ",", omittingEmptySubsequences: false) {
            let pattern = part.filter { $0 != " " }
            let found = allCases.filter { type in
                pattern.hasSuffix("*") ? type.rawValue.hasPrefix(pattern.dropLast()) : type.rawValue == pattern
            }
            guard !found.isEmpty else { throw UnknownPattern(pattern: String(pattern)) }
            types.formUnion(found)
        }
        return types
    }
}

/// A set of types of events, as the bits of one number: it is asked for each event, and nothing is hashed.
package struct AppEventTypes: Sendable {
    private let bits: UInt32

    /// The types of a set.
    package init(_ types: Set<AppEventType>) { bits = types.reduce(0) { $0 | 1 << UInt32($1.index) } }

    /// Whether a type is in the set.
    package func contains(_ type: AppEventType) -> Bool { bits & 1 << UInt32(type.index) != 0 }
}

extension AppEventType {
    /// The place of the type in `allCases`.
    package var index: Int {
        switch self {
        case .callStarted: 0
        case .callRinging: 1
        case .callUnreachable: 2
        case .callAnswered: 3
        case .callActive: 4
        case .callEnded: 5
        case .callMissed: 6
        case .deviceRegistered: 7
        case .deviceRemoved: 8
        case .pushDegraded: 9
        case .pushRefused: 10
        case .scheduleConfirmed: 11
        case .scheduleMissed: 12
        case .scheduleGivenUp: 13
        case .eventsLost: 14
        }
    }
}
