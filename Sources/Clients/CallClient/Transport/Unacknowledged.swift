import CallCore

/// A signal that the server has not acknowledged yet.
struct Unacknowledged: Equatable, Sendable {
    /// The effect that a refusal of the signal has on its call.
    enum Role: Equatable, Sendable {
        /// The offer that begins the call; if it is refused, the call fails.
        case firstOffer
        /// The first answer; if it is refused, the call ends on this device.
        case firstAnswer
        /// Any other signal.
        case ordinary
    }

    /// The signal; its epoch is filled in when it is sent.
    var signal: OutgoingSignal
    /// The number of the call in this core.
    let call: UInt64
    let role: Role
    /// When the signal was sent on the present connection; `nil` = not yet.
    var sentAt: Moment?
    /// Whether a request that carries the signal is under way.
    var isPosting = false
    /// Whether the server had stated the call's epoch when the signal was sent on the present connection.
    var wasSentWithEpochKnown = false
    /// Whether the server had stated the call's epoch when the signal was last posted.
    var wasPostedWithEpochKnown = false
    /// The moment before which the signal must not be posted, because a request failed.
    var postAfter: Moment?
    /// The moment before which this signal and the later ones of its call must not be sent, because the server refused
    /// this one for now.
    var pauseUntil: Moment?
    var failures = 0
    /// The code with which the server has refused the first offer of a call for now, and which the app was told.
    var toldDelay: String?
    /// The moment at which the server first refused the signal as `not_found`.
    var notFoundSince: Moment?
    /// Whether the signal is the first offer of a call that was given up before the server acknowledged the offer.
    ///
    /// Such an offer is not sent again; it only waits for its ack or refusal.
    var isWithdrawn = false
    /// Whether the signal was ever handed to a transport.
    var wasSent = false

    /// Whether the signal is on its way.
    var isInFlight: Bool { sentAt != nil || isPosting }

    /// Returns the pause before the next attempt, after this many failed attempts.
    static func pause(after failures: Int) -> Moment.Duration {
        let doubled = ClientLimits.firstRetryDelay.milliseconds << Int64(min(10, max(0, failures - 1)))
        return min(ClientLimits.longestRetryDelay, .milliseconds(doubled))
    }
}
