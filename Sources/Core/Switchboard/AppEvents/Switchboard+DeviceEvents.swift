import CallCore
import CallPorts
import JSON

/// The events of devices, pushes and schedules for the app's backend (protocol, section 13).
///
/// No event has a push token.
extension Switchboard {
    /// Why a device, or one of its push tokens, was removed.
    enum RemovedWhy: String {
        /// APNs or the browser's push service says that the app or the subscription is gone (410).
        case unregistered
        /// The push service knows no such token.
        case badToken = "bad_token"
        /// Another device has registered the token.
        case takenOver = "taken_over"
        /// The user, or a service for them, has removed the device or revoked the tokens.
        case loggedOut = "logged_out"
        /// The user has registered too many devices; this one was seen least recently.
        case limit
    }

    /// Reports a device that is new, or has changed what it can be reached by.
    mutating func reportRegistered(_ device: DeviceRecord, after earlier: DeviceRecord?) {
        guard appEvents.isWanted(.deviceRegistered) else { return }
        let isSame =
            earlier.map { earlier in
                earlier.bundleID == device.bundleID && earlier.platform == device.platform
                    && PushKind.allCases.allSatisfy { earlier.token(for: $0) == device.token(for: $0) }
            } ?? false
        guard !isSame else { return }
        let data = Self.data { json in json.device(device) }
        add(.deviceRegistered, about: device.user, at: turn.now, data: data)
    }

    /// Reports that a device was removed; if only its token for a kind of push was, `kind` names it.
    mutating func reportRemoved(_ device: DeviceRecord, _ why: RemovedWhy, kind: PushKind? = nil) {
        guard appEvents.isWanted(.deviceRemoved) else { return }
        let data = Self.data { json in
            json.device(device)
            json.name("kind")
            if let kind { json.plain(kind.rawValue) } else { json.null() }
            json.name("why")
            json.plain(why.rawValue)
        }
        add(.deviceRemoved, about: device.user, at: turn.now, data: data)
    }

    /// Reports that a device is rung by alerts from now on, because it did not react to VoIP pushes.
    mutating func reportDegraded(_ device: DeviceRecord) {
        let isReached = device.unansweredPushes == DeviceRecord.pushesUntilAlert
        guard appEvents.isWanted(.pushDegraded), isReached else { return }
        let data = Self.data { json in
            json.device(device)
            json.name("unansweredPushes")
            json.value(Int64(device.unansweredPushes))
        }
        add(.pushDegraded, about: device.user, at: turn.now, data: data)
    }

    /// Reports, once an hour for each reason, that a push service refuses pushes for a reason that is no device's.
    mutating func reportRefused(_ result: PushResult, _ kind: PushKind) {
        guard appEvents.isWanted(.pushRefused), !result.condemnsToken(of: kind),
            case .response(let status, let reason, _) = result, !result.isAccepted
        else { return }
        let service = policy.service(of: kind)
        let word = reason ?? String(status)
        guard appEvents.noteRefusal("\(kind.rawValue) \(word)", at: turn.now) else { return }
        let hint = service?.hint(for: result)
        let data = Self.data { json in
            json.name("kind")
            json.plain(kind.rawValue)
            json.name("status")
            json.value(Int64(status))
            json.name("reason")
            if let reason { json.value(reason) } else { json.null() }
            json.name("hint")
            if let hint { json.value(hint) } else { json.null() }
        }
        add(.pushRefused, at: turn.now, data: data)
    }

    /// Reports what has become of an occurrence of a schedule.
    mutating func reportOccurrence(_ type: AppEventType, of record: ScheduleRecord, _ occurrence: Moment, rings: Int) {
        guard appEvents.isWanted(type) else { return }
        let data = Self.data { json in
            json.name("user")
            json.plain(record.user.text)
            json.name("schedule")
            json.plain(record.id.text)
            json.name("occurrence")
            json.value(occurrence.milliseconds)
            json.name("rings")
            json.value(Int64(rings))
        }
        add(type, about: record.user, at: turn.now, data: data)
    }

    private static func data(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        write(&json)
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes a device as a member, without its tokens.
    fileprivate mutating func device(_ device: DeviceRecord) {
        name("device")
        beginObject()
        name("user")
        plain(device.user.text)
        name("device")
        plain(device.id.text)
        name("platform")
        value(device.platform)
        name("bundleId")
        value(device.bundleID)
        name("kinds")
        array(device.routes.entries.map(\.kind.rawValue)) { kind, json in json.plain(kind) }
        endObject()
    }
}
