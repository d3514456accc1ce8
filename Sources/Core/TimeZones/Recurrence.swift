package import CallCore

/// When something happens by local clocks: at a time of day, on one date or on some weekdays of every week.
///
/// Every date that matches has one occurrence, also if its time of day does not exist or comes twice on this date; see
/// ``TimeZoneRules/moment(of:)``. Occurrences that fall on the same moment are one. For example, Pacific/Apia skipped
/// 30 December 2011 to change sides of the date line. The occurrence of this day is at the next day's first moment, at
/// any time of day. If the time of day is 00:00, the next day's own occurrence is the same one.
package struct Recurrence: Hashable, Sendable {
    /// The dates of a recurrence.
    package enum Dates: Hashable, Sendable {
        /// This date only.
        case once(CivilDate)
        /// Every date with one of these weekdays; an empty set has no dates.
        case weekly(Set<Weekday>)
    }

    /// The dates on which there is an occurrence.
    package let dates: Dates
    /// The time of day of each occurrence, by local clocks.
    package let time: TimeOfDay

    /// Creates a recurrence at a time of day on these dates.
    package init(_ dates: Dates, at time: TimeOfDay) {
        self.dates = dates
        self.time = time
    }

    /// Returns the first occurrence strictly after a moment.
    ///
    /// Asked again with each result, it returns all occurrences in ascending order, each once.
    ///
    /// - Parameters:
    ///   - moment: The moment after which the occurrence is looked for.
    ///   - rules: The rules of the time zone in which the dates and the time of day are meant. They may differ from
    ///     call to call, as after an update of tzdata.
    /// - Returns: `nil` if the only date has passed, there is no weekday, or the date would be after 9999-12-31.
    package func next(after moment: Moment, in rules: TimeZoneRules) -> Moment? {
        switch dates {
        case .once(let date):
            let occurrence = rules.moment(of: LocalTime(date: date, time: time))
            return occurrence > moment ? occurrence : nil
        case .weekly(let weekdays): return next(of: weekdays, after: moment, in: rules)
        }
    }

    private func next(of weekdays: Set<Weekday>, after moment: Moment, in rules: TimeZoneRules) -> Moment? {
        // No earlier date can be next: its occurrence was when local clocks first showed its time or a later one, and
        // they show a later date already. If clocks were set back, occurrences of up to three more dates may have
        // passed: two offsets differ by less than 52 hours. A week after them has every weekday.
        let today = rules.date(at: moment)
        var date = today
        while true {
            if weekdays.contains(date.weekday) {
                let occurrence = rules.moment(of: LocalTime(date: date, time: time))
                if occurrence > moment { return occurrence }
            }
            guard date < .last, date.daysSince1970 - today.daysSince1970 < 14 else { return nil }
            date = date.adding(days: 1)
        }
    }
}
