import CallClient
import CallCore
import CallWire
import JSON

/// A frame of the server, parsed once for all its readers.
///
/// The same frame goes to several devices, and the checks read it before it is sent and when it arrives.
final class ParsedFrame {
    /// The frame, with its headroom for a transport's header.
    let bytes: [UInt8]
    /// The frame as an object; `nil` when it is not an object.
    let object: JSONObject?
    let type: String?
    /// The user whose signal the frame relays.
    let from: String?
    let seq: UInt64?
    /// The callee's device that answered, in a `call` frame.
    let answeringDevice: String?

    /// The call that the frame belongs to, by the name that its receiver uses.
    enum Place {
        /// The frame belongs to no call.
        case nowhere
        case call(CallName)
        /// The frame belongs to a room that is not the receiver's.
        case foreign(CallID, room: String)
    }

    private let room: String?
    private let callID: CallID?
    private let epoch: UInt32
    private var places: [(user: UserID, place: Place)] = []
    /// The cached value of ``fingerprint``.
    private var known: UInt64?
    private var knownIncoming: ServerMessage?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        object = MessageReader.object(inFrame: bytes)
        type = object?.text(of: .type)
        from = object?.text(of: .from)
        seq = object?.number(of: .seq).map { UInt64($0) }
        answeringDevice = type == "call" ? object?.inner(of: .answeredBy)?.text(of: .device) : nil
        let epoch = object?.number(of: .epoch)
        self.epoch = UInt32(truncatingIfNeeded: epoch ?? 0)
        callID = epoch == nil ? nil : object?.text(of: .callId).flatMap { CallID($0) }
        room = object?.text(of: .room)
    }

    var isOffer: Bool { type == "offer" }

    /// The frame as the client core parses it.
    var incoming: ServerMessage {
        if let knownIncoming { return knownIncoming }
        let read = ServerMessage(Array(bytes[Frame.headroom...]))
        knownIncoming = read
        return read
    }

    /// A hash of the entry's type, id, sending device, state and reason, to notice two different entries under one
    /// `seq`; 0 if the frame is not an object.
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
        guard let peer = MessageReader.peer(inRoom: room, of: user) else { return .foreign(id, room: room) }
        return .call(CallName(id: id, pair: Pair(user, peer), epoch: epoch))
    }
}
