package import CallCore
package import TimeZones

/// A schedule of calls by which the server itself rings a user, such as a wake-up call (protocol, section 5.11).
package struct ScheduleRecord: Equatable, Sendable {
    /// The user that is rung.
    package var user: UserID
    /// The schedule's id, unique among those of the user.
    package var id: ScheduleID
    /// The local times of the calls.
    package var recurrence: Recurrence
    /// The name of the time zone in the tz database, such as `Asia/Seoul`.
    package var timeZone: String
    /// The display name shown as the caller: no user makes these calls.
    package var from: UserID
    /// The caller's displayed name; `nil` = there is none.
    package var displayName: String?
    /// The caller's address for CallKit; `nil` = ``from``.
    package var handle: String?
    /// The kind of ``handle``, as an offer names it; `nil` = generic.
    package var handleType: String?
    /// Data of the app's own, a JSON value; `nil` = there is none.
    package var data: String?
    /// How long each call rings.
    package var ring: Moment.Duration
    /// How the user is rung until they confirm; `nil` = each call rings once.
    package var confirmation: Confirmation?
    /// Whether the user, and not a service, made or last replaced the schedule.
    ///
    /// The calls of such a schedule ring during the user's do-not-disturb.
    package var isOwn: Bool
    /// When the schedule was made.
    package var createdAt: Moment
    /// A random number, without which nobody can tell the callIds of the schedule's calls beforehand.
    package var salt: Int64
    /// When the next call is due; `nil` = there is no further call, or the zone is unknown.
    package var next: Moment?
    /// The last time of the schedule that rang; `nil` = none yet, or by a wrong clock and too far from its true moment.
    ///
    /// It does not become due again when the clock is set back (Decision 0010).
    package var lastOccurrence: Moment?
    /// The time of the schedule for which the user is being rung; `nil` = none.
    ///
    /// It stays until the user has confirmed or is given up, or, without a confirmation, until the call has ended.
    package var occurrence: Moment?
    /// The number of rings that have begun for ``occurrence``.
    package var rings: Int
    /// When the user is rung again for ``occurrence``; `nil` = a ring is live, or the user is not being rung.
    ///
    /// Like ``next`` it is a date, and not a time of the server's clock.
    package var again: Moment?

    /// How a user is rung until they confirm.
    package struct Confirmation: Equatable, Sendable {
        /// The time from the end of a ring that was not confirmed to the next ring.
        package var every: Moment.Duration
        /// The number of rings, the first one included.
        package var times: Int

        /// A confirmation that is asked for so often.
        package init(every: Moment.Duration, times: Int) {
            self.every = every
            self.times = times
        }
    }

    /// A schedule that was just made, with no call due yet.
    package init(
        user: UserID,
        id: ScheduleID,
        recurrence: Recurrence,
        timeZone: String,
        from: UserID,
        ring: Moment.Duration,
        isOwn: Bool,
        createdAt: Moment,
        salt: Int64
    ) {
        self.user = user
        self.id = id
        self.recurrence = recurrence
        self.timeZone = timeZone
        self.from = from
        self.ring = ring
        self.isOwn = isOwn
        self.createdAt = createdAt
        self.salt = salt
        rings = 0
    }

    /// Whether the only date has rung or was missed, so that the schedule is gone for its user.
    ///
    /// A spent schedule stays stored as long as the clock may prove to have been wrong.
    package var isSpent: Bool {
        guard case .once = recurrence.dates else { return false }
        return next == nil && occurrence == nil
    }

    /// When something is due: the next ring for ``occurrence``, or the next call; `nil` = never.
    package var due: Moment? {
        guard let again else { return next }
        return next.map { min($0, again) } ?? again
    }
}

/// The ring of a schedule that a call is.
package struct ScheduledRing: Equatable, Sendable {
    /// The schedule.
    package var schedule: ScheduleID
    /// The time of the schedule for which the call rings.
    package var occurrence: Moment
    /// The number of the ring, from 1; ``trial`` for a ring on trial.
    package var ring: Int

    /// The number of a ring on trial, which belongs to no time of the schedule.
    package static let trial = 0

    /// The ring of a schedule with these members.
    package init(schedule: ScheduleID, occurrence: Moment, ring: Int) {
        self.schedule = schedule
        self.occurrence = occurrence
        self.ring = ring
    }
}
