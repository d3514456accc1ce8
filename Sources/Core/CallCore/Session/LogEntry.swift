/// One entry of a call's log, without the bytes of the signal.
public struct LogEntry: Equatable, Sendable {
    /// The number of the entry in the call's epoch.
    ///
    /// Numbers increase and may have gaps.
    public let seq: UInt64
    /// The time at which the entry was appended.
    public let at: Moment
    /// The signal or state change that the entry records.
    public let content: Content
    /// The devices that the entry concerns.
    public let audience: Audience

    /// The content of an entry.
    public enum Content: Equatable, Sendable {
        /// A device's signal. `digest` distinguishes descriptions and is 0 for other kinds.
        case signal(SignalKind, from: Side, device: DeviceIdentity, id: SignalID?, digest: UInt64)
        /// A change of the call's state.
        ///
        /// A log has few of them, and they are boxed so that the other entries are small.
        indirect case state(StateChange)
    }

    /// The devices that an entry concerns.
    ///
    /// The devices depend on who has answered: see ``CallSession/sees(_:side:device:)``.
    ///
    /// The cases with a device are rare and boxed, so that an entry is small: it is copied several times for each signal.
    public enum Audience: Equatable, Sendable {
        /// The caller's device.
        case caller
        /// Every device of the callee until one has answered; from then on only the answering device.
        case callee
        /// The caller's device, and the callee's devices as for `callee`.
        case both
        /// One device of the callee, and the caller's device.
        indirect case callerAnd(DeviceIdentity)
        /// Every device of the callee except the given device.
        indirect case calleeExcept(DeviceIdentity)
        /// No device: the entry is only stored.
        case nobody

        /// Returns whether an entry with this audience can concern a device on a side.
        public func reaches(_ side: Side) -> Bool {
            switch self {
            case .caller: side == .caller
            case .callee, .calleeExcept: side == .callee
            case .both, .callerAnd: true
            case .nobody: false
            }
        }
    }

    /// Creates an entry from all its parts.
    public init(seq: UInt64, at: Moment, content: Content, audience: Audience) {
        self.seq = seq
        self.at = at
        self.content = content
        self.audience = audience
    }
}

/// A change of a call's state, as the `call` event reports it.
public struct StateChange: Equatable, Sendable {
    /// The new state.
    public var state: CallState
    /// The reason why the call ended.
    public var reason: EndReason?
    /// The callee's device that answered.
    public var answeredBy: DeviceIdentity?
    /// The call that goes on instead of the ended call.
    public var replacedBy: CallID?
    /// For the change to ringing: the `id` that the caller's device gave the offer that began the call.
    public var offerID: SignalID?

    /// Creates a change from all its parts.
    public init(
        _ state: CallState,
        reason: EndReason? = nil,
        answeredBy: DeviceIdentity? = nil,
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

/// The state of a call, as the wire reports it.
public enum CallState: String, Sendable, CaseIterable {
    /// The call is ringing; it begins with the offer.
    case ringing
    /// A device of the callee answered.
    case answered
    /// Media is flowing.
    case active
    /// The call is over; nothing more happens in it.
    case ended
}
