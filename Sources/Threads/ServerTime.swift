/// The time that the server goes by: elapsed time is the boot clock's, the date follows the wall clock slowly.
///
/// Deadlines and records are counted in ``now``, which never leaps and never goes back: it begins at the wall clock, goes on
/// with the boot clock, and is slewed towards the wall clock. A wall clock that differs by more than ``leapMilliseconds`` has
/// leapt; ``now`` ignores it until it has stood for ``acceptedAfterMilliseconds``. From then on ``date`` is the wall clock's,
/// and ``now`` is slewed towards it.
///
/// Pure: readings are handed in. See Decision 0010.
package struct ServerTime: Sendable {
    /// A change that an operator should know of.
    package enum Event: Equatable, Sendable {
        /// The wall clock suddenly differs by so much (wall clock − ``ServerTime/now``).
        case leapt(milliseconds: Int64)
        /// The wall clock has stood for a while since its leap, by so much away from ``ServerTime/now``.
        case accepted(milliseconds: Int64)
        /// The wall clock and ``ServerTime/now`` agree again.
        case agrees
    }

    /// A larger difference between the clocks is a leap; what NTP corrects on a machine that runs well is far below a second.
    package static let leapMilliseconds: Int64 = 10_000
    /// For how long the wall clock must stand after a leap until dates are taken from it.
    package static let acceptedAfterMilliseconds: Int64 = 60_000
    /// Slewing changes the length of a second by one part in so many: a ring of 45 s lasts 43 s to 47 s.
    package static let slewDivisor: Int64 = 20
    /// Events that wait to be taken; a wall clock that leaps to and fro must not fill the memory.
    private static let mostEvents = 8

    private struct Leap {
        /// The wall clock minus the boot clock.
        var offset: Int64
        let since: Int64
        var isAccepted = false
    }

    private var boot: Int64
    /// ``now`` minus the boot clock.
    private var offset: Int64
    private var leap: Leap?
    /// Up to here, by the boot clock, slewing has been done.
    private var slewedAt: Int64
    /// How many times the wall clock has leapt.
    package private(set) var leaps: UInt64 = 0
    /// The wall clock minus ``now``.
    package private(set) var difference: Int64 = 0
    private var events: [Event] = []

    /// Begins at the wall clock.
    package init(_ reading: ClockReading) {
        boot = reading.boot
        offset = reading.wall - reading.boot
        slewedAt = reading.boot
    }

    /// Milliseconds since 1970 at the last reading: for deadlines and records.
    package var now: Int64 { boot + offset }

    /// Milliseconds since 1970 at the last reading: for what others sign or check, which have the wall clock's time.
    package var date: Int64 {
        guard let leap, leap.isAccepted else { return now }
        return boot + leap.offset
    }

    /// Whether the clocks differ by more than slewing is meant for.
    package var hasLeapt: Bool { leap != nil }

    /// Whether this reading is a leap that is not known yet; read once more, in case the thread slept between the two clocks.
    package func isSurprising(_ reading: ClockReading) -> Bool {
        let wallOffset = reading.wall - reading.boot
        return (wallOffset - (leap?.offset ?? offset)).magnitude > Self.leapMilliseconds
    }

    /// Goes on to a reading.
    package mutating func take(_ reading: ClockReading) {
        boot = max(boot, reading.boot)
        let wallOffset = reading.wall - boot
        difference = wallOffset - offset
        judge(wallOffset)
        slew()
    }

    /// Hands out the events since the last time.
    package mutating func takeEvents() -> [Event] {
        guard !events.isEmpty else { return [] }
        defer { events.removeAll() }
        return events
    }

    private mutating func judge(_ wallOffset: Int64) {
        let isFar = difference.magnitude > Self.leapMilliseconds
        guard var known = leap else {
            if isFar { noteLeap(to: wallOffset) }
            return
        }
        guard isFar else {
            leap = nil
            note(.agrees)
            return
        }
        guard (wallOffset - known.offset).magnitude <= Self.leapMilliseconds else { return noteLeap(to: wallOffset) }
        if known.isAccepted {
            known.offset = wallOffset
        } else if boot - known.since >= Self.acceptedAfterMilliseconds {
            known.offset = wallOffset
            known.isAccepted = true
            note(.accepted(milliseconds: difference))
        }
        leap = known
    }

    private mutating func noteLeap(to wallOffset: Int64) {
        leap = Leap(offset: wallOffset, since: boot)
        leaps += 1
        note(.leapt(milliseconds: difference))
    }

    private mutating func note(_ event: Event) {
        if events.count < Self.mostEvents { events.append(event) }
    }

    private mutating func slew() {
        // A difference of one is how far the two readings of one moment may be rounded apart.
        guard difference.magnitude > 1, leap?.isAccepted != false else {
            slewedAt = boot
            return
        }
        let most = (boot - slewedAt) / Self.slewDivisor
        guard most > 0 else { return }
        let step = min(max(difference, -most), most)
        offset += step
        difference -= step
        slewedAt = boot
    }
}
