/// The destination of a signal: the room of two users, or the room of a group.
public enum Room: Equatable, Sendable {
    /// `p2p:<caller>-<callee>`: the room of two users, one of whom interprets the name; `with` is the other user.
    case pair(with: UserID)
    /// `room:<name>`; the text includes `room:`.
    case group(String)

    /// The reason why the name of a room is refused for a user.
    public enum Refusal: Error, Equatable, Sendable {
        /// The name has neither the form of a pair's room nor that of a group's room.
        case malformed
        /// The user is at neither end of the name, or the name can be split in two ways.
        case foreign
    }

    /// Interprets the name of a room for an authenticated user.
    ///
    /// User ids may contain `-`, so the split is found by matching `user` at either end (protocol, section 1). A name
    /// that can be split in two ways is refused, because a wrong guess could ring an unrelated user.
    public init(_ text: String, for user: UserID) throws(Refusal) {
        if text.hasPrefix("room:") {
            guard text.utf8.count > 5, UserID(String(text.dropFirst(5))) != nil else { throw .malformed }
            self = .group(text)
            return
        }
        guard text.hasPrefix("p2p:"), text.utf8.count <= 4 + 2 * Limits.identifierBytes + 1 else { throw .malformed }
        let body = text.dropFirst(4)
        guard body.contains("-") else { throw .malformed }
        let asFirst = body.hasPrefix(user.text + "-") ? UserID(String(body.dropFirst(user.text.count + 1))) : nil
        let asSecond = body.hasSuffix("-" + user.text) ? UserID(String(body.dropLast(user.text.count + 1))) : nil
        switch (asFirst, asSecond) {
        case (let peer?, nil), (nil, let peer?): self = .pair(with: peer)
        case (let a?, let b?) where a == b: self = .pair(with: a)
        default: throw .foreign
        }
    }

    private static let prefix = Array("p2p:".utf8)

    /// Returns the name of the room in which `caller` calls `callee`.
    public static func name(caller: UserID, callee: UserID) -> String {
        // An interpolated string costs four times as much.
        var name: [UInt8] = []
        name.reserveCapacity(5 + caller.text.utf8.count + callee.text.utf8.count)
        name.append(contentsOf: prefix)
        name.append(contentsOf: caller.text.utf8)
        name.append(UInt8(ascii: "-"))
        name.append(contentsOf: callee.text.utf8)
        return String(decoding: name, as: UTF8.self)
    }

    /// Returns the peer in a callId of the form `<me>-<peer>`, which existing apps use; `nil` if the callId has another
    /// form.
    public static func peer(inCallID id: CallID, for user: UserID) -> UserID? {
        guard id.text.hasPrefix(user.text + "-") else { return nil }
        return UserID(String(id.text.dropFirst(user.text.count + 1)))
    }
}
