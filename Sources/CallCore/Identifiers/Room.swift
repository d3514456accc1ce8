/// Where a signal is sent: the room of two people, or a group's.
public enum Room: Equatable, Sendable {
    /// `p2p:<caller>-<callee>`: the asking user and the one they share the room with.
    case pair(with: UserID)
    /// `room:<name>`, with its full name.
    case group(String)

    /// Why a room's name means nothing to a user.
    public enum Refusal: Error, Equatable, Sendable {
        /// It is not of either form.
        case malformed
        /// The user stands at neither end, or it can be split in two ways.
        case foreign
    }

    /// What the name means to an authenticated user.
    ///
    /// User ids may contain `-`, so the split is found by matching `user` at either end (protocol, section 1). A name
    /// that can be split in two ways is refused: a guess could ring a stranger.
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

    /// The name of the room in which `caller` calls `callee`.
    public static func name(caller: UserID, callee: UserID) -> String { "p2p:\(caller.text)-\(callee.text)" }

    /// The peer in a callId of the form `<me>-<peer>`, as existing apps choose it; `nil` when it is not of the form.
    public static func peer(inCallID id: CallID, for user: UserID) -> UserID? {
        guard id.text.hasPrefix(user.text + "-") else { return nil }
        return UserID(String(id.text.dropFirst(user.text.count + 1)))
    }
}
