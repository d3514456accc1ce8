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

    /// The kind of the caller's address that an offer names; `nil` = it names none that is known.
    public var handleType: IncomingCallPayload.HandleType? {
        object.text("handleType").flatMap(IncomingCallPayload.HandleType.init(rawValue:))
    }

    /// Returns the text of a member that the app names; `nil` if it is absent or no string.
    public func text(_ name: String) -> String? { object.text(name) }

    /// The signal's own members, without those that the server wrote around it, separated by commas.
    public var ownMembers: [UInt8] {
        object.copy(leavingOut: [.type, .callId, .room, .epoch, .seq, .ts, .from, .fromDevice, .id])
    }
}
