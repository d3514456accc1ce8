import CallCore

/// The exchange of descriptions in one call, and the candidates that wait for them.
struct Negotiation: Equatable, Sendable {
    /// Where the exchange is.
    enum State: Equatable, Sendable {
        /// Nothing is under way.
        case stable
        /// The engine makes an offer.
        case makingOffer(round: UInt32)
        /// Our offer was sent and waits for its answer.
        case offered(round: UInt32)
        /// The engine makes an answer to the other side's offer.
        case makingAnswer(round: UInt32)
    }

    /// A candidate of the other side.
    struct Held: Equatable, Sendable {
        let candidate: String?
        let round: UInt32?
        /// The device that it is of: two devices of one user may number their descriptions alike.
        var device: DeviceID?
    }

    /// Whether this side yields when both offer at the same time: the callee does.
    let isPolite: Bool
    var state = State.stable
    /// The newest number of a description of ours.
    var lastRound: UInt32 = 0
    /// The newest of them that was sent.
    var sentRound: UInt32 = 0
    /// Our candidates that wait for their description to be sent.
    var early: [Held] = []
    /// The offer to make when the present exchange is over.
    var wanted: Wish?

    /// The other side's offer that is not set yet, because its user has not been answered.
    var remoteOffer: IncomingOffer?
    /// The description of the other side that was set last.
    var remoteSDP: String?
    /// Its number, if the other side counts.
    var remoteRound: UInt32?
    /// The device that made it, where that is known.
    var remoteDevice: DeviceID?
    /// Whether it is a push's copy of an offer that the log has not shown yet: whose it is, and what belongs to it, is
    /// not known.
    var isUnconfirmed = false
    /// An offer of the log that is not that copy, and older or newer than it.
    var unsorted: IncomingOffer?
    /// The newest offer of the other side was not taken: its candidates are not either.
    var isIgnoring = false
    /// The other side's candidates that wait for their description.
    var held: [Held] = []

    /// An offer to be made.
    struct Wish: Equatable, Sendable {
        var hasVideo: Bool
        var restartsICE: Bool
    }

    init(isPolite: Bool) { self.isPolite = isPolite }

    mutating func nextRound() -> UInt32 {
        // The caller of a hostile engine: a number that comes round again is as good.
        lastRound &+= 1
        return lastRound
    }

    /// What becomes of a candidate of the other side.
    enum Verdict { case add, hold, drop }

    /// Whether a candidate's description was set (I5).
    func verdict(on one: Held) -> Verdict {
        guard remoteSDP != nil, !isUnconfirmed else { return .hold }
        // What another device gathered belongs to that one's description: one that is kept, or none any more.
        if let device = one.device, let remoteDevice, device != remoteDevice {
            return remoteOffer?.device == device ? .hold : .drop
        }
        if let round = one.round, let remoteRound {
            return round == remoteRound ? .add : round > remoteRound ? .hold : .drop
        }
        if isIgnoring { return .drop }
        // Of clients that do not count: a candidate belongs to the description before it.
        return remoteOffer == nil ? .add : .hold
    }

    mutating func hold(_ one: Held) {
        guard held.count < ClientLimits.candidates else { return }
        held.append(one)
    }

    /// A description of the other side is set now: the candidates that waited for it.
    mutating func set(remote sdp: String, round: UInt32?, by device: DeviceID?, isCopy: Bool) -> [String?] {
        remoteSDP = sdp
        remoteOffer = nil
        isIgnoring = false
        isUnconfirmed = isCopy
        unsorted = nil
        return confirm(round: round, by: device, isCopy: isCopy)
    }

    /// It is known whose the description is: the candidates that waited for it.
    mutating func confirm(round: UInt32?, by device: DeviceID?, isCopy: Bool = false) -> [String?] {
        remoteRound = round
        remoteDevice = device
        isUnconfirmed = isCopy
        if !isCopy { unsorted = nil }
        let waiting = held
        held = []
        var ready: [String?] = []
        for one in waiting {
            switch verdict(on: one) {
            case .add: ready.append(one.candidate)
            case .hold: held.append(one)
            case .drop: break
            }
        }
        return ready
    }

    /// The other side's offer is there, to be set later.
    mutating func keep(_ offer: IncomingOffer) {
        if let earlier = remoteOffer, earlier.sdp != offer.sdp {
            // What waits came behind the description that is replaced now.
            held.removeAll { $0.round == nil || $0.round != offer.round || $0.device != offer.device }
        }
        remoteOffer = offer
    }

    /// Lets go of what an ended call needs no more.
    mutating func clear() {
        early = []
        held = []
        remoteOffer = nil
        remoteSDP = nil
        isUnconfirmed = false
        unsorted = nil
        wanted = nil
        state = .stable
    }
}
