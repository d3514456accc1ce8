import CallCore
import CallPorts
import TimeZones

/// A schedule as its user has written it.
struct SimulatedSchedule {
    /// The minutes from the start of the day to the calls, by the zone's clocks.
    var minutes: Int64
    var zone: SimulatedZone
    /// The weekdays of the calls, 0 (Monday) to 6; empty = ``day`` is the only date.
    var weekdays: Set<Int64> = []
    /// The only date, in days since 1970-01-01.
    var day: Int64 = 0
    /// How long each call rings, in seconds.
    var ring: Int64
    /// The seconds from ring to ring, and the number of rings; `nil` = the calls need no confirmation.
    var confirm: (every: Int64, times: Int)?

    static let dayLength: Int64 = 86_400_000

    private static let words = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// The text of the schedule in JSON, for a request.
    var body: String {
        let time = "\(twoDigits(minutes / 60)):\(twoDigits(minutes % 60))"
        let days = weekdays.sorted().map { "\"\(Self.words[Int($0)])\"" }.joined(separator: ",")
        let dates = weekdays.isEmpty ? #""on":"\#(CivilDate(daysSince1970: Int(day)))""# : #""days":[\#(days)]"#
        let confirm = self.confirm.map { #"{"every":\#($0.every),"times":\#($0.times)}"# } ?? "null"
        return #"{"at":"\#(time)","timeZone":"\#(zone.name)",\#(dates),"from":{"id":"wake"},"ring":\#(ring),"#
            + #""confirm":\#(confirm)}"#
    }

    private func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Returns the moments of the calls after `start`, up to `end`, in milliseconds.
    func occurrences(after start: Int64, through end: Int64) -> [Int64] {
        guard start < end else { return [] }
        let first = (start + zone.offset) / Self.dayLength
        let last = (end + zone.offset) / Self.dayLength
        return (first...last).filter(isChosen).map { $0 * Self.dayLength + minutes * 60_000 - zone.offset }
            .filter { $0 > start && $0 <= end }
    }

    /// Returns whether one of the calls is at a moment.
    func rings(at moment: Int64) -> Bool { occurrences(after: moment - 1, through: moment) == [moment] }

    private func isChosen(_ day: Int64) -> Bool {
        // 1970-01-01 was a Thursday.
        weekdays.isEmpty ? day == self.day : weekdays.contains((day + 3) % 7)
    }
}

/// The name of a schedule: its user and its id.
struct ScheduleName: Hashable, CustomStringConvertible {
    let user: UserID
    let id: ScheduleID

    var description: String { "\(user.text)'s \(id.text)" }
}
