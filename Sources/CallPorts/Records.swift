public import CallCore

/// A call as it is stored: what is needed to continue it after a restart, and for the history.
public struct CallRecord: Equatable, Sendable {
    /// The call's number, unique over all calls and epochs.
    public var number: CallNumber
    /// The callId that the caller chose.
    public var id: CallID
    /// The epoch: counts the calls of these two users under the callId, from 1.
    public var epoch: UInt32
    /// The room as the caller named it, `p2p:11-10`.
    public var room: String
    /// The calling user.
    public var caller: UserID
    /// The called user.
    public var callee: UserID
    /// The caller's displayed name from the offer.
    public var displayName: String?
    /// Whether the call has video.
    public var hasVideo: Bool
    /// When the offer came.
    public var startedAt: Moment
    /// When ringing stops by itself.
    public var ringUntil: Moment
    /// When the callee answered.
    public var answeredAt: Moment?
    /// When media first flowed.
    public var activeAt: Moment?
    /// When the call ended.
    public var endedAt: Moment?
    /// Why the call ended.
    public var reason: EndReason?
    /// The call that goes on instead of this one.
    public var replacedBy: CallID?
    /// Why the call is hidden from its callee; `nil` = it is shown.
    public var hidden: Hidden?
    /// The devices that take or took part: the caller's first.
    public var legs: [LegRecord]
    /// The switchboard's further state of the call, as JSON text that a store does not interpret.
    public var state: String

    /// Why a call is hidden from its callee.
    public enum Hidden: String, Sendable, CaseIterable {
        /// The callee has blocked the caller.
        case block
        /// The callee has set do-not-disturb.
        case doNotDisturb = "dnd"
        /// The callee has a live call under that callId with somebody else.
        case nameTaken = "name_taken"
    }

    /// A call with the given members.
    @inlinable
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
        legs: [LegRecord] = [],
        state: String = "{}"
    ) {
        self.number = number
        self.id = id
        self.epoch = epoch
        self.room = room
        self.caller = caller
        self.callee = callee
        self.displayName = displayName
        self.hasVideo = hasVideo
        self.startedAt = startedAt
        self.ringUntil = ringUntil
        self.answeredAt = answeredAt
        self.activeAt = activeAt
        self.endedAt = endedAt
        self.reason = reason
        self.replacedBy = replacedBy
        self.hidden = hidden
        self.legs = legs
        self.state = state
    }
}

/// One device's part in a call, as it is stored.
public struct LegRecord: Equatable, Sendable {
    /// The device, and the token under which it acted.
    public var phone: Phone
    /// Whether the device is the caller's.
    public var isCaller: Bool
    /// The phase of the leg, as `CallCore` names it.
    public var phase: String

    /// A leg with the given members.
    @inlinable
    public init(phone: Phone, isCaller: Bool, phase: String) {
        self.phone = phone
        self.isCaller = isCaller
        self.phase = phase
    }
}

/// A log entry as it is stored.
public struct EntryRecord: Equatable, Sendable {
    /// The number within the call's epoch.
    public var seq: UInt64
    /// When the entry was appended.
    public var at: Moment
    /// `offer`, `ice`, … or `call` for a change of state.
    public var kind: String
    /// The device that sent the signal, or that answered the call; `nil` = the server itself.
    public var sender: Phone?
    /// The sender's side or the change of state, and the audience, in the terms of `CallCore`.
    public var audience: String
    /// The `id` under which the sender sent it; for a change of state the call that replaces it, or the offer's `id`.
    public var signalID: String?
    /// A digest that distinguishes descriptions; 0 where there is no description.
    public var digest: UInt64
    /// The relayed object: one JSON object, UTF-8; a part of the frame that carries it.
    public var object: ArraySlice<UInt8>

    /// An entry with the given members.
    @inlinable
    public init(
        seq: UInt64,
        at: Moment,
        kind: String,
        sender: Phone?,
        audience: String,
        signalID: String?,
        digest: UInt64,
        object: ArraySlice<UInt8>
    ) {
        self.seq = seq
        self.at = at
        self.kind = kind
        self.sender = sender
        self.audience = audience
        self.signalID = signalID
        self.digest = digest
        self.object = object
    }
}

/// An event in a call, to answer the question "why did it not ring?".
public struct TimelineRecord: Equatable, Sendable {
    /// When it happened.
    public var at: Moment
    /// The name of the event: `offer`, `delivered.socket`, `push.sent`, `push.result`, … (protocol, section 5.7).
    public var event: String
    /// The details as members of a JSON object, without the braces; may be empty.
    public var details: String

    /// An event with the given members.
    @inlinable
    public init(at: Moment, event: String, details: String) {
        self.at = at
        self.event = event
        self.details = details
    }
}

/// A device that can be pushed.
public struct DeviceRecord: Equatable, Sendable {
    /// The device's user.
    public var user: UserID
    /// The device's id: the client's, or one made by the server.
    public var id: DeviceID
    /// Whether the client sent the device's id.
    ///
    /// A device without an id is live if and only if its user has a connection without an id.
    public var isNamed: Bool
    /// The platform, such as `ios` or `android`.
    public var platform: String
    /// The app's bundle id; the topic of the device's pushes begins with it.
    public var bundleID: String
    /// The VoIP push token, lower-case hex.
    public var voipToken: String?
    /// When the VoIP token was last registered.
    public var voipTokenAt: Moment?
    /// The alert push token, lower-case hex.
    public var alertToken: String?
    /// When the alert token was last registered.
    public var alertTokenAt: Moment?
    /// The Firebase token (stored; sending comes later).
    public var fcmToken: String?
    /// The APNs environment that the client named.
    public var environment: APNsEnvironment?
    /// The APNs environment that was found to work.
    public var workingEnvironment: APNsEnvironment?
    /// When the device was first registered.
    public var createdAt: Moment
    /// When the device last gave a sign of life.
    public var seenAt: Moment
    /// The number of VoIP pushes in a row that no sign of life followed.
    public var unansweredPushes: Int
    /// The result of the last push.
    public var lastPush: LastPush?

    /// The result of a push.
    public struct LastPush: Equatable, Sendable {
        /// When the result came.
        public var at: Moment
        /// APNs' status; 0 when there was none.
        public var status: Int
        /// APNs' reason ("BadDeviceToken"), or the server's own.
        public var reason: String?
        /// The APNs environment that was used.
        public var environment: APNsEnvironment
        /// The meaning of the result and what to do, in plain words.
        public var hint: String?

        /// A result with the given members.
        public init(at: Moment, status: Int, reason: String?, environment: APNsEnvironment, hint: String?) {
            self.at = at
            self.status = status
            self.reason = reason
            self.environment = environment
            self.hint = hint
        }
    }

    /// A device without tokens.
    @inlinable
    public init(user: UserID, id: DeviceID, isNamed: Bool, platform: String, bundleID: String, createdAt: Moment) {
        self.user = user
        self.id = id
        self.isNamed = isNamed
        self.platform = platform
        self.bundleID = bundleID
        self.createdAt = createdAt
        self.seenAt = createdAt
        self.unansweredPushes = 0
    }
}
