public import CallCore

/// The readable part of a push that rings, a VoIP push or a Firebase message (protocol, section 6).
///
/// Reading never fails: a member that is missing or of another kind is `nil`.
public struct IncomingPush: Equatable, Sendable {
    /// Whether the push announces an incoming call: its `type` is `call.incoming` or absent.
    public var isIncomingCall: Bool
    /// The callId.
    public var callID: CallID?
    /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and peer.
    public var epoch: UInt32?
    /// The UUID under which to report the call to the system.
    public var uuid: CallUUID?
    /// The user that calls.
    ///
    /// The id is taken from `fromUserId`, `callerId` or `handle`, else from the room, else from a callId that consists
    /// of the caller's id, `-` and this user's id.
    public var from: UserID?
    /// The user that is called, as the server names it; `nil` = the push names nobody.
    public var to: UserID?
    /// The caller as the system displays it.
    public var caller: CallClient.DisplayedPeer
    /// When the server sent the push, by the server's clock.
    public var sentAt: Moment?
    /// When ringing stops, by the server's clock.
    public var ringUntil: Moment?
    /// The capability that authorises requests for this call, as `Authorization: Ring <act>`.
    public var capability: String?
    /// The caller's description.
    public var offer: String?
    /// The schedule by which the server itself begins the call; `nil` = a user calls.
    public var schedule: IncomingSchedule?

    /// Reads the dictionary of a push that `user` received.
    public init(_ push: [String: PushValue], for user: UserID) {
        func text(_ name: String) -> String? {
            switch push[name] {
            case .string(let text)? where !text.isEmpty: text
            case .int(let number)?: String(number)
            case .string?, .bool?, .double?, .null?, .json?, .other?, nil: nil
            }
        }
        func number(_ name: String) -> Int64? {
            switch push[name] {
            case .int(let number)?: number
            case .double(let number)?: Int64(exactly: number.rounded())
            case .string(let text)?: Int64(text)
            case .bool?, .null?, .json?, .other?, nil: nil
            }
        }
        // A value outside this range cannot be a moment of a call, and arithmetic with it would be meaningless.
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
        to = text("toUserId").flatMap { UserID($0) }
        // In a Firebase message all values are strings.
        func flag(_ name: String) -> Bool { [.bool(true), .int(1), .string("true")].contains(push[name]) }
        caller = CallClient.DisplayedPeer(
            handle: text("handle") ?? from?.text ?? "unknown",
            handleType: text("handleType").flatMap { CallClient.HandleType(rawValue: $0) } ?? .generic,
            name: text("fromDisplayName") ?? text("callerName"),
            hasVideo: flag("hasVideo")
        )
        sentAt = moment("sentAt")
        ringUntil = moment("ringUntil")
        capability = text("act")
        offer = text("offer")
        if flag("scheduled") { schedule = IncomingSchedule(push: push) }
    }

    /// Returns the other user of a room of two; `nil` for every other room.
    static func peer(inRoom room: String, of user: UserID) -> UserID? {
        guard
            case .success(.pair(let peer)) = Result(catching: { () throws(Room.Refusal) in try Room(room, for: user) })
        else { return nil }
        return peer
    }
}
