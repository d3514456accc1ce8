/// What one device tells another in a call: the part of it that the call's course depends on.
///
/// The bytes themselves stay with whoever relays them.
public struct Signal: Equatable, Sendable {
    /// What is said.
    public var content: Content
    /// The name that the sender's device gave it; a resend carries the same.
    public var id: SignalID?
    /// The epoch that the sender means; `nil` = the current one.
    public var epoch: UInt32?
    /// Its size as it is relayed, in bytes, which counts towards the log's limit.
    public var byteCount: Int

    /// A signal of all its parts.
    public init(_ content: Content, id: SignalID? = nil, epoch: UInt32? = nil, byteCount: Int = 0) {
        self.content = content
        self.id = id
        self.epoch = epoch
        self.byteCount = byteCount
    }

    /// What a signal says (protocol, section 3).
    public enum Content: Equatable, Sendable {
        /// A description: of a new call, in place of an unanswered one, or to renegotiate.
        case offer(Offer)
        /// The device is alerting its user.
        case ringing
        /// The description in return, told from others by its digest.
        case answer(digest: UInt64)
        /// A candidate, or the end of candidates.
        case ice
        /// Media flows.
        case connected
        /// The sender's side holds, mutes, or stops doing so.
        case update(MediaUpdate)
        /// Digits are pressed.
        case dtmf
        /// Whatever the app wants to say.
        case info
        /// The call is over for the sender.
        case end(EndReason?)
    }

    /// Which kind it is.
    public var kind: SignalKind {
        switch content {
        case .offer: .offer
        case .ringing: .ringing
        case .answer: .answer
        case .ice: .ice
        case .connected: .connected
        case .update: .update
        case .dtmf: .dtmf
        case .info: .info
        case .end: .end
        }
    }
}

/// The kinds of signals, as the wire names them.
public enum SignalKind: String, Sendable, CaseIterable {
    /// A description.
    case offer
    /// A device alerts.
    case ringing
    /// The description in return.
    case answer
    /// A candidate.
    case ice
    /// Media flows.
    case connected
    /// Hold and mute.
    case update
    /// Digits.
    case dtmf
    /// The app's own.
    case info
    /// The end.
    case end
}

/// The name that a device gives one of its signals: 1–64 bytes, any characters.
public struct SignalID: Hashable, Sendable {
    /// The name itself.
    public let text: String

    /// A name, or `nil` when it is empty or too long.
    public init?(_ text: String) {
        guard (1...Limits.signalIDBytes).contains(text.utf8.count) else { return nil }
        self.text = text
    }
}

/// What an offer says beyond its description.
public struct Offer: Equatable, Sendable {
    /// Tells one description from another.
    public var digest: UInt64
    /// Whether the call is meant to have video.
    public var hasVideo: Bool
    /// For how long the callee is rung.
    public var ringFor: Moment.Span
    /// Whether the sender named the callee by `to`, as apps do that begin a call and never renegotiate.
    public var namesCallee: Bool
    /// Whether the sender says that it begins a call: it has none under this name any more.
    public var begins: Bool

    /// An offer of all its parts.
    public init(digest: UInt64, hasVideo: Bool, ringFor: Moment.Span, namesCallee: Bool, begins: Bool = false) {
        self.digest = digest
        self.hasVideo = hasVideo
        self.ringFor = ringFor
        self.namesCallee = namesCallee
        self.begins = begins
    }
}

/// A change of what one side sends; `nil` = as before.
public struct MediaUpdate: Equatable, Sendable {
    /// Whether the call is on hold.
    public var hold: Bool?
    /// Whether the microphone is off.
    public var audioMuted: Bool?
    /// Whether the camera is off.
    public var videoMuted: Bool?

    /// An update of these values.
    public init(hold: Bool? = nil, audioMuted: Bool? = nil, videoMuted: Bool? = nil) {
        self.hold = hold
        self.audioMuted = audioMuted
        self.videoMuted = videoMuted
    }

    /// Takes over what `update` changes.
    public mutating func apply(_ update: MediaUpdate) {
        hold = update.hold ?? hold
        audioMuted = update.audioMuted ?? audioMuted
        videoMuted = update.videoMuted ?? videoMuted
    }
}
