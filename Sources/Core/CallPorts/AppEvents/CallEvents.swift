/// The events for the app's backend that a call has.
///
/// An event of a call happens at most once, so what is kept is which of them have happened, and their number.
package struct CallEvents: Equatable, Sendable {
    /// The number of the call's events.
    package private(set) var count: UInt32 = 0
    private var types: UInt32 = 0

    /// A call without events.
    package init() {}

    /// Whether the call has an event of a type.
    package func has(_ type: AppEventType) -> Bool { types & Self.bit(type) != 0 }

    /// Records an event, and returns its number.
    package mutating func add(_ type: AppEventType) -> UInt32 {
        types |= Self.bit(type)
        count += 1
        return count
    }

    /// Records that an event happened that nobody wanted: it has no number, and is not reported later.
    package mutating func skip(_ type: AppEventType) { types |= Self.bit(type) }

    /// The bit of an event in ``stored``; 0 = a call has no such event.
    private static func bit(_ type: AppEventType) -> UInt32 {
        switch type {
        case .callStarted: 1 << 0
        case .callRinging: 1 << 1
        case .callUnreachable: 1 << 2
        case .callAnswered: 1 << 3
        case .callActive: 1 << 4
        case .callEnded: 1 << 5
        case .callMissed: 1 << 6
        case .deviceRegistered, .deviceRemoved, .pushDegraded, .pushRefused, .scheduleConfirmed, .scheduleMissed,
            .scheduleGivenUp, .eventsLost:
            0
        }
    }

    /// The events as one number, to be stored.
    package var stored: Int64 { Int64(count) << 32 | Int64(types) }

    /// Reads what ``stored`` wrote; `nil` if it is nothing of the kind.
    package init?(stored: Int64) {
        guard stored >= 0, let count = UInt32(exactly: stored >> 32) else { return nil }
        self.count = count
        types = UInt32(truncatingIfNeeded: stored)
    }
}
