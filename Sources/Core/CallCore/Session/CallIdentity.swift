/// The facts of a call that never change: which call it is, its two users, and whether it is hidden.
///
/// They are a value of their own so that the owner of a session can keep them beside the session. The switchboard asks
/// for them several times for each signal, and need not touch the session for that.
public struct CallIdentity: Equatable, Sendable {
    /// The number of the call, unique over all calls.
    public let number: CallNumber
    /// The callId and the two users.
    public let key: CallKey
    /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and users.
    public let epoch: UInt32
    /// The user who calls.
    public let caller: UserID
    /// The user who is called.
    public let callee: UserID
    /// Whether the call is hidden from the callee, who blocks the caller, has set do-not-disturb, or has a live call of
    /// that callId with another user.
    public let isHidden: Bool
    /// The ring of a schedule that the call is; `nil` = a user's device has begun the call.
    public let scheduled: ScheduledCall?

    /// The identity of a call that `caller`, one of the two users of `key`, begins.
    public init(
        number: CallNumber,
        key: CallKey,
        epoch: UInt32,
        caller: UserID,
        isHidden: Bool,
        scheduled: ScheduledCall? = nil
    ) {
        self.number = number
        self.key = key
        self.epoch = epoch
        self.caller = caller
        callee = key.pair.other(than: caller)
        self.isHidden = isHidden
        self.scheduled = scheduled
    }

    /// Returns the side that `user` is on; `nil` for all other users, for a callee from whom the call is hidden, and for
    /// the caller of a scheduled call.
    @inlinable
    public func side(of user: UserID) -> Side? {
        if user == caller, scheduled == nil { return .caller }
        return user == callee && !isHidden ? .callee : nil
    }

    /// Returns the user on a side.
    @inlinable
    public func user(on side: Side) -> UserID { side == .caller ? caller : callee }
}
