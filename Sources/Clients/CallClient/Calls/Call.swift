public import CallCore

extension CallClient {
    /// A call as this device knows it.
    public struct Call: Equatable, Sendable {
        /// The UUID by which the system identifies the call.
        public internal(set) var uuid: CallUUID
        /// The callId.
        public let callID: CallID
        /// The other user.
        public let peer: UserID
        /// The side of the call that this device is on.
        public internal(set) var side: Side
        /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and peer; `nil` until
        /// the server has stated it.
        public internal(set) var epoch: UInt32?
        /// The phase that the call is in.
        public internal(set) var phase: Phase
        /// The peer as the system displays it.
        public internal(set) var displayedPeer: DisplayedPeer
        /// Whether the server itself began the call, at the time that a schedule names.
        ///
        /// Nobody is on the other side, and there is no media: from the answer on, the app plays a sound of its own while
        /// ``isAudioOn`` is true.
        public internal(set) var isScheduled = false
        /// The schedule of a scheduled call; `nil` until the call's log has arrived.
        public internal(set) var schedule: ScheduleID?
        /// The app's data in the schedule of a scheduled call: one JSON value as text.
        ///
        /// It is `nil` if there is none, and until the call's log has arrived if it was too large for the push.
        public internal(set) var data: String?
        /// The media that this side holds or mutes.
        public internal(set) var media = MediaUpdate()
        /// The media that the peer holds or mutes.
        public internal(set) var peerMedia = MediaUpdate()
        /// Whether audio may flow.
        public internal(set) var isAudioOn = false
        /// Whether the system knows the call: it was reported to the system, or the system started it.
        public internal(set) var isReported: Bool
        /// The number of the newest log entry that was applied; 0 = none.
        public internal(set) var seq: UInt64 = 0

        /// The number of the call in this core; signals in the outbox refer to it.
        let number: UInt64
        /// When ringing stops, by the server's clock, as the server stated it last; `nil` = not stated.
        var ringUntil: Moment?
        /// The capability that came with a push.
        var capability: String?
        var negotiation: Negotiation
        var fetching = Fetching.idle
        /// The ids of the signals that were applied, oldest first.
        var receivedSignals: [SignalKey] = []
        /// Whether the media engine holds resources for this call.
        var usesMedia = false
        /// Whether the server refused a signal because it knows no such live call.
        ///
        /// The log then shows whether the call has ended.
        var mayHaveEnded = false
        /// Whether the connection was closed and the log has not been fetched since.
        var mayHaveMissed = false
        /// The ends that arrived before the server stated this call's epoch, oldest first.
        var earlyEnds: [EarlyEnd] = []
        /// The offer that began the call.
        var firstOffer: SignalKey?
        /// The device of this user that has answered, according to the server.
        var answeringDevice: DeviceID?
        /// Whether the callee's `ringing` signal was received.
        var hasHeardRinging = false
        /// Whether the app has not said yet whether the system shows the call.
        var awaitsReport = false
        /// Whether the call ended because its push seemed late by this device's clock.
        var endedAsLate = false

        /// The end of one epoch of the callId.
        struct EarlyEnd: Equatable, Sendable {
            let epoch: UInt32
            let reason: EndReason?
            let replacedBy: CallID?
        }

        /// The identity of a signal, by which a repeat is recognised.
        struct SignalKey: Equatable, Sendable {
            let device: DeviceID
            let id: SignalID
        }

        /// The state of the request for the log.
        enum Fetching: Equatable, Sendable {
            case idle
            case underWay(FetchNumber, after: Failures)
            case pausing(until: Moment, after: Failures)
        }

        /// The requests for the log that failed since the last one that succeeded.
        struct Failures: Equatable, Sendable {
            /// The number of failures, from which the pause before the next request follows.
            ///
            /// After a failure to reach the server it is 3 at most.
            var count = 0
            /// The number of responses that said that there is no such call.
            var notFound = 0

            /// These failures and one more.
            var increased: Self { Self(count: count + 1, notFound: notFound) }
        }

        init(
            number: UInt64,
            uuid: CallUUID,
            callID: CallID,
            peer: UserID,
            side: Side,
            epoch: UInt32?,
            phase: Phase,
            caller: DisplayedPeer,
            isReported: Bool
        ) {
            self.number = number
            self.uuid = uuid
            self.callID = callID
            self.peer = peer
            self.side = side
            self.epoch = epoch
            self.phase = phase
            self.displayedPeer = caller
            self.isReported = isReported
            negotiation = Negotiation(isPolite: side == .callee)
        }
    }

    /// A phase of a call on this device; see the diagram at ``CallClient``.
    public enum Phase: Equatable, Sendable {
        /// The user makes a call and the media engine makes the offer. Leads to `calling` and `ended`.
        case preparing(until: Moment)
        /// The offer is on its way, or the callee is rung. Leads to `connecting` by an answer, and to `ended`.
        case calling(until: Moment)
        /// The system rings, until that moment at the latest. Leads to `answering` and `ended`.
        case ringing(until: Moment)
        /// The call came in while this device was calling the same peer. The outgoing call continues, and the incoming
        /// call is not shown.
        ///
        /// Leads to `ended` when the server ends the call, and to `ringing` when the outgoing call fails. The log is
        /// fetched at `checkAt`.
        case hiddenByOutgoingCall(until: Moment, checkAt: Moment)
        /// The user has answered, but the offer, or the engine's answer to it, is not available yet. Leads to
        /// `connecting` and `ended`.
        case answering(until: Moment)
        /// Both descriptions are there, but media does not flow yet. Leads to `active` and `ended`.
        case connecting
        /// Media flows, or has flowed. Leads to `ended`.
        case active
        /// The call is over; this phase is final.
        case ended(EndReason, at: Moment)

        /// The name of the phase, without its moments and its end reason.
        public var name: Name {
            switch self {
            case .preparing: .preparing
            case .calling: .calling
            case .ringing: .ringing
            case .hiddenByOutgoingCall: .hiddenByOutgoingCall
            case .answering: .answering
            case .connecting: .connecting
            case .active: .active
            case .ended: .ended
            }
        }

        /// The names of the phases.
        public enum Name: String, Sendable, CaseIterable {
            // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
            case preparing, calling, ringing, hiddenByOutgoingCall, answering, connecting, active, ended
        }
    }
}

extension CallClient.Call {
    /// Whether the call has not ended.
    public var isLive: Bool {
        if case .ended = phase { false } else { true }
    }

    /// Whether this user or the peer has answered, both descriptions are there, and the call has not ended.
    public var isAnswered: Bool { phase == .connecting || phase == .active }

    /// Whether the user sees the call.
    var isShown: Bool {
        switch phase {
        case .hiddenByOutgoingCall, .ended: false
        case .preparing, .calling, .ringing, .answering, .connecting, .active: true
        }
    }

    /// Whether the call is outgoing and not answered yet.
    var isOutgoingUnanswered: Bool {
        switch phase {
        case .preparing, .calling: true
        case .ringing, .hiddenByOutgoingCall, .answering, .connecting, .active, .ended: false
        }
    }

    /// Whether the call is incoming and not answered yet.
    var isIncomingUnanswered: Bool {
        switch phase {
        case .ringing, .hiddenByOutgoingCall: true
        case .preparing, .calling, .answering, .connecting, .active, .ended: false
        }
    }

    /// Why the call ended; `nil` while it is live.
    public var reason: EndReason? {
        if case .ended(let reason, _) = phase { reason } else { nil }
    }

    /// The next moment at which something is due in the call.
    var deadline: Moment? {
        let own: Moment? =
            switch phase {
            case .preparing(let until), .calling(let until), .ringing(let until), .answering(let until): until
            case .hiddenByOutgoingCall(let until, let checkAt): min(until, checkAt)
            case .connecting, .active: negotiation.answerDue
            case .ended: nil
            }
        guard case .pausing(let until, _) = fetching else { return own }
        return own.map { min($0, until) } ?? until
    }
}
