import CallCore

/// The exchange of descriptions in one call, and the candidates that wait for them.
struct Negotiation: Equatable, Sendable {
    /// The state of the exchange.
    enum State: Equatable, Sendable {
        /// No exchange is under way.
        case stable
        /// The engine makes an offer.
        case makingOffer(round: UInt32)
        /// Our offer was sent and waits for its answer.
        case offered(round: UInt32)
        /// The engine makes an answer to the peer's offer.
        case makingAnswer(round: UInt32)
    }

    /// A candidate of either side that waits for its description.
    struct WaitingCandidate: Equatable, Sendable {
        let candidate: String?
        let round: UInt32?
        /// The device that gathered the candidate, if it is known: two devices of one user may use the same rounds.
        var device: DeviceID?
    }

    /// Whether this side yields when both sides make an offer at the same time: the callee does.
    let isPolite: Bool
    var state = State.stable
    /// The round of our newest description; 0 = none.
    var lastRound: UInt32 = 0
    /// The round of our newest description that was sent; 0 = none, or it was withdrawn.
    var sentRound: UInt32 = 0
    /// Our candidates that wait for their description to be sent.
    var waitingLocalCandidates: [WaitingCandidate] = []
    /// The offer to make after the present exchange.
    var nextOffer: PlannedOffer?
    /// Whether the call had video before the newest offer of ours.
    var hadVideo = false
    /// When our unanswered offer in an answered call is withdrawn; `nil` for the offer that began the call.
    var answerBy: Moment?

    /// The peer's offer that is not set yet, because this user has not answered.
    var remoteOffer: IncomingOffer?
    /// The description of the peer that was set last.
    var remoteSDP: String?
    /// The round of the description that was set last; `nil` if the peer's client does not number its descriptions.
    var remoteRound: UInt32?
    /// The device that made the description that was set last, if it is known.
    var remoteDevice: DeviceID?
    /// Whether the description that was set last is a push's copy of an offer that has not been seen in the log yet.
    ///
    /// Until the offer is seen in the log, it is unknown which device made it and which candidates belong to it.
    var isUnconfirmed = false
    /// An offer in the log that differs from the push's copy; it may be older or newer than the copy.
    var deferredOffer: IncomingOffer?
    /// Whether the peer's newest offer was ignored; its candidates are ignored too.
    var isIgnoring = false
    /// The peer's candidates that wait for their description.
    var waitingRemoteCandidates: [WaitingCandidate] = []

    /// An offer to be made.
    struct PlannedOffer: Equatable, Sendable {
        var hasVideo: Bool
        var restartsICE: Bool
    }

    /// When the answer to the offer under way is due; `nil` without such an offer.
    var answerDue: Moment? {
        if case .offered = state { answerBy } else { nil }
    }

    init(isPolite: Bool) { self.isPolite = isPolite }

    mutating func nextRound() -> UInt32 {
        // The round wraps instead of trapping, in case a hostile peer causes descriptions without end; a reused round
        // does no harm.
        lastRound &+= 1
        return lastRound
    }

    /// The treatment of a candidate from the peer.
    enum CandidateDecision { case add, keep, drop }

    /// Returns what to do with a candidate; it may be added only after its description was set (invariant I5).
    func decision(about one: WaitingCandidate) -> CandidateDecision {
        guard remoteSDP != nil, !isUnconfirmed else { return .keep }
        // A candidate of another device than the one that made the set description waits if an offer of its own device
        // is kept for later. Otherwise it belongs to a description that was replaced, and is dropped.
        if let device = one.device, let remoteDevice, device != remoteDevice {
            return remoteOffer?.device == device ? .keep : .drop
        }
        if let round = one.round, let remoteRound {
            return round == remoteRound ? .add : round > remoteRound ? .keep : .drop
        }
        if isIgnoring { return .drop }
        // If the peer's client does not number its descriptions, a candidate belongs to the last description that came
        // before it.
        return remoteOffer == nil ? .add : .keep
    }

    mutating func keep(_ one: WaitingCandidate) {
        guard waitingRemoteCandidates.count < ClientLimits.candidates else { return }
        waitingRemoteCandidates.append(one)
    }

    /// Records that a description of the peer was set, and returns the candidates that waited for it.
    mutating func set(remote sdp: String, round: UInt32?, by device: DeviceID?, isCopy: Bool) -> [String?] {
        remoteSDP = sdp
        remoteOffer = nil
        isIgnoring = false
        isUnconfirmed = isCopy
        deferredOffer = nil
        return confirm(round: round, by: device, isCopy: isCopy)
    }

    /// Records the round and the device of the peer's description, and returns the candidates that waited for it.
    mutating func confirm(round: UInt32?, by device: DeviceID?, isCopy: Bool = false) -> [String?] {
        remoteRound = round
        remoteDevice = device
        isUnconfirmed = isCopy
        if !isCopy { deferredOffer = nil }
        let waiting = waitingRemoteCandidates
        waitingRemoteCandidates = []
        var ready: [String?] = []
        for one in waiting {
            switch decision(about: one) {
            case .add: ready.append(one.candidate)
            case .keep: waitingRemoteCandidates.append(one)
            case .drop: break
            }
        }
        return ready
    }

    /// Keeps an offer of the peer, to be set later.
    mutating func keep(_ offer: IncomingOffer) {
        if let earlier = remoteOffer, earlier.sdp != offer.sdp {
            // Waiting candidates that are not of the new offer's round and device belong to the offer that the new
            // offer replaces.
            waitingRemoteCandidates.removeAll {
                $0.round == nil || $0.round != offer.round || $0.device != offer.device
            }
        }
        remoteOffer = offer
    }

    /// Releases what an ended call does not need.
    mutating func clear() {
        waitingLocalCandidates = []
        waitingRemoteCandidates = []
        remoteOffer = nil
        remoteSDP = nil
        isUnconfirmed = false
        deferredOffer = nil
        nextOffer = nil
        state = .stable
    }
}
