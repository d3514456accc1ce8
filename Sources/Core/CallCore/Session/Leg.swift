/// The side of a call: the user who began it, or the user who was called.
public enum Side: String, Sendable, CaseIterable {
    /// The user who began the call.
    case caller
    /// The user who was called.
    case callee

    /// The opposite side.
    public var other: Self { self == .caller ? .callee : .caller }
}

/// One device's part in a call.
///
///     notified ──▶ ringing ──▶ answered ──▶ endNotDelivered ──▶ left
///          └─▶ silenced ⇄ ┘
///
/// `notified`, `ringing` and `silenced` can also lead directly to `answered` and `endNotDelivered`.
public struct Leg: Equatable, Sendable {
    /// The state of a device in a call.
    public enum Phase: String, Sendable {
        /// The device was notified of the call, on its connection or by a push, and has not reacted yet. Leads to
        /// `ringing`, `silenced`, `answered` and `endNotDelivered`.
        case notified
        /// The device alerts its user. Leads to `silenced`, `answered` and `endNotDelivered`.
        case ringing
        /// The device knows of the call, but its system does not show it. Leads to `ringing`, `answered`
        /// and `endNotDelivered`.
        case silenced
        /// The device is in the call: the caller's from the start, the callee's once it has answered. Leads to
        /// `endNotDelivered` when the call ends.
        case answered
        /// The device is out of the call and knows it: it was notified, or it is a device of the callee that sent its
        /// own `end` on its connection.
        case left
        /// The device is out of the call and may not know it yet; stored as `untold`. Leads to `left` once the device
        /// has been notified.
        case endNotDelivered = "untold"
    }

    /// The device.
    public internal(set) var device: DeviceIdentity
    /// The side of the call that the device belongs to.
    public let side: Side
    /// The state of the device in the call.
    public internal(set) var phase: Phase
    /// The time since which the device has had neither a connection nor a request under way; `nil` = the device is not
    /// gone.
    public internal(set) var goneSince: Moment?

    /// Creates a leg from all its parts, for example when a call is restored after a restart.
    public init(device: DeviceIdentity, side: Side, phase: Phase, goneSince: Moment? = nil) {
        self.device = device
        self.side = side
        self.phase = phase
        self.goneSince = goneSince
    }
}
