import CallCore
package import CallPorts
import CallWire
import JSON

/// The text of a timeline's event in the database.
extension TimelineEvent {
    /// The details as members of a JSON object, without the braces; may be empty.
    package var details: String {
        if case .other(_, let details) = self { return details }
        var json = JSONWriter()
        json.beginObject()
        json.details(of: self)
        json.endObject()
        return String(decoding: json.bytes.dropFirst().dropLast(), as: UTF8.self)
    }

    /// The event with this name and these details.
    ///
    /// The event is `other` if this version would write different text for it, so that no stored text
    /// is lost.
    package init(name: String, details: String) {
        let other = Self.other(name: name, details: details)
        let known = StoredDetails(details).flatMap { Self.event(name, $0) } ?? other
        self = known.details == details && known.name == name ? known : other
    }

    private static func event(_ name: String, _ stored: StoredDetails) -> Self? {
        switch name {
        case "scheduled": scheduled(stored)
        case "blocked": stored["by"] == "number" ? .numberBlocked : .blocked
        case "dnd": .doNotDisturb
        case "name_taken": .callIDTaken
        case "crowded": .tooManyCallers
        case "decided": decided(stored)
        case "no_device": .noDevice
        case "restarted": .restarted
        case "taken_over": stored["node"].map { .takenOver(node: $0) }
        case "delivered.socket": stored.device.map { .delivered($0) }
        case "fetched": stored.device.map { .fetched($0) }
        case "probe": stored.device.map { .probe($0) }
        case "probe.failed": stored.device.map { .probeFailed($0) }
        case "push.cancelled": stored.device.map { .pushCancelled($0) }
        case "push.lowered": stored.device.map { .pushLowered($0) }
        case "device.silenced": silenced(stored)
        case "push.sent": push(stored) { .pushSent($0, $1, $2) }
        case "push.result":
            push(stored) {
                .pushResult($0, status: stored.number("status").map { Int($0) }, reason: stored["reason"], $1, $2)
            }
        case "logged_out": stored["side"].flatMap { Side(rawValue: $0) }.map { .tokensRevoked($0) }
        case "ring.refused": ringRefused(stored)
        case "ring.skipped": stored["why"].flatMap { SkippedRing(rawValue: $0) }.map { .ringSkipped($0) }
        case "repeated": repeated(stored)
        case "omitted": stored.number("count").map { .omitted(count: Int($0)) }
        case "ended": stored["reason"].flatMap { EndReason(rawValue: $0) }.map { .ended($0) }
        case "offer": signal(.offer, stored)
        default:
            name.hasPrefix("signal.")
                ? SignalKind(rawValue: String(name.dropFirst(7))).flatMap { signal($0, stored) } : nil
        }
    }

    private static func signal(_ kind: SignalKind, _ stored: StoredDetails) -> Self? {
        guard let side = stored["side"].flatMap({ Side(rawValue: $0) }), let device = stored.device,
            let seq = stored.number("seq")
        else { return nil }
        return .signal(kind, from: side, device: device, seq: UInt64(seq))
    }

    private static func scheduled(_ stored: StoredDetails) -> Self? {
        guard let id = stored["schedule"].flatMap({ ScheduleID($0) }), let occurrence = stored.number("occurrence"),
            let ring = stored.number("ring")
        else { return nil }
        return .scheduled(id, occurrence: Moment(milliseconds: occurrence), ring: Int(ring))
    }

    private static func silenced(_ stored: StoredDetails) -> Self? {
        guard let device = stored.device, let why = stored["why"].flatMap({ Silence(rawValue: $0) }) else { return nil }
        return .silenced(device, why)
    }

    private static func push(_ stored: StoredDetails, _ event: (DeviceID, Push, APNsEnvironment?) -> Self) -> Self? {
        guard let device = stored.device, let push = stored["kind"].flatMap({ Push(rawValue: $0) }) else { return nil }
        guard let word = stored["environment"] else { return event(device, push, nil) }
        return APNsEnvironment(rawValue: word).map { event(device, push, $0) }
    }

    private static func decided(_ stored: StoredDetails) -> Self? {
        guard let outcome = stored["outcome"].flatMap({ DecisionOutcome(rawValue: $0) }),
            let waited = stored.number("milliseconds")
        else { return nil }
        return .decided(outcome, code: stored["code"], after: .milliseconds(waited))
    }

    private static func ringRefused(_ stored: StoredDetails) -> Self? {
        guard let limit = stored["limit"].flatMap({ RingLimit(rawValue: $0) }),
            let from = stored["from"].flatMap({ UserID($0) }), let count = stored.number("count")
        else { return nil }
        return .ringRefused(limit, from: from, count: Int(count))
    }

    private static func repeated(_ stored: StoredDetails) -> Self? {
        guard let event = stored["of"].flatMap({ Repeatable(rawValue: $0) }), let device = stored.device,
            let count = stored.number("count")
        else { return nil }
        return .repeated(event, device, count: Int(count))
    }
}

/// The members of an event's stored details.
private struct StoredDetails {
    private let object: JSONObject

    init?(_ text: String) {
        // The kind of the fault is not needed: the text is then kept as it is.
        guard let object = try? JSONObject(Array("{\(text)}".utf8)) else { return nil }
        self.object = object
    }

    private func member(_ name: String) -> JSONObject.Member? {
        object.members.first { object.name(of: $0) == name }
    }

    /// The text of a member.
    subscript(name: String) -> String? { member(name).flatMap { object.string($0) } }

    /// Returns the number in a member; `nil` if there is none, or if it is negative.
    func number(_ name: String) -> Int64? {
        member(name).flatMap { object.integer($0) }.flatMap { $0 < 0 ? nil : $0 }
    }

    var device: DeviceID? { self["device"].flatMap { DeviceID($0) } }
}
