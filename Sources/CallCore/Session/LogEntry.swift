/// One entry of a call's log, without the bytes that were sent.
public struct LogEntry: Equatable, Sendable {
    /// Its number in the call's epoch; grows, may skip.
    public let seq: UInt64
    /// When it was appended.
    public let at: Moment
    /// What it says.
    public let content: Content
    /// Whom it concerns.
    public let audience: Audience

    /// What an entry says.
    public enum Content: Equatable, Sendable {
        /// A device's signal; `digest` tells descriptions apart and is 0 for other kinds.
        case signal(SignalKind, from: Side, phone: Phone, id: SignalID?, digest: UInt64)
        /// The call changed its state.
        case state(StateChange)
    }

    /// Whom an entry concerns.
    ///
    /// What that means for a device depends on who has answered: see ``CallSession/sees(_:side:phone:)``.
    public enum Audience: Equatable, Sendable {
        /// The device that calls.
        case caller
        /// Every device of the callee until one has answered, then that one.
        case callee
        /// Both of the above.
        case both
        /// One device of the callee, and the device that calls.
        case callerAnd(Phone)
        /// Every device of the callee but this one.
        case calleeBut(Phone)
        /// Nobody: the entry is only kept.
        case nobody

        /// Whether it can concern anybody on a side.
        public func reaches(_ side: Side) -> Bool {
            switch self {
            case .caller: side == .caller
            case .callee, .calleeBut: side == .callee
            case .both, .callerAnd: true
            case .nobody: false
            }
        }
    }

    /// An entry of all its parts.
    public init(seq: UInt64, at: Moment, content: Content, audience: Audience) {
        self.seq = seq
        self.at = at
        self.content = content
        self.audience = audience
    }
}

/// A change of a call's state, as a `call` event tells it.
public struct StateChange: Equatable, Sendable {
    /// The state it came to.
    public var state: CallState
    /// Why it ended.
    public var reason: EndReason?
    /// The callee's device that answered.
    public var answeredBy: Phone?
    /// The call that goes on instead.
    public var replacedBy: CallID?
    /// Of the change to ringing: what its device called the offer that began the call.
    public var offerID: SignalID?

    /// A change of all its parts.
    public init(
        _ state: CallState,
        reason: EndReason? = nil,
        answeredBy: Phone? = nil,
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

/// A call's state as it is told on the wire.
public enum CallState: String, Sendable, CaseIterable {
    /// From the offer on.
    case ringing
    /// A device of the callee answered.
    case answered
    /// Media flows.
    case active
    /// Nothing more happens.
    case ended
}
