import CallCore
package import CallPorts
import JSON
import TimeZones

/// The rows of schedules.
extension RowReader {
    /// The columns of a schedule, in the order in which ``schedule(_:)`` reads them.
    package static let scheduleColumns = """
        "user", id, at, dates, zone, caller, display_name, handle, handle_type, data, ring, every, times, is_own, \
        created_at, next, occurrence, rings, again, salt, last_occurrence
        """

    /// Returns the schedule in a row of ``scheduleColumns``.
    package func schedule(_ statement: some StoredRow) -> ScheduleRecord? {
        let row = CheckedRow(row: statement, table: "schedule", key: [0, 1], damages: damages)
        guard let user = row.value(0, UserID.init), let id = row.value(1, ScheduleID.init),
            let time = row.value(2, { TimeOfDay($0) }), let dates = row.value(3, Recurrence.Dates.init(stored:)),
            let caller = row.value(5, UserID.init)
        else { return nil }
        var schedule = ScheduleRecord(
            user: user,
            id: id,
            recurrence: Recurrence(dates, at: time),
            timeZone: statement.text(4),
            from: caller,
            ring: .milliseconds(Int64(row.count(10))),
            isOwn: statement.int64(13) != 0,
            createdAt: row.moment(14),
            salt: statement.int64(19)
        )
        schedule.displayName = statement.optionalText(6)
        schedule.handle = statement.optionalText(7)
        schedule.handleType = statement.optionalText(8)
        schedule.data = statement.optionalText(9)
        if let data = schedule.data, !JSONText.isValue(data) {
            damages.record(DamagedValue(table: "schedule", column: "data", row: user.text, remedy: .replaced))
            schedule.data = nil
        }
        if !statement.isNull(11) {
            schedule.confirmation = .init(every: .milliseconds(row.moment(11).milliseconds), times: row.count(12))
        }
        schedule.next = row.optionalMoment(15)
        schedule.occurrence = row.optionalMoment(16)
        schedule.rings = row.count(17)
        schedule.again = row.optionalMoment(18)
        schedule.lastOccurrence = row.optionalMoment(20)
        return schedule
    }
}

extension ScheduleRecord {
    /// The time of day as a column has it.
    package var storedTime: String { recurrence.time.description }

    /// The dates as a column has them: one date, or weekdays with a space between them.
    package var storedDates: String {
        switch recurrence.dates {
        case .once(let date): date.description
        case .weekly(let days): Weekday.allCases.filter(days.contains).map(\.word).joined(separator: " ")
        }
    }
}

extension Recurrence.Dates {
    fileprivate init?(stored text: String) {
        if let date = CivilDate(text) {
            self = .once(date)
            return
        }
        let words = text.split(separator: " ")
        let days = words.compactMap { Weekday(word: String($0)) }
        guard days.count == words.count else { return nil }
        self = .weekly(Set(days))
    }
}
