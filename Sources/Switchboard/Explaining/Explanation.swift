public import CallCore
public import CallPorts
import CallWire
import JSON

/// An explanation why a call rang, or did not: its ladder as text, and a verdict in plain words.
///
/// It is made from stored records alone, so it works for a running server and for a stopped one. It contains no
/// description, no candidate and no address.
public struct Explanation: Sendable {
    /// The call.
    public let record: CallRecord
    /// The events of the call, oldest first.
    let events: [Event]
    /// The callee's registered devices.
    let devices: [DeviceRecord]
    /// The moment at which the explanation is requested.
    let now: Moment
    /// The keeper of the records: a running server may have newer events than the records show.
    let keeper: Keeper

    /// The keeper of the records that an explanation is made from.
    public enum Keeper: Sendable {
        /// A running server.
        case server
        /// No server: it was stopped, or killed.
        case nobody
        /// A copy of the database.
        case copy
    }

    /// One event of the timeline, parsed.
    struct Event {
        /// The event's position among all events of the call.
        let position: Int
        let at: Moment
        let name: String
        let side: Side?
        let device: String?
        let status: Int64?
        let reason: String?
        let kind: String?
        let environment: String?
        /// The name of the event that was repeated, if this event is `repeated`.
        let repeated: String?
        /// The number of repetitions, omitted events or refused rings.
        let count: Int64?
        /// The limit that was exceeded.
        let limit: String?
        /// The user that was refused.
        let from: String?

        init(_ record: TimelineRecord, position: Int) {
            self.position = position
            at = record.at
            name = record.event
            // The server wrote the members; if they cannot be read, the event's name is still useful.
            let object = try? JSONObject(Array("{\(record.details)}".utf8))
            func text(_ name: String) -> String? {
                object?.members.first { object?.name(of: $0) == name }.flatMap { object?.string($0) }
            }
            side = text("side").flatMap { Side(rawValue: $0) }
            device = text("device")
            status = object?.members.first { object?.name(of: $0) == "status" }.flatMap { object?.integer($0) }
            reason = text("reason")
            limit = text("limit")
            from = text("from")
            kind = text("kind")
            environment = text("environment")
            repeated = text("of")
            count = object?.members.first { object?.name(of: $0) == "count" }.flatMap { object?.integer($0) }
        }

        /// The kind of the signal, if the event is one.
        var signal: String? {
            if name == "offer" { return name }
            return name.hasPrefix("signal.") ? String(name.dropFirst(7)) : nil
        }

        /// Whether the event shows that a device of the callee was there.
        var isLife: Bool {
            guard side != .caller else { return false }
            return signal != nil || name == "fetched" || name == "delivered.socket"
        }
    }

    /// An explanation of a stored call, from its timeline, its log as far as it is stored, and the callee's devices, at
    /// a moment of the wall clock.
    public init(
        record: CallRecord,
        events: [TimelineRecord],
        log: [EntryRecord],
        devices: [DeviceRecord],
        keptBy keeper: Keeper = .server,
        at now: Moment
    ) {
        self.record = record
        let all = log.compactMap { TimelineRecord($0) } + events
        let order = all.indices.sorted { (all[$0].at, $0) < (all[$1].at, $1) }
        self.events = order.enumerated().map { Event(all[$1], position: $0) }
        self.devices = devices
        self.now = now
        self.keeper = keeper
    }

    /// The whole explanation: the call, its ladder, the verdict.
    public var text: String { "\(title)\n\n\(ladder)\n\(verdict)\n" }

    private var title: String {
        let name = record.displayName.map { " (\(Self.printable($0)))" } ?? ""
        var text =
            "Call \(record.id.text), epoch \(record.epoch): \(record.caller.text)\(name) calls \(record.callee.text), "
        text += "\(record.hasVideo ? "video" : "audio"), \(Timestamp.text(record.startedAt))"
        return text
    }

    /// Returns text from a user in printable form: one line, without control characters and without characters that
    /// reverse the direction of writing.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.value {
                    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: " "
                    default: scalar
                    }
                }
            )
        )
    }

    /// Returns a moment as an offset from the offer: `+0.21 s`.
    func offset(_ moment: Moment) -> String { "+" + Self.seconds(moment - record.startedAt) }

    /// Returns a span in seconds with two decimals.
    static func seconds(_ span: Moment.Span) -> String {
        let hundredths = (span.milliseconds + 5) / 10
        let rest = String(hundredths % 100)
        return "\(hundredths / 100).\(rest.count < 2 ? "0" : "")\(rest) s"
    }
}
