public import CallCore

/// A parsed object from the server.
///
/// ```swift
/// let object = ServerMessage(Array(text.utf8))  // A text frame of the WebSocket
/// handle(.received(object))
/// if case .welcome = object { handle(.connectionOpened) }
/// ```
public enum ServerMessage: Equatable, Sendable {
    /// The first message on a connection; it names the user of the token, if it is readable.
    case welcome(UserID?)
    /// A signal from the peer.
    case signal(Envelope, Content)
    /// A change of a call's state.
    case call(Envelope, StateEvent)
    /// The server accepted a signal of this device and made it durable.
    case ack(SignalID, Ack)
    /// The server reports an error; the id is that of the signal that it refused, or `nil` when the error names no
    /// signal.
    case error(SignalID?, code: String)
    /// The server shuts down and closes the connection next; reconnect after this time.
    case draining(Moment.Duration)
    /// An object that concerns no call or is malformed.
    case other

    /// The position of an object in a call's log, and its sender.
    public struct Envelope: Equatable, Sendable {
        /// The callId.
        public var callID: CallID
        /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and peer.
        public var epoch: UInt32
        /// The number of the entry in the log.
        public var seq: UInt64
        /// When the server received the object, by the server's clock.
        public var at: Moment?
        /// The room.
        public var room: String?
        /// The user that sent the object; `nil` for the server itself.
        public var from: UserID?
        /// The device that sent the object.
        public var fromDevice: DeviceID?
        /// The id that the sending device gave to the signal.
        public var id: SignalID?

        /// Creates an envelope from its parts.
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

    /// The content of a signal, by its kind.
    public enum Content: Equatable, Sendable {
        /// An offer, which begins a call or renegotiates its media.
        case offer(IncomingOffer)
        /// A device of the callee alerts its user.
        case ringing
        /// The description that answers an offer.
        case answer(sdp: String, round: UInt32?)
        /// A candidate as JSON text; `nil` = the end of candidates.
        case ice(String?, round: UInt32?)
        /// Media flows.
        case connected
        /// A change of hold or mute.
        case update(MediaUpdate)
        /// DTMF digits.
        case dtmf(String)
        /// Data of the app itself: one JSON value as text.
        case info(String)
        /// The end of the call.
        case end(EndReason?)
    }

    /// A change of a call's state.
    public struct StateEvent: Equatable, Sendable {
        /// The new state.
        public var state: CallState
        /// Why the call ended.
        public var reason: EndReason?
        /// The callee's device that answered.
        public var answeredBy: DeviceID?
        /// The call that goes on instead of this call, after a glare or a replacement.
        public var replacedBy: CallID?
        /// The id of the offer that began the call; only in a change to `ringing`.
        public var offerID: SignalID?

        /// Creates an event from its parts.
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

/// An offer as it was received.
public struct IncomingOffer: Equatable, Sendable {
    /// The session description; empty if the call is scheduled.
    public var sdp: String
    /// The schedule by which the server itself begins the call; `nil` = a user calls.
    public var schedule: IncomingSchedule?
    /// The address under which the caller is displayed; `nil` = not stated.
    ///
    /// That of a scheduled call is in its schedule.
    public var handle: String?
    /// The kind of address under which the caller is displayed; `nil` = not stated.
    public var handleType: CallClient.HandleType?
    /// The round: the sender's number for this description; `nil` if the sending client does not number its
    /// descriptions.
    public var round: UInt32?
    /// The device that made the offer; `nil` if it is unknown, as in a push.
    public var device: DeviceID?
    /// Whether the offer was copied from a push, so that its position in the log is unknown.
    var isCopy = false
    /// Whether the call has video; `nil` = not stated.
    public var hasVideo: Bool?
    /// The caller's name.
    public var displayName: String?
    /// The UUID under which to report the call to the system.
    public var callUUID: CallUUID?
    /// When ringing stops, by the server's clock.
    public var ringUntil: Moment?
    /// Whether this user is in another call, according to the server.
    public var isWaiting: Bool

    /// Creates an offer from its parts.
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

/// The server's confirmation that it took a signal of this device: an ack, or the response to a `POST`.
public struct Ack: Equatable, Sendable {
    /// The callId.
    public var callID: CallID?
    /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and peer.
    public var epoch: UInt32?
    /// The number of the signal's entry in the log; 0 = the signal needed no entry.
    public var seq: UInt64
    /// The state of the call, if the server states it.
    public var state: CallState?
    /// Why the call ended.
    public var reason: EndReason?
    /// The call that goes on instead of this call, after a glare or a replacement.
    public var replacedBy: CallID?

    /// Creates an ack from its parts.
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

/// A call's log as a `GET` returns it (protocol, section 5).
///
/// The members `offer`, `answer` and `candidates` of the response are left out: `signals` contains all of them, in
/// order and numbered.
public struct FetchedCall: Equatable, Sendable {
    /// The callId.
    public var callID: CallID
    /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and peer.
    public var epoch: UInt32
    /// The room.
    public var room: String?
    /// The state of the call from the point of view of this device.
    public var state: CallState
    /// Why the call ended.
    public var reason: EndReason?
    /// The call that goes on instead of this call, after a glare or a replacement.
    public var replacedBy: CallID?
    /// The UUID under which to report the call to the system.
    public var callUUID: CallUUID?
    /// The entries after the cursor that concern this device, in order.
    public var signals: [ServerMessage]
    /// When ringing stops, by the server's clock.
    public var ringUntil: Moment?
    /// The cursor for the next request.
    public var next: UInt64

    /// Creates a log from its parts.
    public init(
        callID: CallID,
        epoch: UInt32,
        room: String? = nil,
        state: CallState,
        reason: EndReason? = nil,
        replacedBy: CallID? = nil,
        callUUID: CallUUID? = nil,
        signals: [ServerMessage] = [],
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
