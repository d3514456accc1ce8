import CallClient
import CallCore
import CallWire
import JSON

/// The name of a member that devices read in the server's messages.
struct Key {
    let name: String
    let bytes: [UInt8]

    init(_ name: String) {
        self.name = name
        bytes = Array(name.utf8)
    }

    static let type = Key("type")
    static let id = Key("id")
    static let callId = Key("callId")
    static let room = Key("room")
    static let epoch = Key("epoch")
    static let seq = Key("seq")
    static let ts = Key("ts")
    static let from = Key("from")
    static let fromDevice = Key("fromDevice")
    static let state = Key("state")
    static let reason = Key("reason")
    static let code = Key("code")
    static let replacedBy = Key("replacedBy")
    static let answeredBy = Key("answeredBy")
    static let device = Key("device")
    static let ringUntil = Key("ringUntil")
    static let sentAt = Key("sentAt")
    static let fromUserId = Key("fromUserId")
    static let signals = Key("signals")
    static let next = Key("next")
    static let to = Key("to")
    static let sdp = Key("sdp")
    static let candidate = Key("candidate")
    static let data = Key("data")
    static let round = Key("round")
    static let reconnectAfterMs = Key("reconnectAfterMs")
    static let shown = Key("shown")
}

/// Functions that read bytes as devices do.
enum MessageReader {
    /// Returns a member that is a number or, as in a Firebase message, the text of a number.
    static func number(_ field: Key, in object: JSONObject) -> Int64? {
        object.number(of: field) ?? object.text(of: field).flatMap { Int64($0) }
    }

    /// Returns the bytes of all names and values of an object of strings.
    static func dataBytes(of object: [UInt8]) -> Int {
        guard let object = Self.object(object) else { return 0 }
        return object.members.reduce(0) { sum, member in
            sum + member.name.count + (object.string(member)?.utf8.count ?? member.value.count)
        }
    }

    /// Returns the object in these bytes; `nil` when they are not an object.
    static func object(_ bytes: [UInt8]) -> JSONObject? {
        object(bytes, from: 0)
    }

    /// Returns the object that begins at `start`; `nil` when there is no object.
    static func object(_ bytes: [UInt8], from start: Int) -> JSONObject? {
        guard start < bytes.count else { return nil }
        // For a device it makes no difference how the bytes break the grammar.
        return try? JSONObject(bytes, in: start..<bytes.count)
    }

    /// Returns the object in a frame, after the headroom for a transport's header.
    static func object(inFrame frame: [UInt8]) -> JSONObject? { object(frame, from: Frame.headroom) }

    /// Returns how long a server that shuts down asks its clients to stay away, in milliseconds.
    ///
    /// Returns `nil` for a frame other than `draining`.
    static func pause(in frame: ParsedFrame) -> Int64? {
        frame.type == "draining" ? frame.object?.number(of: .reconnectAfterMs) : nil
    }

    /// Returns the peer of `user` in a room; `nil` when the room is not one of two users, or `user` is not in it.
    static func peer(inRoom room: String, of user: UserID) -> UserID? {
        // It makes no difference why the room is not one of the user.
        guard case .pair(let peer)? = try? Room(room, for: user) else { return nil }
        return peer
    }

    /// Returns a push's payload as the system passes it to the app.
    static func push(_ payload: [UInt8]) -> [String: PushValue] {
        var push: [String: PushValue] = [:]
        guard let object = object(payload) else { return push }
        for member in object.members {
            guard let name = object.name(of: member) else { continue }
            push[name] =
                switch member.kind {
                case .string: object.string(member).map { .string($0) } ?? .other
                case .number: object.integer(member).map { .int($0) } ?? .other
                case .true: .bool(true)
                case .false: .bool(false)
                case .null: .null
                case .object, .array: .other
                }
        }
        return push
    }
}

extension JSONObject {
    private func find(_ member: Key) -> JSONObject.Member? {
        self.member(named: member.bytes)
    }

    func text(of member: Key) -> String? { find(member).flatMap { string($0) } }

    func number(of member: Key) -> Int64? { find(member).flatMap { integer($0) } }

    /// Returns the raw text of the value.
    func raw(of member: Key) -> String? {
        find(member).map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }

    func inner(of member: Key) -> JSONObject? { find(member).flatMap { inner($0) } }

    /// Returns the elements of an array of objects.
    func elements(of member: Key) -> [[UInt8]] {
        guard let list = find(member).flatMap({ array($0) }) else { return [] }
        return list.elements.compactMap { $0.kind == .object ? Array(bytes[$0.value]) : nil }
    }
}
