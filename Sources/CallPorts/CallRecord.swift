public import CallCore

/// A stored call, with the data that is needed to continue it after a restart and to show it in the history.
public struct CallRecord: Equatable, Sendable {
    /// The state of the call's session.
    public var session: CallSession.Snapshot
    /// The room as the caller named it, `p2p:11-10`.
    public var room: String
    /// The caller's displayed name from the offer.
    public var displayName: String?
    /// Why the call is hidden from its callee; `nil` = it is shown.
    public var hidden: Hidden? { didSet { session.isHidden = hidden != nil } }
    /// Whether the callee was in another call when this call began.
    public var isWaiting = false
    /// Whether the callee set do-not-disturb while the call rang.
    public var isSilenced = false
    /// The results of the pushes that were sent; a push under way has no result yet and is not stored.
    public var pushes: [DeviceID: PushOutcome] = [:]
    /// The ends taken under the call's callId, oldest first.
    public var ends: [AcceptedSignal] = []
    /// The offers and answers that earlier calls of the callId took, oldest first.
    public var descriptions: [AcceptedSignal] = []

    /// Why a call is hidden from its callee.
    public enum Hidden: String, Sendable, CaseIterable {
        /// The callee has blocked the caller.
        case block
        /// The callee has set do-not-disturb.
        case doNotDisturb = "dnd"
        /// The callee has a live call under that callId with somebody else.
        case callIDTaken = "name_taken"
    }

    /// The result of a push for the call.
    public enum PushOutcome: String, Sendable {
        /// APNs accepted the push.
        case accepted
        /// The push cannot be delivered.
        case refused
    }

    /// A call with the given members.
    public init(session: CallSession.Snapshot, room: String, displayName: String?, hidden: Hidden?) {
        self.session = session
        self.room = room
        self.displayName = displayName
        self.hidden = hidden
        self.session.isHidden = hidden != nil
    }

    /// A call with the given members; nobody has muted or declined it.
    ///
    /// `reason`: Used only together with `endedAt`; if it is `nil`, the call counts as failed.
    public init(
        number: CallNumber,
        id: CallID,
        epoch: UInt32,
        room: String,
        caller: UserID,
        callee: UserID,
        displayName: String?,
        hasVideo: Bool,
        startedAt: Moment,
        ringUntil: Moment,
        answeredAt: Moment? = nil,
        activeAt: Moment? = nil,
        endedAt: Moment? = nil,
        reason: EndReason? = nil,
        replacedBy: CallID? = nil,
        hidden: Hidden? = nil,
        legs: [Leg] = []
    ) {
        self.init(
            session: CallSession.Snapshot(
                number: number,
                key: CallKey(id: id, pair: Pair(caller, callee)),
                epoch: epoch,
                caller: caller,
                startedAt: startedAt,
                ringUntil: ringUntil,
                answeredAt: answeredAt,
                activeAt: activeAt,
                ending: endedAt.map {
                    CallSession.Ending(reason: reason ?? .failed, at: $0, replacedBy: replacedBy)
                },
                legs: legs,
                answeringDevice: nil,
                hasVideo: hasVideo,
                isHidden: hidden != nil,
                callerMedia: MediaUpdate(),
                calleeMedia: MediaUpdate()
            ),
            room: room,
            displayName: displayName,
            hidden: hidden
        )
    }
}

extension CallRecord {
    /// The call's number, unique over all calls and epochs.
    @inlinable public var number: CallNumber { session.number }
    /// The callId that the caller chose.
    @inlinable public var id: CallID { session.key.id }
    /// The epoch: counts the calls of these two users under the callId, from 1.
    @inlinable public var epoch: UInt32 { session.epoch }
    /// The calling user.
    @inlinable public var caller: UserID { session.caller }
    /// The called user.
    @inlinable public var callee: UserID { session.key.pair.other(than: session.caller) }
    /// Whether the call has video.
    @inlinable public var hasVideo: Bool { session.hasVideo }
    /// When the offer came.
    @inlinable public var startedAt: Moment { session.startedAt }
    /// When ringing stops by itself.
    @inlinable public var ringUntil: Moment { session.ringUntil }
    /// When the callee answered.
    @inlinable public var answeredAt: Moment? { session.answeredAt }
    /// When media first flowed.
    @inlinable public var activeAt: Moment? { session.activeAt }
    /// When the call ended.
    @inlinable public var endedAt: Moment? { session.ending?.at }
    /// Why the call ended.
    @inlinable public var reason: EndReason? { session.ending?.reason }
    /// The call that goes on instead of this one.
    @inlinable public var replacedBy: CallID? { session.ending?.replacedBy }
    /// The devices that take or took part: the caller's first.
    @inlinable public var legs: [Leg] { session.legs }

    /// The state of the call.
    public var state: CallState {
        if session.ending != nil { return .ended }
        if activeAt != nil { return .active }
        return answeredAt == nil ? .ringing : .answered
    }
}

/// A log entry as it is stored.
public struct EntryRecord: Equatable, Sendable {
    /// The entry.
    public var entry: LogEntry
    /// The relayed object: one JSON object, UTF-8; a part of the frame that carries it.
    public var object: ArraySlice<UInt8>

    /// An entry with its object.
    @inlinable
    public init(_ entry: LogEntry, object: ArraySlice<UInt8>) {
        self.entry = entry
        self.object = object
    }

    /// The number within the call's epoch.
    @inlinable public var seq: UInt64 { entry.seq }
}

/// An accepted signal that must not pass for a new one when it is resent.
public struct AcceptedSignal: Equatable, Sendable {
    /// The kind of a signal that was taken.
    public enum Kind: Equatable, Sendable {
        /// An end, with the reason why the call was over for its device.
        case end(EndReason?)
        /// An offer or an answer. The digest distinguishes it from another one to which an app gives the same `id`.
        case description(digest: UInt64)
    }

    /// The kind of the signal.
    public let kind: Kind
    /// The user that sent it.
    public let user: UserID
    /// The device that sent it.
    public let device: DeviceIdentity
    /// The `id` that the device gave it.
    public let id: SignalID
    /// The epoch in which the signal was taken.
    public let epoch: UInt32
    /// The `seq` in its ack; 0 = it needed no entry.
    public let seq: UInt64
    /// When it was taken.
    public let at: Moment

    /// A signal with the given members.
    public init(kind: Kind, user: UserID, device: DeviceIdentity, id: SignalID, epoch: UInt32, seq: UInt64, at: Moment)
    {
        self.kind = kind
        self.user = user
        self.device = device
        self.id = id
        self.epoch = epoch
        self.seq = seq
        self.at = at
    }

    /// The reason why the call was over for the device, if the signal was an end.
    public var reason: EndReason? { if case .end(let reason) = kind { reason } else { nil } }
}
