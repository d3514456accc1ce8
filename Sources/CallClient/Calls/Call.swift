public import CallCore

extension CallClient {
    /// One call as this device knows it.
    public struct Call: Equatable, Sendable {
        /// What the system knows it by.
        public internal(set) var uuid: CallUUID
        /// Its name.
        public let callID: CallID
        /// The other side.
        public let peer: UserID
        /// On which side this device is.
        public internal(set) var side: Side
        /// Which use of the name; `nil` until the server has said.
        public internal(set) var epoch: UInt32?
        /// Where it stands.
        public internal(set) var phase: Phase
        /// What the system shows of the other side.
        public internal(set) var caller: Caller
        /// What this side holds and mutes.
        public internal(set) var media = MediaUpdate()
        /// What the other side holds and mutes.
        public internal(set) var peerMedia = MediaUpdate()
        /// Whether sound may flow.
        public internal(set) var isAudioOn = false
        /// Whether the system was told of it, or told us.
        public internal(set) var isReported: Bool
        /// The newest number that was applied; 0 = none.
        public internal(set) var seq: UInt64 = 0

        /// Numbers the calls of one core, for what waits in its outbox.
        let number: UInt64
        /// When ringing stops, by the server's clock, as it was told.
        var ringUntil: Moment?
        /// The capability that came with a push.
        var capability: String?
        var negotiation: Negotiation
        var fetching = Fetching.idle
        /// Names of signals that were applied, oldest first.
        var names: [SignalName] = []
        /// Whether the engine has something of this call.
        var usesMedia = false
        /// Whether the server refused a signal as if the call were over: the log must say.
        var isDoubted = false
        /// Whether the socket was away, and the log has not been fetched since.
        var mayHaveMissed = false
        /// Ends that were told before the server said which use of the name this call is, oldest first.
        var earlyEnds: [EarlyEnd] = []
        /// The offer that began it.
        var beginning: SignalName?
        /// Which device of this user has answered, as the server said.
        var winner: DeviceID?
        /// Whether a device of the callee was heard to ring.
        var hasHeardRinging = false
        /// Whether it ended because its push was taken for late, by this device's clock.
        var wasLate = false

        /// The end of some use of the call's name.
        struct EarlyEnd: Equatable, Sendable {
            let epoch: UInt32
            let reason: EndReason?
            let replacedBy: CallID?
        }

        /// What a signal is known by when it comes again.
        struct SignalName: Equatable, Sendable {
            let device: DeviceID
            let id: SignalID
        }

        /// A request for the log.
        enum Fetching: Equatable, Sendable {
            case idle
            case asked(FetchNumber, failures: Int)
            case pausing(until: Moment, failures: Int)
        }

        init(
            number: UInt64,
            uuid: CallUUID,
            callID: CallID,
            peer: UserID,
            side: Side,
            epoch: UInt32?,
            phase: Phase,
            caller: Caller,
            isReported: Bool
        ) {
            self.number = number
            self.uuid = uuid
            self.callID = callID
            self.peer = peer
            self.side = side
            self.epoch = epoch
            self.phase = phase
            self.caller = caller
            self.isReported = isReported
            negotiation = Negotiation(isPolite: side == .callee)
        }
    }

    /// Where a call stands on this device; see the diagram at ``CallClient``.
    public enum Phase: Equatable, Sendable {
        /// The user calls, the engine is making the offer. Leads to `calling` and `ended`.
        case preparing(until: Moment)
        /// The offer is on its way or rings. Leads to `connecting` by an answer, and to `ended`.
        case calling(until: Moment)
        /// The system rings, until that moment at the latest. Leads to `answering` and `ended`.
        case ringing(until: Moment)
        /// It came in while this device calls the same peer, and that call goes on in its place: nothing is shown.
        ///
        /// Leads to `ended` by the server's word, and to `ringing` when the other call came to nothing.
        case shadowed(until: Moment, checkAt: Moment)
        /// The user has answered; the offer, or the engine's answer to it, is not there yet. Leads to `connecting`.
        case answering(until: Moment)
        /// Both descriptions are there, media does not flow yet. Leads to `active` and `ended`.
        case connecting
        /// Media flows, or flowed once. Leads to `ended`.
        case active
        /// Nothing more happens.
        case ended(EndReason, at: Moment)

        /// Its name, which is what a table of transitions lists.
        public var name: Name {
            switch self {
            case .preparing: .preparing
            case .calling: .calling
            case .ringing: .ringing
            case .shadowed: .shadowed
            case .answering: .answering
            case .connecting: .connecting
            case .active: .active
            case .ended: .ended
            }
        }

        /// The names of the phases.
        public enum Name: String, Sendable, CaseIterable {
            // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
            case preparing, calling, ringing, shadowed, answering, connecting, active, ended
        }
    }
}

extension CallClient.Call {
    /// Whether it is going on.
    public var isLive: Bool {
        if case .ended = phase { false } else { true }
    }

    /// Whether it was answered, by whichever side, and is not over.
    public var isAnswered: Bool { phase == .connecting || phase == .active }

    /// Whether the user sees it.
    var isShown: Bool {
        switch phase {
        case .shadowed, .ended: false
        case .preparing, .calling, .ringing, .answering, .connecting, .active: true
        }
    }

    /// Whether it is ours and waits for an answer.
    var isCalling: Bool {
        switch phase {
        case .preparing, .calling: true
        case .ringing, .shadowed, .answering, .connecting, .active, .ended: false
        }
    }

    /// Whether it came in and waits for an answer of ours.
    var isWaitingForUs: Bool {
        switch phase {
        case .ringing, .shadowed: true
        case .preparing, .calling, .answering, .connecting, .active, .ended: false
        }
    }

    /// Why it ended.
    public var reason: EndReason? {
        if case .ended(let reason, _) = phase { reason } else { nil }
    }

    /// The moment at which something is due.
    var deadline: Moment? {
        let own: Moment? =
            switch phase {
            case .preparing(let until), .calling(let until), .ringing(let until), .answering(let until): until
            case .shadowed(let until, let checkAt): min(until, checkAt)
            case .connecting, .active, .ended: nil
            }
        guard case .pausing(let until, _) = fetching else { return own }
        return own.map { min($0, until) } ?? until
    }
}
