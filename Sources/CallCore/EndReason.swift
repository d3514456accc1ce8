/// Why a call ended (protocol, section 4).
public enum EndReason: String, Sendable, CaseIterable {
    /// By either side, after the answer.
    case hangup
    /// By the caller, before the answer.
    case cancelled
    /// By the callee, before the answer.
    case declined
    /// The callee is in another call.
    case busy
    /// Nobody answered within the ring timeout.
    case unanswered
    /// Told to a device of the callee when another one answered.
    case answeredElsewhere = "answered_elsewhere"
    /// Told to a device of the callee when another one declined.
    case declinedElsewhere = "declined_elsewhere"
    /// Lost to the peer's simultaneous call.
    case glare
    /// Media or a device failed.
    case failed
    /// A side was gone for longer than its grace.
    case disconnected
    /// The same callId was offered anew, or the caller rings the same callee by another call.
    case replaced
}

extension EndReason {
    /// The reason that holds when a side ends a call: the wished one where it fits role and phase, else the default for
    /// them (protocol, section 9).
    ///
    /// The server decides by it what is told, and a client what it says, so that both have the same reason.
    public static func fitting(_ wish: EndReason?, by side: Side, answered: Bool) -> EndReason {
        switch (wish, side, answered) {
        case (.failed, _, _): .failed
        case (_, _, true): .hangup
        case (_, .caller, false): .cancelled
        case (.busy, .callee, false): .busy
        case (_, .callee, false): .declined
        }
    }
}
