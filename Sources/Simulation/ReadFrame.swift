import CallClient
import CallCore
import CallWire

/// A frame of the server's, read once for everybody who looks at it: one array goes to several devices, and the checks
/// read it before it leaves and when it arrives.
final class ReadFrame {
    /// The frame, with the room in front for a transport's header.
    let bytes: [UInt8]
    /// `nil` when the frame is no object.
    let object: JSONObject?
    let type: String?
    /// Whose words the frame relays.
    let from: String?
    let seq: UInt64?

    /// The call that the frame belongs to, as its receiver names it.
    enum Place {
        /// It belongs to no call.
        case nowhere
        case call(CallName)
        /// It is of a room that is not the receiver's.
        case foreign(CallID, room: String)
    }

    private let room: String?
    private let callID: CallID?
    private let epoch: UInt32
    private var places: [(user: UserID, place: Place)] = []
    /// The cached value of ``fingerprint``.
    private var known: UInt64?
    private var knownIncoming: Incoming?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        object = Reading.object(inFrame: bytes)
        type = object?.text(of: .type)
        from = object?.text(of: .from)
        seq = object?.number(of: .seq).map { UInt64($0) }
        let epoch = object?.number(of: .epoch)
        self.epoch = UInt32(truncatingIfNeeded: epoch ?? 0)
        callID = epoch == nil ? nil : object?.text(of: .callId).flatMap { CallID($0) }
        room = object?.text(of: .room)
    }

    var isOffer: Bool { type == "offer" }

    /// The frame as the client core reads it.
    var incoming: Incoming {
        if let knownIncoming { return knownIncoming }
        let read = Incoming(Array(bytes[WireLimits.headroom...]))
        knownIncoming = read
        return read
    }

    /// A number that is another one for any other entry.
    var fingerprint: UInt64 {
        if let known { return known }
        let new = object.map { Self.fingerprint(of: $0) } ?? 0
        known = new
        return new
    }

    static func fingerprint(of object: JSONObject) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        let words = [
            object.text(of: .type), object.text(of: .id), object.text(of: .fromDevice), object.text(of: .state),
            object.text(of: .reason),
        ]
        for word in words {
            for byte in (word ?? "-").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = hash &* 31
        }
        return hash
    }

    func place(for user: UserID) -> Place {
        guard let room, let callID else { return .nowhere }
        if let known = places.first(where: { $0.user == user }) { return known.place }
        let place = Self.place(of: callID, epoch, in: room, for: user)
        places.append((user, place))
        return place
    }

    static func place(of id: CallID, _ epoch: UInt32, in room: String, for user: UserID) -> Place {
        guard let peer = Reading.peer(inRoom: room, of: user) else { return .foreign(id, room: room) }
        return .call(CallName(id: id, pair: Pair(user, peer), epoch: epoch))
    }
}
