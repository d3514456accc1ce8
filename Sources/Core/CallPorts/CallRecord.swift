package import CallCore

/// A stored call: the data with which a call is continued after a restart and shown in the history.
package struct CallRecord: Equatable, Sendable {
    /// The state of the call's session.
    package var session: CallSession.Snapshot
    /// The room as the caller named it, for example `p2p:11-10`.
    package var room: String
    /// The caller's displayed name, from an offer or from the caller's token; `nil` = neither has one.
    package var displayName: String?
    /// Why the call is hidden from its callee; `nil` = it is shown.
    package var hidden: Hidden? { didSet { session.isHidden = hidden != nil } }
    /// The ring of a schedule that the call is; `nil` = a user's device has begun the call.
    package var scheduled: ScheduledRing?
    /// Whether the callee was in another call when this call began.
    package var isWaiting = false
    /// Whether the callee set do-not-disturb while the call rang.
    package var wasSilencedByDoNotDisturb = false
    /// The results of the call's pushes, by device; a push under way has no result yet and is not stored.
    package var pushes: [DeviceID: PushOutcome] = [:]
    /// The `end` signals that were accepted under the call's callId, oldest first.
    package var ends: [AcceptedSignal] = []
    /// The offers and answers that earlier calls under the callId accepted, oldest first.
    package var descriptions: [AcceptedSignal] = []
    /// The events for the app's backend that the call has; `nil` = it began while nobody wanted events.
    package var events: CallEvents?

    /// Why a call is hidden from its callee.
    package enum Hidden: String, Sendable, CaseIterable {
        /// The callee has blocked the caller.
        case block
        /// The callee has set do-not-disturb.
        case doNotDisturb = "dnd"
        /// The callee has a live call under the same callId with somebody else; stored as `name_taken`.
        case callIDTaken = "name_taken"
        /// The app's backend refused the call, and its caller was not told.
        case app
        /// The app's backend refused the offer: there was no call, and only services and operators see the record; stored
        /// as `refused`.
        case refusedOffer = "refused"
    }

    /// The result of a push for the call.
    package enum PushOutcome: String, Sendable {
        /// APNs accepted the push.
        case accepted
        /// The push cannot be delivered.
        case refused
    }

    /// A call with the given members.
    package init(session: CallSession.Snapshot, room: String, displayName: String?, hidden: Hidden?) {
        self.session = session
        self.room = room
        self.displayName = displayName
        self.hidden = hidden
        self.session.isHidden = hidden != nil
    }

    /// A call with the given members; nobody has muted or declined it.
    ///
    /// `reason`: Used only if `endedAt` is not `nil`. An ended call without a reason counts as failed.
    package init(
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
    @inlinable package var number: CallNumber { session.number }
    /// The callId that the caller chose.
    @inlinable package var id: CallID { session.key.id }
    /// The epoch: counts the calls of these two users under the callId, from 1.
    @inlinable package var epoch: UInt32 { session.epoch }
    /// The calling user.
    @inlinable package var caller: UserID { session.caller }
    /// The called user.
    @inlinable package var callee: UserID { session.key.pair.other(than: session.caller) }
    /// Whether the call has video.
    @inlinable package var hasVideo: Bool { session.hasVideo }
    /// When the offer came.
    @inlinable package var startedAt: Moment { session.startedAt }
    /// When ringing stops by itself.
    @inlinable package var ringUntil: Moment { session.ringUntil }
    /// When the callee answered; `nil` = nobody has answered.
    @inlinable package var answeredAt: Moment? { session.answeredAt }
    /// When the call became active, by the first `connected` of a device in the answered call; `nil` = it has not yet.
    @inlinable package var activeAt: Moment? { session.activeAt }
    /// When the call ended; `nil` = it is live.
    @inlinable package var endedAt: Moment? { session.ending?.at }
    /// Why the call ended; `nil` = it is live.
    @inlinable package var reason: EndReason? { session.ending?.reason }
    /// The callId of the call that goes on instead of this one; `nil` = no call does.
    @inlinable package var replacedBy: CallID? { session.ending?.replacedBy }
    /// The devices that take or took part: the caller's first.
    @inlinable package var legs: [Leg] { session.legs }

    /// The state of the call.
    package var state: CallState {
        if session.ending != nil { return .ended }
        if activeAt != nil { return .active }
        return answeredAt == nil ? .ringing : .answered
    }
}

/// A log entry as it is stored.
package struct EntryRecord: Equatable, Sendable {
    /// The entry.
    package var entry: LogEntry
    /// The JSON object that is relayed, in UTF-8: the frame without the bytes reserved for the transport's header.
    package var object: ArraySlice<UInt8>

    /// An entry with its object.
    @inlinable
    package init(_ entry: LogEntry, object: ArraySlice<UInt8>) {
        self.entry = entry
        self.object = object
    }

    /// The entry's number in its log.
    @inlinable package var seq: UInt64 { entry.seq }
}

/// An accepted signal that must not pass for a new one when it is resent.
package struct AcceptedSignal: Equatable, Sendable {
    /// The kind of an accepted signal.
    package enum Kind: Equatable, Sendable {
        /// An `end`, with the reason why the call is over for the device that sent it; `nil` = no reason is known.
        case end(EndReason?)
        /// An offer or an answer. The digest of its description distinguishes it from another offer or answer that an
        /// app sends under the same `id`.
        case description(digest: UInt64)
    }

    /// The kind of the signal.
    package let kind: Kind
    /// The user that sent the signal.
    package let user: UserID
    /// The device that sent the signal.
    package let device: DeviceIdentity
    /// The `id` that the device gave the signal.
    package let id: SignalID
    /// The epoch of the call that accepted the signal.
    package let epoch: UInt32
    /// The `seq` in the signal's ack; 0 = the signal needed no log entry.
    package let seq: UInt64
    /// When the signal was accepted.
    package let at: Moment

    /// A signal with the given members.
    package init(kind: Kind, user: UserID, device: DeviceIdentity, id: SignalID, epoch: UInt32, seq: UInt64, at: Moment)
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
    package var reason: EndReason? { if case .end(let reason) = kind { reason } else { nil } }
}
