public import CallCore

/// What a VoIP push leads to: always a report to the system, in the same turn.
///
/// iOS ends an app that does not report, and then withholds its pushes; so there is no verdict that ignores one.
public enum PushVerdict: Equatable, Sendable {
    /// A call that is new to this device: report it and let it ring.
    case ring
    /// There is nothing to ring for: report a call and end it at once, for that reason.
    case reportThenEnd(EndReason)
    /// The call is there already, under this UUID: report it once more, which rings nothing again.
    case attachToExisting(CallUUID)

    /// What a device knows when a push comes.
    public struct Local: Equatable, Sendable {
        /// Its user.
        public var user: UserID
        /// The calls that it knows, over or not, in the order in which it learnt of them.
        public var calls: [Known]
        /// Whether there are as many calls as there may be.
        public var isFull: Bool
        /// By how much its clock is ahead of the server's; `nil` = not known.
        public var clockSkew: Moment.Span?

        /// A state of all its parts.
        public init(user: UserID, calls: [Known] = [], isFull: Bool = false, clockSkew: Moment.Span? = nil) {
            self.user = user
            self.calls = calls
            self.isFull = isFull
            self.clockSkew = clockSkew
        }
    }

    /// A call that a device knows.
    public struct Known: Equatable, Sendable {
        /// What the system knows it by.
        public var uuid: CallUUID
        /// Its name.
        public var callID: CallID
        /// The other side.
        public var peer: UserID
        /// Which use of its name; `nil` = not known yet.
        public var epoch: UInt32?
        /// When ringing stops, by the server's clock, as it was told.
        public var ringUntil: Moment?
        /// How far it is.
        public var standing: Standing

        /// A call of all its parts.
        public init(
            uuid: CallUUID,
            callID: CallID,
            peer: UserID,
            epoch: UInt32?,
            ringUntil: Moment?,
            standing: Standing
        ) {
            self.uuid = uuid
            self.callID = callID
            self.peer = peer
            self.epoch = epoch
            self.ringUntil = ringUntil
            self.standing = standing
        }
    }

    /// How far a known call is.
    public enum Standing: Equatable, Sendable {
        /// It came in and the system shows it.
        case incoming
        /// This device makes it, and nobody has answered.
        case calling
        /// This device made it, and it was answered.
        case answered
        /// It came in while this device was calling the same peer, and that call goes on in its place.
        case shadowed(by: CallUUID)
        /// It is over.
        case ended(EndReason)
    }

    /// The verdict over any dictionary, in any state, at any time.
    public static func of(_ push: [String: PushValue], _ local: Local, at now: Moment) -> PushVerdict {
        of(IncomingPush(push, for: local.user), local, at: now)
    }

    /// The verdict over a push that was read.
    public static func of(_ push: IncomingPush, _ local: Local, at now: Moment) -> PushVerdict {
        guard push.isIncomingCall, let callID = push.callID, let from = push.from, from != local.user else {
            return .reportThenEnd(.failed)
        }
        var isFull = local.isFull
        for known in local.calls.reversed() where known.callID == callID && known.peer == from {
            switch age(of: push, against: known) {
            case .same:
                switch known.standing {
                case .incoming: return .attachToExisting(known.uuid)
                case .shadowed(let uuid): return .attachToExisting(uuid)
                case .ended(let reason): return .reportThenEnd(reason)
                // Both chose the same name: it is this device's call that the other side takes part in.
                case .calling, .answered: return .attachToExisting(known.uuid)
                }
            case .older: return .reportThenEnd(.replaced)
            case .newer:
                switch known.standing {
                case .ended, .shadowed: break
                // It makes room for the one that takes its name.
                case .incoming, .calling, .answered: isFull = false
                }
            }
        }
        if isLate(push, local, at: now) { return .reportThenEnd(.unanswered) }
        // Two who call each other: it is one call, whichever of the two goes on.
        if let own = local.calls.last(where: { $0.peer == from && $0.standing == .calling }) {
            return .attachToExisting(own.uuid)
        }
        return isFull ? .reportThenEnd(.busy) : .ring
    }

    private enum Age { case same, older, newer }

    /// Whether a push is about the use of a name that is known, or about one before or behind it.
    private static func age(of push: IncomingPush, against known: Known) -> Age {
        if let epoch = push.epoch, let knownEpoch = known.epoch {
            return epoch == knownEpoch ? .same : epoch < knownEpoch ? .older : .newer
        }
        if push.uuid == known.uuid { return .same }
        guard case .ended = known.standing else { return .same }
        // A server that tells no epoch: the name of a call that is over, another moment to stop ringing: another call.
        return push.ringUntil != nil && push.ringUntil == known.ringUntil ? .same : .newer
    }

    /// Whether ringing has stopped by the time that the push is there.
    private static func isLate(_ push: IncomingPush, _ local: Local, at now: Moment) -> Bool {
        var skew = local.clockSkew ?? Moment.Span.seconds(0)
        // A push from the future: this clock is behind, by at least that.
        if let sentAt = push.sentAt { skew = min(skew, now - sentAt) }
        let until = push.ringUntil ?? push.sentAt.map { $0 + ClientLimits.longestRing }
        return until.map { now > $0 + skew } ?? false
    }
}
