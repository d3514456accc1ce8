/// A relayed object, looked into again: for a fetch or a push, never on the way of an ordinary signal.
public struct RelayedObject: Sendable {
    private let object: JSONObject

    /// Looks into a frame with its headroom; `nil` when it is not one of ours.
    public init?(_ frame: [UInt8]) {
        guard frame.count > WireLimits.headroom,
            // We wrote it: what could be wrong with it is of no use to the caller.
            let object = try? JSONObject(frame, in: WireLimits.headroom..<frame.count)
        else { return nil }
        self.object = object
    }

    /// A field's value as it stands there, unless it is absent or null.
    public func value(of field: Field) -> ArraySlice<UInt8>? { object[field].map { object.bytes[$0.value] } }

    /// The members of the signal itself, without what the server wrote around it, comma between them.
    public var ownMembers: [UInt8] {
        object.copy(leavingOut: [.type, .callId, .room, .epoch, .seq, .ts, .from, .fromDevice, .id])
    }
}
