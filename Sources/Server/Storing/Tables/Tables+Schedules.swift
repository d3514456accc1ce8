import CallCore
package import CallPorts
import JSON
import TimeZones

extension Tables {
    /// The schedules of calls.
    package static let schedules = RecordTable<ScheduleRecord>(
        "schedule",
        key: 2,
        [
            .word("user", { $0.user.text }),
            .word("id", { $0.id.text }),
            .word("at", { $0.recurrence.time.description }),
            .word("dates", { $0.recurrence.dates.stored }),
            .word("zone", { $0.timeZone }, { $0.timeZone = $1 ?? "" }),
            .word("caller", { $0.from.text }),
            .free("display_name", { $0.displayName }, { $0.displayName = $1 }),
            .free("handle", { $0.handle }, { $0.handle = $1 }),
            .word("handle_type", { $0.handleType }, { $0.handleType = $1 }),
            Column(name: "data", kind: .free, value: { .free($0.data) }) { schedule, row, column in
                schedule.data = row.row.optionalText(column)
                if let data = schedule.data, !JSONText.isValue(data) {
                    row.recordDamage(column, .replaced)
                    schedule.data = nil
                }
                return true
            },
            .integer("ring", { $0.ring.milliseconds }, { $0.ring = .milliseconds(Int64($1.count($2))) }),
            .moment(
                "every",
                { $0.confirmation.map { Moment(milliseconds: $0.every.milliseconds) } },
                { $0.confirmation = $1.map { .init(every: .milliseconds($0.milliseconds), times: 0) } }
            ),
            .integer("times", { $0.confirmation.map { Int64($0.times) } }, { $0.confirmation?.times = $1.count($2) }),
            .flag("is_own", { $0.isOwn }, { $0.isOwn = $1 }),
            .integer("created_at", { $0.createdAt.milliseconds }, { $0.createdAt = $1.moment($2) }),
            .moment("next", { $0.next }, { $0.next = $1 }),
            .moment("occurrence", { $0.occurrence }, { $0.occurrence = $1 }),
            .integer("rings", { Int64($0.rings) }, { $0.rings = $1.count($2) }),
            .moment("again", { $0.again }, { $0.again = $1 }),
            .integer("salt", { $0.salt }, { $0.salt = $1.row.int64($2) }),
            .moment("last_occurrence", { $0.lastOccurrence }, { $0.lastOccurrence = $1 }),
        ]
    ) { row in
        guard let user = row.value(0, UserID.init), let id = row.value(1, ScheduleID.init),
            let time = row.value(2, { TimeOfDay($0) }), let dates = row.value(3, Recurrence.Dates.init(stored:)),
            let caller = row.value(5, UserID.init)
        else { return nil }
        return ScheduleRecord(
            user: user,
            id: id,
            recurrence: Recurrence(dates, at: time),
            timeZone: "",
            from: caller,
            ring: .milliseconds(0),
            isOwn: false,
            createdAt: Moment(milliseconds: 0),
            salt: 0
        )
    }

    private typealias Column = RecordTable<ScheduleRecord>.Column
}

extension Recurrence.Dates {
    /// The dates as a column has them: one date, or weekdays with a space between them.
    fileprivate var stored: String {
        switch self {
        case .once(let date): date.description
        case .weekly(let days): Weekday.allCases.filter(days.contains).map(\.word).joined(separator: " ")
        }
    }

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
