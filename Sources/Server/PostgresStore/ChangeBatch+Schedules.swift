import CallCore
import CallPorts
import Postgres
import Storing

extension ChangeBatch {
    static let upsertSchedule = upsert("schedule", RowReader.scheduleColumns)
    static let removeSchedule = SQL("remove schedule", #"DELETE FROM schedule WHERE "user" = $1 AND id = $2"#)
}

extension Parameters {
    /// Adds the values of `RowReader.scheduleColumns`.
    mutating func add(_ schedule: ScheduleRecord) {
        add(schedule.user.text)
        add(schedule.id.text)
        add(schedule.storedTime)
        add(schedule.storedDates)
        add(schedule.timeZone)
        add(schedule.from.text)
        add(bytesOf: schedule.displayName)
        add(bytesOf: schedule.handle)
        add(schedule.handleType)
        add(bytesOf: schedule.data)
        add(schedule.ring.milliseconds)
        add(schedule.confirmation?.every.milliseconds)
        add(schedule.confirmation.map { Int64($0.times) })
        add(schedule.isOwn)
        add(schedule.createdAt.milliseconds)
        add(schedule.next?.milliseconds)
        add(schedule.occurrence?.milliseconds)
        add(Int64(schedule.rings))
        add(schedule.again?.milliseconds)
        add(schedule.salt)
        add(schedule.lastOccurrence?.milliseconds)
    }
}
