/// The time that the server uses: elapsed time comes from the boot clock, and the date follows the wall clock slowly.
///
/// Deadlines and records use ``now``, which never leaps and never goes back. ``now`` begins at the wall clock's time,
/// advances with the boot clock, and is slewed towards the wall clock: it runs slightly faster or slower until both
/// agree. If the wall clock differs from ``now`` by more than ``leapMilliseconds``, the wall clock has leapt. Such a
/// leap is ignored until the wall clock has gone on without another leap for ``acceptedAfterMilliseconds``. From then
/// on ``date`` is the wall clock's time, and ``now`` is slewed towards the wall clock until ``now`` and ``date`` are
/// the same.
///
/// The type is pure: its callers pass the readings in. See Decision 0010.
package struct ServerTime: Sendable {
    /// A change that an operator should know about.
    package enum Event: Equatable, Sendable {
        /// The wall clock suddenly differs from ``ServerTime/now`` by this much (wall clock − ``ServerTime/now``).
        case leapt(milliseconds: Int64)
        /// The wall clock has not leapt again for a while, and differs from ``ServerTime/now`` by this much.
        case accepted(milliseconds: Int64)
        /// The wall clock and ``ServerTime/now`` agree again, to within ``ServerTime/leapMilliseconds``.
        case agrees
    }

    /// The largest difference between the clocks that does not count as a leap, in milliseconds.
    ///
    /// NTP corrects far less than a second on a machine that runs well.
    package static let leapMilliseconds: Int64 = 10_000
    /// The time without another leap after which ``date`` is taken from the wall clock again, in milliseconds.
    package static let acceptedAfterMilliseconds: Int64 = 60_000
    /// The limit on slewing: slewing changes the length of a second by at most one part in this many.
    ///
    /// A ring of 45 s lasts 43 s to 47 s.
    package static let slewDivisor: Int64 = 20
    /// The largest number of events that wait to be taken, so that a wall clock that leaps to and fro cannot fill the
    /// memory.
    private static let maximumEvents = 8

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
    /// ``date`` minus the boot clock; nil while ``date`` is ``now``.
    ///
    /// The value is kept after ``Event/agrees`` until slewing is done: otherwise ``date`` would jump by the remaining
    /// difference.
    private var dateOffset: Int64?
    /// The boot clock's time up to which slewing has been done.
    private var slewedAt: Int64
    /// How far ``date`` has jumped in all, in milliseconds: by the leaps that were accepted.
    package private(set) var corrected: Int64 = 0
    /// The number of times that the wall clock has leapt.
    package private(set) var leaps: UInt64 = 0
    /// The wall clock minus ``now``.
    package private(set) var difference: Int64 = 0
    private var events: [Event] = []

    /// Creates a time that begins at the wall clock's.
    package init(_ reading: ClockReading) {
        boot = reading.boot
        offset = reading.wall - reading.boot
        slewedAt = reading.boot
    }

    /// The time for deadlines and records, at the last reading, in milliseconds since 1970.
    package var now: Int64 { boot + offset }

    /// The time for dates that other machines set or check, at the last reading, in milliseconds since 1970.
    ///
    /// ``date`` is ``now`` until a leap of the wall clock is accepted. From then on it is the wall clock's time, until
    /// slewing has made ``now`` equal to the wall clock.
    package var date: Int64 { boot + (dateOffset ?? offset) }

    /// Whether the wall clock has leapt and still differs from ``now`` by more than ``leapMilliseconds``.
    package var hasLeapt: Bool { leap != nil }

    /// Whether ``date`` can be relied on: the wall clock has not leapt, or has been steady for a minute since.
    package var isSteady: Bool { leap?.isAccepted != false }

    /// Returns whether this reading shows a new leap.
    ///
    /// If so, read both clocks again: the thread may have been suspended between reading one clock and the other.
    package func isSurprising(_ reading: ClockReading) -> Bool {
        let wallOffset = reading.wall - reading.boot
        return (wallOffset - (leap?.offset ?? dateOffset ?? offset)).magnitude > Self.leapMilliseconds
    }

    /// Advances to a reading.
    package mutating func take(_ reading: ClockReading) {
        boot = max(boot, reading.boot)
        let wallOffset = reading.wall - boot
        difference = wallOffset - offset
        judge(wallOffset)
        slew()
        followDate(wallOffset)
    }

    /// Returns the events since the last call.
    package mutating func takeEvents() -> [Event] {
        guard !events.isEmpty else { return [] }
        defer { events.removeAll() }
        return events
    }

    private mutating func judge(_ wallOffset: Int64) {
        // A leap is one away from `date`, and not from `now`: a wall clock that is set back to the time from which `now`
        // is being slewed away must be steady for a minute, too.
        let hasLeft = (wallOffset - (dateOffset ?? offset)).magnitude > Self.leapMilliseconds
        guard let known = leap else {
            if hasLeft { noteLeap(to: wallOffset) }
            return
        }
        if !known.isAccepted, hasLeft {
            guard (wallOffset - known.offset).magnitude <= Self.leapMilliseconds else {
                return noteLeap(to: wallOffset)
            }
            guard boot - known.since >= Self.acceptedAfterMilliseconds else { return }
            corrected += wallOffset - (dateOffset ?? offset)
            dateOffset = wallOffset
        } else if hasLeft {
            return noteLeap(to: wallOffset)
        }
        let isFar = difference.magnitude > Self.leapMilliseconds
        if !known.isAccepted, isFar || hasLeft { note(.accepted(milliseconds: difference)) }
        if !isFar { note(.agrees) }
        leap = isFar ? Leap(offset: wallOffset, since: known.since, isAccepted: true) : nil
    }

    private mutating func noteLeap(to wallOffset: Int64) {
        leap = Leap(offset: wallOffset, since: boot)
        leaps += 1
        note(.leapt(milliseconds: difference))
    }

    /// After an accepted leap, lets ``date`` follow the wall clock, until a further leap.
    private mutating func followDate(_ wallOffset: Int64) {
        guard dateOffset != nil, leap?.isAccepted != false else { return }
        dateOffset = difference.magnitude <= 1 ? nil : wallOffset
    }

    private mutating func note(_ event: Event) {
        if events.count < Self.maximumEvents { events.append(event) }
    }

    private mutating func slew() {
        // A difference of 1 ms may come from rounding the two clocks' readings.
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
