import JSON

/// A relayed object that is parsed again, for a fetch or a push.
///
/// Relaying an ordinary signal never needs it.
public struct RelayedObject: Sendable {
    private let object: JSONObject

    /// Parses a frame with its headroom; `nil` if it does not contain exactly one JSON object.
    public init?(_ frame: [UInt8]) {
        guard frame.count > Frame.headroom,
            // The server wrote the frame, so the caller cannot do anything about the kind of fault.
            let object = try? JSONObject(frame, in: Frame.headroom..<frame.count)
        else { return nil }
        self.object = object
    }

    /// Returns a field's value as written, unless it is absent or null.
    public func value(of field: Field) -> ArraySlice<UInt8>? { object[field].map { object.bytes[$0.value] } }

    /// The signal's own members, without those that the server wrote around it, separated by commas.
    public var ownMembers: [UInt8] {
        object.copy(leavingOut: [.type, .callId, .room, .epoch, .seq, .ts, .from, .fromDevice, .id])
    }
}
