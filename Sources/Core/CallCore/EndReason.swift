/// The reason why a call ended (protocol, section 4).
public enum EndReason: String, Sendable, CaseIterable {
    /// Either side ended the call after the answer.
    case hangup
    /// The caller ended the call before the answer.
    case cancelled
    /// The callee declined the call before the answer.
    case declined
    /// The callee is in another call.
    case busy
    /// No device answered within the ring timeout.
    case unanswered
    /// Another device of the callee answered; sent to the callee's other devices.
    case answeredElsewhere = "answered_elsewhere"
    /// Another device of the callee declined; sent to the callee's other devices.
    case declinedElsewhere = "declined_elsewhere"
    /// The call lost to the peer's simultaneous call.
    case glare
    /// Media or a device failed.
    case failed
    /// A side was disconnected for longer than its grace, or lost the call when its app was restarted.
    case disconnected
    /// One of the two users began a new call under the same callId, or the caller rings the same callee with another
    /// call.
    case replaced
    /// The user confirmed a scheduled call.
    case confirmed
    /// A scheduled call was not answered, or no server could ring when it was due.
    case missed
    /// The last ring of a scheduled call ended without the confirmation that the schedule asks for.
    case givenUp = "given_up"
}

extension EndReason {
    /// Returns the reason that applies when a side ends a call (protocol, section 4).
    ///
    /// The result is the reason that the side asked for, if that reason fits the side and the phase, else the default
    /// for this side and phase.
    ///
    /// The server, which reports the reason, and the client core, which shows it, both call this function, so that they
    /// agree.
    public static func fitting(_ wish: EndReason?, by side: Side, answered: Bool) -> EndReason {
        switch (wish, side, answered) {
        case (.failed, _, _): .failed
        case (.disconnected, _, true): .disconnected
        case (_, _, true): .hangup
        case (_, .caller, false): .cancelled
        case (.busy, .callee, false): .busy
        case (_, .callee, false): .declined
        }
    }
}
