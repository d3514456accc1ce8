/// Who began the call and who was called.
public enum Side: String, Sendable, CaseIterable {
    /// The one who began it.
    case caller
    /// The one who was called.
    case callee

    /// The one at the other end.
    public var other: Self { self == .caller ? .callee : .caller }
}

/// One device's part in a call.
///
///     notified ──▶ ringing ──▶ answered ──▶ left
///         └───────────┴─────────────────────▶ left
public struct Leg: Equatable, Sendable {
    /// Where the device stands.
    public enum Phase: String, Sendable {
        /// Was told of the call, by socket or push; nothing was heard of it yet. Leads to `ringing`, `answered`, `left`.
        case notified
        /// Alerts its user. Leads to `answered` and `left`.
        case ringing
        /// Is in the call: the caller's from the start, the callee's once it has answered. Leads to `left`.
        case answered
        /// Is out of the call and has been told so, or said so itself.
        case left
        /// Is out of the call and does not know yet. Leads to `left` at its next contact.
        case untold
    }

    /// The device.
    public internal(set) var phone: Phone
    /// On which side it is.
    public let side: Side
    /// Where it stands.
    public internal(set) var phase: Phase
    /// Since when it has shown no sign of life; `nil` while it is there.
    public internal(set) var goneSince: Moment?

    /// A leg of all its parts, as when a call is taken up again after a restart.
    public init(phone: Phone, side: Side, phase: Phase, goneSince: Moment? = nil) {
        self.phone = phone
        self.side = side
        self.phase = phase
        self.goneSince = goneSince
    }
}
