public import CallCore
import JSON

/// A schedule as its user or a service sees it (protocol, section 5.11).
public struct ScheduleBody: Sendable {
    /// The schedule's id.
    public var id: ScheduleID
    /// The user that is rung.
    public var user: UserID
    /// The time of day, such as `06:30`.
    public var at: String
    /// The name of the time zone.
    public var timeZone: String
    /// The weekdays, `mon` to `sun`; empty if ``on`` is given.
    public var days: [String]
    /// The only date.
    public var on: String?
    /// The caller.
    public var from: UserID
    /// The caller's displayed name.
    public var displayName: String?
    /// The caller's address for CallKit.
    public var handle: String?
    /// The kind of ``handle``.
    public var handleType: String?
    /// Data of the app's own, a JSON value.
    public var data: String?
    /// How long each call rings.
    public var ring: Moment.Duration
    /// How the user is rung until they confirm.
    public var confirm: (every: Moment.Duration, times: Int)?
    /// When the next call is due.
    public var next: Moment?
    /// The number of rings that have begun for the present occurrence; 0 = the user is not being rung.
    public var rings = 0
    /// When the next ring begins; `nil` = there is none.
    public var again: Moment?

    /// A schedule with the given members.
    public init(
        id: ScheduleID,
        user: UserID,
        at: String,
        timeZone: String,
        days: [String],
        on: String?,
        from: UserID,
        ring: Moment.Duration
    ) {
        self.id = id
        self.user = user
        self.at = at
        self.timeZone = timeZone
        self.days = days
        self.on = on
        self.from = from
        self.ring = ring
    }

    /// The schedule as an object.
    public var bytes: [UInt8] {
        var json = JSONWriter(capacity: 512)
        write(into: &json)
        return json.bytes
    }

    /// Returns schedules as `{"schedules":[…]}`.
    public static func list(_ schedules: [ScheduleBody]) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.beginObject()
        json.name("schedules")
        json.array(schedules) { schedule, json in schedule.write(into: &json) }
        json.endObject()
        return json.bytes
    }

    private func write(into json: inout JSONWriter) {
        json.beginObject()
        json.name("id")
        json.plain(id.text)
        json.name("user")
        json.plain(user.text)
        json.name("at")
        json.plain(at)
        json.name("timeZone")
        json.plain(timeZone)
        if let on {
            json.name("on")
            json.plain(on)
        } else {
            json.name("days")
            json.array(days) { day, json in json.plain(day) }
        }
        writeCaller(into: &json)
        if let data {
            json.name("data")
            json.raw(ArraySlice(data.utf8))
        }
        json.name("ring")
        json.value(ring.milliseconds / 1_000)
        if let confirm {
            json.name("confirm")
            json.beginObject()
            json.name("every")
            json.value(confirm.every.milliseconds / 1_000)
            json.name("times")
            json.value(Int64(confirm.times))
            json.endObject()
        }
        json.name("next")
        if let next { json.value(next.milliseconds) } else { json.null() }
        if rings > 0 {
            json.name("rings")
            json.value(Int64(rings))
        }
        if let again {
            json.name("again")
            json.value(again.milliseconds)
        }
        json.endObject()
    }

    /// Writes as whom the server rings, and how devices show that caller.
    private func writeCaller(into json: inout JSONWriter) {
        json.name("from")
        json.beginObject()
        json.name("id")
        json.plain(from.text)
        if let displayName {
            json.name("displayName")
            json.value(displayName)
        }
        json.endObject()
        if let handle {
            json.name("handle")
            json.value(handle)
        }
        if let handleType {
            json.name("handleType")
            json.plain(handleType)
        }
    }
}
