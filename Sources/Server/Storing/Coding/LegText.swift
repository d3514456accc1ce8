package import CallCore
import CallPorts
import JSON

/// The legs of a call as the JSON text of one column.
///
/// The legs change with their call and are never queried without the call.
package enum LegText {
    /// Returns the text of these legs.
    ///
    /// `[{"device":"iphone-a","mark":"ff","caller":true,"phase":"active"}]`
    package static func encode(_ legs: [Leg]) -> String {
        guard !legs.isEmpty else { return "[]" }
        var json = JSONWriter(capacity: 128 * legs.count)
        json.beginArray()
        for leg in legs {
            json.beginObject()
            json.name("device")
            json.plain(leg.device.id.text)
            json.name("mark")
            json.plain(String(leg.device.fingerprint.rawValue, radix: 16))
            json.name("caller")
            json.value(leg.side == .caller)
            json.name("phase")
            json.plain(leg.phase.rawValue)
            json.endObject()
        }
        json.endArray()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// A part of the legs' text that is there if and only if one of their devices may not know of the end.
    package static let uninformed = "\"\(Leg.Phase.endNotDelivered.rawValue)\""

    /// Returns the legs in a text that ``encode(_:)`` wrote; `nil` for any other text.
    package static func decode(_ text: String) -> [Leg]? {
        if text == "[]" { return [] }
        let bytes = Array(text.utf8)
        // The kind of the JSON error is not needed: the calling code reports which call is damaged.
        guard let array = try? JSONArray(bytes, in: 0..<bytes.count) else { return nil }
        var legs: [Leg] = []
        for element in array.elements {
            // The kind of this error is not needed either.
            guard let leg = try? JSONObject(bytes, names: .none, in: element.value),
                let device = leg.text("device").flatMap({ DeviceID($0) }),
                let fingerprint = leg.text("mark").flatMap({ UInt64($0, radix: 16) }),
                let isCaller = leg.flag("caller"), let phase = leg.text("phase").flatMap({ Leg.Phase(rawValue: $0) })
            else { return nil }
            let identity = DeviceIdentity(id: device, fingerprint: TokenFingerprint(rawValue: fingerprint))
            legs.append(Leg(device: identity, side: isCaller ? .caller : .callee, phase: phase))
        }
        return legs
    }
}
