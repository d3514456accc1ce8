import CallCore
import CallPorts
import SQLite
import Storing

extension ChangeWriter {
    func write(_ schedule: ScheduleRecord) throws(SQLiteError) {
        let statement = try connection.statement(Self.upsertSchedule)
        try statement.bind(schedule.user.text, at: 1)
        try statement.bind(schedule.id.text, at: 2)
        try statement.bind(schedule.storedTime, at: 3)
        try statement.bind(schedule.storedDates, at: 4)
        try statement.bind(schedule.timeZone, at: 5)
        try statement.bind(schedule.from.text, at: 6)
        try statement.bind(schedule.displayName, at: 7)
        try statement.bind(schedule.handle, at: 8)
        try statement.bind(schedule.handleType, at: 9)
        try statement.bind(schedule.data, at: 10)
        try statement.bind(schedule.ring.milliseconds, at: 11)
        try statement.bind(schedule.confirmation?.every.milliseconds, at: 12)
        try statement.bind(schedule.confirmation.map { Int64($0.times) }, at: 13)
        try statement.bind(schedule.isOwn ? 1 : 0 as Int64, at: 14)
        try statement.bind(schedule.createdAt.milliseconds, at: 15)
        try statement.bind(schedule.next?.milliseconds, at: 16)
        try statement.bind(schedule.occurrence?.milliseconds, at: 17)
        try statement.bind(Int64(schedule.rings), at: 18)
        try statement.bind(schedule.again?.milliseconds, at: 19)
        try statement.bind(schedule.salt, at: 20)
        try statement.bind(schedule.lastOccurrence?.milliseconds, at: 21)
        try statement.run()
    }

    private static let upsertSchedule: SQL = {
        let values = (1...21).map { "?\($0)" }.joined(separator: ", ")
        return SQL(
            "write schedule",
            "INSERT OR REPLACE INTO schedule (\(RowReader.scheduleColumns)) VALUES (\(values))"
        )
    }()

    static let removeSchedule = SQL("remove schedule", "DELETE FROM schedule WHERE user = ?1 AND id = ?2")
}
