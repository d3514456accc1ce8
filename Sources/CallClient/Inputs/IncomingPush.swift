public import CallCore

/// What a VoIP push says, as far as it can be read (protocol, section 6).
///
/// Reading it never fails: whatever is missing or of another kind is `nil`.
public struct IncomingPush: Equatable, Sendable {
    /// What it is about: `call.incoming`; also when it does not say.
    public var isIncomingCall: Bool
    /// The call.
    public var callID: CallID?
    /// Which use of its name.
    public var epoch: UInt32?
    /// What the system is to know the call by.
    public var uuid: CallUUID?
    /// Who calls.
    public var from: UserID?
    /// Who calls, as the system shows it.
    public var caller: CallClient.Caller
    /// When the server sent it, by the server's clock.
    public var sentAt: Moment?
    /// When ringing stops, by the server's clock.
    public var ringUntil: Moment?
    /// The capability.
    public var act: String?
    /// The caller's description.
    public var offer: String?

    /// Reads a dictionary for `user`.
    public init(_ push: [String: PushValue], for user: UserID) {
        func text(_ name: String) -> String? {
            switch push[name] {
            case .string(let text)? where !text.isEmpty: text
            case .int(let number)?: String(number)
            case .string?, .bool?, .double?, .null?, .other?, nil: nil
            }
        }
        func number(_ name: String) -> Int64? {
            switch push[name] {
            case .int(let number)?: number
            case .double(let number)?: Int64(exactly: number.rounded())
            case .string(let text)?: Int64(text)
            case .bool?, .null?, .other?, nil: nil
            }
        }
        // Moments beyond these are no moments of a call; sums with them would mean nothing.
        func moment(_ name: String) -> Moment? {
            number(name).flatMap { (0..<(1 << 53)).contains($0) ? Moment(milliseconds: $0) : nil }
        }
        isIncomingCall = push["type"] == nil || push["type"] == .string("call.incoming")
        let callID = text("callId").flatMap { CallID($0) }
        self.callID = callID
        epoch = number("epoch").flatMap { UInt32(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil }
        uuid = text("callUUID").flatMap { CallUUID($0) }
        let names = ["fromUserId", "callerId", "handle"]
        var from = names.lazy.compactMap { text($0).flatMap { UserID($0) } }.first
        if from == nil, let room = text("room"), let peer = Self.peer(inRoom: room, of: user) { from = peer }
        if from == nil, let callID, callID.text.hasSuffix("-" + user.text) {
            from = UserID(String(callID.text.dropLast(user.text.count + 1)))
        }
        self.from = from
        let hasVideo = push["hasVideo"] == .bool(true) || push["hasVideo"] == .int(1)
        caller = CallClient.Caller(
            handle: text("handle") ?? from?.text ?? "unknown",
            name: text("fromDisplayName") ?? text("callerName"),
            hasVideo: hasVideo
        )
        sentAt = moment("sentAt")
        ringUntil = moment("ringUntil")
        act = text("act")
        offer = text("offer")
    }

    /// The other one of the two whose room it is; `nil` for every other room.
    static func peer(inRoom room: String, of user: UserID) -> UserID? {
        guard
            case .success(.pair(let peer)) = Result(catching: { () throws(Room.Refusal) in try Room(room, for: user) })
        else { return nil }
        return peer
    }
}
