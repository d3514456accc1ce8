public import CallCore

/// An object from the server, read.
public enum Incoming: Equatable, Sendable {
    /// The first word on a socket.
    case welcome
    /// A signal of the other side.
    case signal(Envelope, Content)
    /// A call changed its state.
    case call(Envelope, StateEvent)
    /// A signal of ours is durable.
    case ack(SignalID, Acceptance)
    /// A signal of ours was refused; `nil` when the error names none.
    case error(SignalID?, code: String)
    /// The server shuts down and closes the socket next; come back after this time.
    case draining(Moment.Span)
    /// Nothing that a call depends on, or nothing that can be read.
    case other

    /// Where an object stands, and who sent it.
    public struct Envelope: Equatable, Sendable {
        /// The call.
        public var callID: CallID
        /// Which use of its name.
        public var epoch: UInt32
        /// Its number in the log.
        public var seq: UInt64
        /// When the server took it.
        public var at: Moment?
        /// The room.
        public var room: String?
        /// Who sent it; `nil` for the server.
        public var from: UserID?
        /// By which device.
        public var fromDevice: DeviceID?
        /// The name that the device gave it.
        public var id: SignalID?

        /// An envelope of all its parts.
        public init(
            callID: CallID,
            epoch: UInt32,
            seq: UInt64,
            at: Moment? = nil,
            room: String? = nil,
            from: UserID? = nil,
            fromDevice: DeviceID? = nil,
            id: SignalID? = nil
        ) {
            self.callID = callID
            self.epoch = epoch
            self.seq = seq
            self.at = at
            self.room = room
            self.from = from
            self.fromDevice = fromDevice
            self.id = id
        }
    }

    /// What a signal says.
    public enum Content: Equatable, Sendable {
        /// Begins a call, or describes its media anew.
        case offer(IncomingOffer)
        /// A device alerts.
        case ringing
        /// The description in return.
        case answer(sdp: String, round: UInt32?)
        /// A candidate as JSON text; `nil` = there are no more.
        case ice(String?, round: UInt32?)
        /// Media flows.
        case connected
        /// Hold and mute.
        case update(MediaUpdate)
        /// Digits.
        case dtmf(String)
        /// The app's own: one JSON value as text.
        case info(String)
        /// The end.
        case end(EndReason?)
    }

    /// A change of a call's state.
    public struct StateEvent: Equatable, Sendable {
        /// The state.
        public var state: CallState
        /// Why it ended.
        public var reason: EndReason?
        /// The callee's device that answered.
        public var answeredBy: DeviceID?
        /// The call that won a glare over this one.
        public var replacedBy: CallID?
        /// Of the change to ringing: what its device called the offer that began the call.
        public var offerID: SignalID?

        /// An event of all its parts.
        public init(
            _ state: CallState,
            reason: EndReason? = nil,
            answeredBy: DeviceID? = nil,
            replacedBy: CallID? = nil,
            offerID: SignalID? = nil
        ) {
            self.state = state
            self.reason = reason
            self.answeredBy = answeredBy
            self.replacedBy = replacedBy
            self.offerID = offerID
        }
    }
}

/// An offer as it arrives.
public struct IncomingOffer: Equatable, Sendable {
    /// The description.
    public var sdp: String
    /// Which of the sender's descriptions it is; `nil` from clients that do not count them.
    public var round: UInt32?
    /// The device that made it; `nil` where that is not said, as in a push.
    public var device: DeviceID?
    /// Whether it is a push's copy: where it stands in the log is not known.
    var isCopy = false
    /// Whether with video; `nil` = not said.
    public var hasVideo: Bool?
    /// The caller's name.
    public var displayName: String?
    /// What the system is to know the call by.
    public var callUUID: CallUUID?
    /// When ringing stops, by the server's clock.
    public var ringUntil: Moment?
    /// Whether this user is in another call, as the server has it.
    public var isWaiting: Bool

    /// An offer of all its parts.
    public init(
        sdp: String,
        round: UInt32? = nil,
        hasVideo: Bool? = nil,
        displayName: String? = nil,
        callUUID: CallUUID? = nil,
        ringUntil: Moment? = nil,
        isWaiting: Bool = false
    ) {
        self.sdp = sdp
        self.round = round
        self.hasVideo = hasVideo
        self.displayName = displayName
        self.callUUID = callUUID
        self.ringUntil = ringUntil
        self.isWaiting = isWaiting
    }
}

/// A signal of ours was taken: an ack, or the answer to a `POST`.
public struct Acceptance: Equatable, Sendable {
    /// The call.
    public var callID: CallID?
    /// Which use of its name.
    public var epoch: UInt32?
    /// The entry's number; 0 = it needed none.
    public var seq: UInt64
    /// How the call stands, where the server says so.
    public var state: CallState?
    /// Why it ended.
    public var reason: EndReason?
    /// The call that won a glare over this one.
    public var replacedBy: CallID?

    /// An acceptance of all its parts.
    public init(
        callID: CallID? = nil,
        epoch: UInt32? = nil,
        seq: UInt64 = 0,
        state: CallState? = nil,
        reason: EndReason? = nil,
        replacedBy: CallID? = nil
    ) {
        self.callID = callID
        self.epoch = epoch
        self.seq = seq
        self.state = state
        self.reason = reason
        self.replacedBy = replacedBy
    }
}

/// A call's log as `GET` shows it (protocol, section 5).
///
/// `offer`, `answer` and `candidates` of the answer are left out: `signals` holds them all, in order and numbered.
public struct FetchedCall: Equatable, Sendable {
    /// The call.
    public var callID: CallID
    /// Which use of its name.
    public var epoch: UInt32
    /// The room.
    public var room: String?
    /// How it stands for this device.
    public var state: CallState
    /// Why it ended.
    public var reason: EndReason?
    /// The call that won a glare over this one.
    public var replacedBy: CallID?
    /// What the system is to know the call by.
    public var callUUID: CallUUID?
    /// The entries that concern this device, behind the cursor, in order.
    public var signals: [Incoming]
    /// When ringing stops, by the server's clock.
    public var ringUntil: Moment?
    /// The cursor for the next time.
    public var next: UInt64

    /// A log of all its parts.
    public init(
        callID: CallID,
        epoch: UInt32,
        room: String? = nil,
        state: CallState,
        reason: EndReason? = nil,
        replacedBy: CallID? = nil,
        callUUID: CallUUID? = nil,
        signals: [Incoming] = [],
        ringUntil: Moment? = nil,
        next: UInt64 = 0
    ) {
        self.callID = callID
        self.epoch = epoch
        self.room = room
        self.state = state
        self.reason = reason
        self.replacedBy = replacedBy
        self.callUUID = callUUID
        self.signals = signals
        self.ringUntil = ringUntil
        self.next = next
    }
}
