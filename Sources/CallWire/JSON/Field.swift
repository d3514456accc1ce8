/// The member names that the protocol gives a meaning; all others are the app's and are relayed untouched.
public enum Field: UInt8, CaseIterable, Sendable {
    // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
    case type, id, callId, room, to, epoch, sdp, hasVideo, displayName, ringTimeout, candidate, reason, hold,
        audioMuted,
        videoMuted, digits, data, token, calls, from, fromDevice, seq, ts, callUUID, ringUntil, waiting, deviceId,
        action, signalType, user_id, userId, blocked_user_id, voipDeviceToken, apnsDeviceToken, fcm_token, bundleId,
        platform, environment, until, callee_id, call_type, begin, body

    /// The name as it stands in JSON.
    public var name: String { "\(self)" }

    /// Every field's name as bytes, by its raw value.
    private static let names: [[UInt8]] = allCases.map { Array($0.name.utf8) }
    /// The fields whose names are so many bytes long.
    private static let byLength: [[Field]] = (0...16).map { length in
        allCases.filter { names[Int($0.rawValue)].count == length }
    }

    /// The field whose name stands in a part of a JSON text; escapes in it count as the characters they stand for.
    init?(named part: Range<Int>, in bytes: [UInt8]) {
        if bytes[part].contains(UInt8(ascii: "\\")) {
            guard let name = JSONText.decoded(bytes[part]), let field = Self(name[...]) else { return nil }
            self = field
        } else {
            guard let field = Self(bytes[part]) else { return nil }
            self = field
        }
    }

    private init?(_ name: ArraySlice<UInt8>) {
        guard name.count < Self.byLength.count else { return nil }
        for field in Self.byLength[name.count] where name.elementsEqual(Self.names[Int(field.rawValue)]) {
            self = field
            return
        }
        return nil
    }
}
