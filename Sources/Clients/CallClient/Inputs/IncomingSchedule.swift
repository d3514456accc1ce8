public import CallCore
import CallWire
import JSON

/// The part of an offer or of a push that only a scheduled call has.
///
/// The server itself begins such a call, at the time that a schedule names. Nobody is on the other side.
public struct IncomingSchedule: Equatable, Sendable {
    /// The schedule's id; a push does not have it.
    public var id: ScheduleID?
    /// The app's data: one JSON value as text.
    public var data: String?
    /// The address under which the system displays the caller; `nil` = the user id.
    public var handle: String?

    /// Creates a schedule from its parts.
    public init(id: ScheduleID? = nil, data: String? = nil, handle: String? = nil) {
        self.id = id
        self.data = data
        self.handle = handle
    }

    /// Reads the schedule of an offer; `nil` if a user has made the offer.
    init?(offer: JSONObject) {
        guard offer.flag("scheduled") == true else { return nil }
        id = offer.text("schedule").flatMap { ScheduleID($0) }
        data = offer.raw("data")
        handle = offer.text("handle")
    }

    /// Reads the schedule of the push for a scheduled call.
    init(push: [String: PushValue]) {
        switch push["data"] {
        case .json(let text)?: data = text
        // In a Firebase message all values are strings, and the data is JSON in a string.
        case .string(let text)? where push["scheduled"] == .string("true"): data = JSONText.isValue(text) ? text : nil
        case .string(let text)?:
            var json = JSONWriter()
            json.value(text)
            data = String(decoding: json.bytes, as: UTF8.self)
        case .int(let number)?: data = String(number)
        case .bool(let flag)?: data = flag ? "true" : "false"
        // A fraction comes with the log, as it was written.
        case .double?, .null?, .other?, nil: data = nil
        }
        if case .string(let text)? = push["handle"], !text.isEmpty { handle = text }
    }
}
