public import CallCore

/// A call as it is kept: what is needed to go on with it after a restart, and for the history.
public struct CallRecord: Equatable, Sendable {
    /// Its number, unique over all calls and epochs.
    public var number: CallNumber
    /// The name that the caller chose.
    public var id: CallID
    /// Counts the uses of the name between the two, from 1.
    public var epoch: UInt32
    /// The room as the caller named it, `p2p:11-10`.
    public var room: String
    /// Who calls.
    public var caller: UserID
    /// Who is called.
    public var callee: UserID
    /// The caller's name as the offer gave it.
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
    /// When it ended.
    public var endedAt: Moment?
    /// Why it ended.
    public var reason: EndReason?
    /// The call that goes on instead of this one.
    public var replacedBy: CallID?
    /// Why the callee was not told of the call.
    public var hidden: Hidden?
    /// The devices that take or took part: the caller's first.
    public var legs: [LegRecord]
    /// What the switchboard keeps besides, as JSON text that means nothing to a store.
    public var state: String

    /// Why a call is kept from its callee.
    public enum Hidden: String, Sendable, CaseIterable {
        /// The callee has blocked the caller.
        case block
        /// The callee does not want to be disturbed.
        case doNotDisturb = "dnd"
        /// The callee is in a call of that name with somebody else.
        case nameTaken = "name_taken"
    }

    /// A call of all its parts.
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

/// One device's part in a call, as it is kept.
public struct LegRecord: Equatable, Sendable {
    /// The device, and the token it acted under.
    public var phone: Phone
    /// Whether it is of the caller.
    public var isCaller: Bool
    /// Where the leg stands, in the words of `CallCore`.
    public var phase: String

    /// A leg of all its parts.
    public init(phone: Phone, isCaller: Bool, phase: String) {
        self.phone = phone
        self.isCaller = isCaller
        self.phase = phase
    }
}

/// A log entry as it is kept.
public struct EntryRecord: Equatable, Sendable {
    /// Its number within the call's epoch.
    public var seq: UInt64
    /// When it was appended.
    public var at: Moment
    /// `offer`, `ice`, … or `call` for a change of state.
    public var kind: String
    /// Whose device sent it; `nil` = the server itself.
    public var sender: Phone?
    /// To whom it is addressed, in the words of `CallCore`.
    public var audience: String
    /// The `id` under which the sender sent it.
    public var signalID: String?
    /// Tells one description from another; 0 where there is none.
    public var digest: UInt64
    /// The object as it is relayed: one JSON object, UTF-8; a part of the frame that carries it.
    public var object: ArraySlice<UInt8>

    /// An entry of all its parts.
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

/// Something that happened in a call, for "why did it not ring?".
public struct TimelineRecord: Equatable, Sendable {
    /// When.
    public var at: Moment
    /// What: `offer`, `delivered.socket`, `push.sent`, `push.result`, … (protocol, section 9).
    public var event: String
    /// The rest as members of a JSON object, without the braces; may be empty.
    public var details: String

    /// An event of all its parts.
    public init(at: Moment, event: String, details: String) {
        self.at = at
        self.event = event
        self.details = details
    }
}

/// A device that can be woken.
public struct DeviceRecord: Equatable, Sendable {
    /// Whose it is.
    public var user: UserID
    /// Its id: the client's, or one made by the server.
    public var id: DeviceID
    /// Whether the client named it.
    ///
    /// One without a name is live iff an unnamed session of its user is.
    public var isNamed: Bool
    /// Such as `ios` or `android`.
    public var platform: String
    /// The app; its pushes' topic begins with it.
    public var bundleID: String
    /// Its VoIP push token, lower-case hex.
    public var voipToken: String?
    /// When the VoIP token was last registered.
    public var voipTokenAt: Moment?
    /// Its alert push token, lower-case hex.
    public var alertToken: String?
    /// When the alert token was last registered.
    public var alertTokenAt: Moment?
    /// Its Firebase token (kept; sending comes later).
    public var fcmToken: String?
    /// The APNs environment that the client named.
    public var environment: APNsEnvironment?
    /// The APNs environment that was found to work.
    public var workingEnvironment: APNsEnvironment?
    /// When it was first registered.
    public var createdAt: Moment
    /// When it last showed a sign of life.
    public var seenAt: Moment
    /// How many VoIP pushes in a row were followed by no sign of life.
    public var unansweredPushes: Int
    /// What became of the last push.
    public var lastPush: LastPush?

    /// What became of a push.
    public struct LastPush: Equatable, Sendable {
        /// When its result came.
        public var at: Moment
        /// APNs' status; 0 when it gave none.
        public var status: Int
        /// APNs' reason ("BadDeviceToken"), or ours.
        public var reason: String?
        /// Which service was asked.
        public var environment: APNsEnvironment
        /// What it means and what to do, in plain words.
        public var hint: String?

        /// A result of all its parts.
        public init(at: Moment, status: Int, reason: String?, environment: APNsEnvironment, hint: String?) {
            self.at = at
            self.status = status
            self.reason = reason
            self.environment = environment
            self.hint = hint
        }
    }

    /// A device without tokens.
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
