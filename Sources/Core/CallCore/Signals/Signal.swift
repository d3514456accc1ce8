/// A message from one device to another in a call, reduced to the values on which the course of the call depends.
///
/// The code that relays the message keeps the bytes.
public struct Signal: Equatable, Sendable {
    /// The content of the signal.
    public var content: Content
    /// The `id` that the sender's device gave the signal; a resend has the same `id`.
    public var id: SignalID?
    /// The epoch that the sender means; `nil` means the current epoch.
    public var epoch: UInt32?
    /// The size of the relayed signal in bytes, which counts towards the log's limit.
    public var byteCount: Int

    /// Creates a signal from all its parts.
    public init(_ content: Content, id: SignalID? = nil, epoch: UInt32? = nil, byteCount: Int = 0) {
        self.content = content
        self.id = id
        self.epoch = epoch
        self.byteCount = byteCount
    }

    /// The content of a signal (protocol, section 3).
    public enum Content: Equatable, Sendable {
        /// A description that begins a call, replaces the caller's unanswered description, or renegotiates.
        case offer(Offer)
        /// The device is alerting its user.
        case ringing
        /// The device was reached, but its system does not show the call: on the wire a `ringing` with `shown` false.
        case silenced(Silence)
        /// The description that answers an offer; its digest distinguishes it from other descriptions.
        case answer(digest: UInt64)
        /// An ICE candidate, or the end of candidates.
        case ice
        /// Media is flowing.
        case connected
        /// The sender's side changes its hold or mute state.
        case update(MediaUpdate)
        /// The user presses digits.
        case dtmf
        /// Data of the app's own.
        case info
        /// The user confirms a scheduled call, which then ends: on the wire an `info` with `confirm` true.
        case confirm
        /// The call is over for the sender.
        case end(EndReason?)
    }

    /// Whether the signal changes nothing of the call but its log.
    @inlinable public var isOnlyRelayed: Bool {
        switch content {
        case .ice, .dtmf, .info: true
        case .offer, .ringing, .silenced, .answer, .connected, .update, .confirm, .end: false
        }
    }

    /// The kind of the signal.
    public var kind: SignalKind {
        switch content {
        case .offer: .offer
        case .ringing, .silenced: .ringing
        case .answer: .answer
        case .ice: .ice
        case .connected: .connected
        case .update: .update
        case .dtmf: .dtmf
        case .info, .confirm: .info
        case .end: .end
        }
    }
}

/// The kinds of signals, by their names on the wire.
public enum SignalKind: String, Sendable, CaseIterable {
    /// A description.
    case offer
    /// A device alerts its user.
    case ringing
    /// The description that answers an offer.
    case answer
    /// An ICE candidate, or the end of candidates.
    case ice
    /// Media is flowing.
    case connected
    /// A change of the hold or mute state.
    case update
    /// Digits that the user presses.
    case dtmf
    /// Data of the app's own.
    case info
    /// The end of the call for the sender.
    case end
}

/// The `id` that a device gives one of its signals: 1–64 bytes, any characters.
public struct SignalID: Hashable, Sendable {
    /// The id as text.
    public let text: String
    /// The hash of the text (``TextHash``); 0 for all texts beyond ASCII, because Swift takes texts of different bytes
    /// for equal.
    ///
    /// Its lowest bit is ``isPlain``.
    @usableFromInline let hash: UInt64

    /// Whether the text is ASCII, and no character of it needs an escape in JSON.
    @inlinable public var isPlain: Bool { hash & 1 == 1 }

    /// Creates an id; `nil` when `text` is empty or too long.
    public init?(_ text: String) {
        guard (1...Limits.signalIDBytes).contains(text.utf8.count) else { return nil }
        self.text = text
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            hash = 0
            return
        }
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        hash = TextHash.of(text) & ~1 | (isPlain ? 1 : 0)
    }

    /// Returns whether both have the same text.
    @inlinable
    public static func == (a: Self, b: Self) -> Bool { a.hash == b.hash && a.text == b.text }

    /// Adds the id to a hash.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
        if hash == 0 { hasher.combine(text) }
    }
}

/// The parts of an offer other than its description.
public struct Offer: Equatable, Sendable {
    /// A digest that distinguishes one description from another.
    public var digest: UInt64
    /// Whether the call is meant to have video.
    public var hasVideo: Bool
    /// The time for which the callee is rung.
    public var ringTimeout: Moment.Duration
    /// Whether the sender named the callee by `to`.
    ///
    /// Apps that never renegotiate name the callee in every offer, and each of their offers begins a call.
    public var namesCallee: Bool
    /// Whether the sender states that this offer begins a call, and that the sender no longer has another call under
    /// this callId.
    public var begins: Bool

    /// Creates an offer from all its parts.
    public init(digest: UInt64, hasVideo: Bool, ringTimeout: Moment.Duration, namesCallee: Bool, begins: Bool = false) {
        self.digest = digest
        self.hasVideo = hasVideo
        self.ringTimeout = ringTimeout
        self.namesCallee = namesCallee
        self.begins = begins
    }
}

/// A change of the hold and mute state of one side; `nil` means unchanged.
public struct MediaUpdate: Equatable, Sendable {
    /// Whether the call is on hold.
    public var hold: Bool?
    /// Whether the microphone is off.
    public var audioMuted: Bool?
    /// Whether the camera is off.
    public var videoMuted: Bool?

    /// Creates an update with these values.
    public init(hold: Bool? = nil, audioMuted: Bool? = nil, videoMuted: Bool? = nil) {
        self.hold = hold
        self.audioMuted = audioMuted
        self.videoMuted = videoMuted
    }

    /// Applies the changes in `update`.
    public mutating func apply(_ update: MediaUpdate) {
        hold = update.hold ?? hold
        audioMuted = update.audioMuted ?? audioMuted
        videoMuted = update.videoMuted ?? videoMuted
    }
}
