public import CallCore
import JSON

/// A relayed object that is parsed again, for a fetch or a push.
///
/// When the server relays an ordinary signal, it parses no object again.
public struct RelayedObject: Sendable {
    private let object: JSONObject

    /// Parses a frame with its headroom; `nil` if it does not contain exactly one JSON object.
    public init?(_ frame: [UInt8]) {
        guard frame.count > Frame.headroom,
            // The server itself wrote the frame, so the kind of fault would not help the calling code.
            let object = try? JSONObject(frame, in: Frame.headroom..<frame.count)
        else { return nil }
        self.object = object
    }

    /// Returns a field's value as written, unless it is absent or null.
    public func value(of field: Field) -> ArraySlice<UInt8>? { object[field].map { object.bytes[$0.value] } }

    /// The caller's address that an offer names, and its kind; the address is `nil` if it is the user id.
    ///
    /// A handle is cleaned as a name is; one without visible characters counts as absent. A handle that is too long for
    /// a push counts as absent, and so does its kind.
    public var handle: (text: String?, type: IncomingCallPayload.HandleType) {
        let type = object.text("handleType").flatMap(IncomingCallPayload.HandleType.init(rawValue:)) ?? .generic
        guard let text = object.text("handle") else { return (nil, type) }
        return text.utf8.count <= WireLimits.handleBytes ? (text.shown(), type) : (nil, .generic)
    }

    /// Returns the phone numbers by which an offer shows its caller (``RelayedMembers/phoneNumbers(of:)``).
    public func phoneNumbers(of caller: UserID) -> [PhoneNumber] { object.phoneNumbers(of: caller) }

    /// The signal's own members, without those that the server wrote around it, separated by commas.
    public var ownMembers: [UInt8] {
        object.copy(leavingOut: [.type, .callId, .room, .epoch, .seq, .ts, .from, .fromDevice, .id])
    }
}
