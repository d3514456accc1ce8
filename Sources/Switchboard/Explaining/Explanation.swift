public import CallCore
import CallWire

/// Why a call rang, or did not: its ladder as text, and a verdict in plain words.
///
/// Made from what is kept alone, so that it can be told of a running server and of a stopped one. Holds no description, no
/// candidate and no address.
public struct Explanation: Sendable {
    /// The call.
    public let record: CallRecord
    /// What happened, oldest first.
    let events: [Event]
    /// The callee's devices as far as they are registered.
    let devices: [DeviceRecord]
    /// When this is asked.
    let now: Moment
    /// Whether the call goes on beyond what is kept of it.
    let keeper: Keeper

    /// Who keeps what an explanation is made from.
    public enum Keeper: Sendable {
        /// A server that runs.
        case server
        /// None: it was stopped, or killed.
        case nobody
        /// Whoever has made a copy.
        case copy
    }

    /// One event of the timeline, taken apart.
    struct Event {
        /// Its place among all events of the call.
        let position: Int
        let at: Moment
        let name: String
        let side: Side?
        let device: String?
        let status: Int64?
        let reason: String?
        let kind: String?
        let environment: String?
        /// The event that came again, where it is `repeated`.
        let repeated: String?
        /// How often.
        let count: Int64?
        /// The limit that was met.
        let limit: String?
        /// The user who was refused.
        let from: String?

        init(_ record: TimelineRecord, position: Int) {
            self.position = position
            at = record.at
            name = record.event
            // We wrote the members; if they cannot be read, the event's name still tells something.
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

        /// The signal's kind, where it is one.
        var signal: String? {
            if name == "offer" { return name }
            return name.hasPrefix("signal.") ? String(name.dropFirst(7)) : nil
        }

        /// Whether it shows that a device of the callee was there.
        var isLife: Bool {
            guard side != .caller else { return false }
            return signal != nil || name == "fetched" || name == "delivered.socket"
        }
    }

    /// An explanation of a kept call: its timeline, its log as far as it is kept, the callee's devices, as things stand
    /// at a moment of the wall clock.
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

    /// The whole explanation: what call it was, its ladder, the verdict.
    public var text: String { "\(title)\n\n\(ladder)\n\(verdict)\n" }

    private var title: String {
        let name = record.displayName.map { " (\(Self.printable($0)))" } ?? ""
        var text =
            "Call \(record.id.text), epoch \(record.epoch): \(record.caller.text)\(name) calls \(record.callee.text), "
        text += "\(record.hasVideo ? "video" : "audio"), \(Timestamp.text(record.startedAt))"
        return text
    }

    /// Text of a user's making as it may be printed: one line, no control characters, none that turns the line around.
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

    /// A moment as an offset from the offer: `+0.21 s`.
    func offset(_ moment: Moment) -> String { "+" + Self.seconds(moment - record.startedAt) }

    /// A span in seconds with two decimals.
    static func seconds(_ span: Moment.Span) -> String {
        let hundredths = (span.milliseconds + 5) / 10
        let rest = String(hundredths % 100)
        return "\(hundredths / 100).\(rest.count < 2 ? "0" : "")\(rest) s"
    }
}
