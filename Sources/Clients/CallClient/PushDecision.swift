public import CallCore

/// The decision on a VoIP push: how it is reported to the system.
///
/// iOS ends an app that does not report a VoIP push, and then withholds further pushes. So every decision contains a
/// report. ``CallClient`` makes the decision and applies it when it receives ``CallClient/Input/pushed(_:)``.
public enum PushDecision: Equatable, Sendable {
    /// The call is new to this device: report it and let it ring.
    case ring
    /// There is nothing to ring for: report a call and end it immediately, for this reason.
    case reportThenEnd(EndReason)
    /// A call with this UUID is known already: report it again; the system does not ring again.
    ///
    /// It is the call of the push, or this device's own call to the same peer (glare).
    case attachToExisting(CallUUID)

    /// The knowledge of a device when a push arrives.
    public struct Context: Equatable, Sendable {
        /// The user of the device.
        public var user: UserID
        /// The calls that the device knows, live or ended, in the order in which they came.
        public var calls: [Known]
        /// Whether there are as many calls as the configuration allows.
        public var isFull: Bool
        /// How far the device's clock is ahead of the server's clock; `nil` = unknown.
        public var clockSkew: Moment.Duration?

        /// Creates a context from its parts.
        public init(user: UserID, calls: [Known] = [], isFull: Bool = false, clockSkew: Moment.Duration? = nil) {
            self.user = user
            self.calls = calls
            self.isFull = isFull
            self.clockSkew = clockSkew
        }
    }

    /// A call that the device knows.
    public struct Known: Equatable, Sendable {
        /// The UUID by which the system identifies the call.
        public var uuid: CallUUID
        /// The callId.
        public var callID: CallID
        /// The other user.
        public var peer: UserID
        /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and peer; `nil` = not
        /// known yet.
        public var epoch: UInt32?
        /// When ringing stops, by the server's clock, as the server stated it; `nil` = not stated.
        public var ringUntil: Moment?
        /// How far the call has got.
        public var state: State

        /// Creates a call from its parts.
        public init(
            uuid: CallUUID,
            callID: CallID,
            peer: UserID,
            epoch: UInt32?,
            ringUntil: Moment?,
            state: State
        ) {
            self.uuid = uuid
            self.callID = callID
            self.peer = peer
            self.epoch = epoch
            self.ringUntil = ringUntil
            self.state = state
        }
    }

    /// How far a known call has got.
    public enum State: Equatable, Sendable {
        /// The call is incoming and the system shows it.
        case incoming
        /// The call is outgoing and not answered yet.
        case calling
        /// The call is outgoing and was answered.
        case answered
        /// The call came in while this device was calling the same peer. The outgoing call, which has the UUID `by`,
        /// continues, and the incoming call is not shown.
        case hiddenByOutgoingCall(by: CallUUID)
        /// The call has ended.
        case ended(EndReason)
    }

    /// Returns the decision on the dictionary of a push, even if the dictionary is malformed.
    public static func of(_ push: [String: PushValue], _ context: Context, at now: Moment) -> PushDecision {
        of(IncomingPush(push, for: context.user), context, at: now)
    }

    /// Returns the decision on a push that was read already.
    public static func of(_ push: IncomingPush, _ context: Context, at now: Moment) -> PushDecision {
        if isForOther(push, than: context.user) { return .reportThenEnd(.failed) }
        guard push.isIncomingCall, let callID = push.callID, let from = push.from, from != context.user else {
            return .reportThenEnd(.failed)
        }
        var isFull = context.isFull
        for known in context.calls.reversed() where known.callID == callID && known.peer == from {
            switch age(of: push, against: known) {
            case .same:
                switch known.state {
                case .incoming: return .attachToExisting(known.uuid)
                case .hiddenByOutgoingCall(let uuid): return .attachToExisting(uuid)
                case .ended(let reason): return .reportThenEnd(reason)
                // Both users call each other under the same callId: the push is reported under the UUID of this
                // device's call.
                case .calling, .answered: return .attachToExisting(known.uuid)
                }
            case .older: return .reportThenEnd(.replaced)
            case .newer:
                switch known.state {
                case .ended, .hiddenByOutgoingCall: break
                // The known call ends, because its callId is used for a new call: that makes room for the new call.
                case .incoming, .calling, .answered: isFull = false
                }
            }
        }
        if isLate(push, context, at: now) { return .reportThenEnd(.unanswered) }
        // Both users call each other. Only one of the two calls continues, and the system knows that call by the UUID
        // of the outgoing call. No user makes a scheduled call.
        if push.schedule == nil, let own = context.calls.last(where: { $0.peer == from && $0.state == .calling }) {
            return .attachToExisting(own.uuid)
        }
        return isFull ? .reportThenEnd(.busy) : .ring
    }

    /// Returns whether a push is for another user than the core's.
    ///
    /// Either that user signed out and the server was not told, or several users are signed in and the push belongs to
    /// another core.
    static func isForOther(_ push: IncomingPush, than user: UserID) -> Bool { push.to.map { $0 != user } ?? false }

    private enum Age { case same, older, newer }

    /// Returns whether a push is about a known call with the same callId and peer, or about an older or a newer call.
    private static func age(of push: IncomingPush, against known: Known) -> Age {
        if let epoch = push.epoch, let knownEpoch = known.epoch {
            return epoch == knownEpoch ? .same : epoch < knownEpoch ? .older : .newer
        }
        if push.uuid == known.uuid { return .same }
        guard case .ended = known.state else { return .same }
        // There are no epochs to compare, the UUIDs differ and the known call has ended. If the push and the known call
        // have the same `ringUntil`, the push is about the known call; otherwise it is about a newer call.
        return push.ringUntil != nil && push.ringUntil == known.ringUntil ? .same : .newer
    }

    /// Returns whether ringing has stopped by the time the push arrives.
    private static func isLate(_ push: IncomingPush, _ context: Context, at now: Moment) -> Bool {
        var skew = context.clockSkew ?? Moment.Duration.seconds(0)
        // A push arrives after it was sent, so this device's clock is ahead of the server's by at most `now - sentAt`.
        // If this difference is negative, the clock is behind.
        if let sentAt = push.sentAt { skew = min(skew, now - sentAt) }
        let until = push.ringUntil ?? push.sentAt.map { $0 + ClientLimits.longestRing }
        return until.map { now > $0 + skew } ?? false
    }
}
