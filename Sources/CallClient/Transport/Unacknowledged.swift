import CallCore

/// A signal that the server has not acknowledged yet.
struct Unacknowledged: Equatable, Sendable {
    /// What a refusal of it means for its call.
    enum Role: Equatable, Sendable {
        /// The offer without which there is no call.
        case beginning
        /// The answer without which there is no call.
        case firstAnswer
        /// Anything else.
        case ordinary
    }

    /// The signal; its epoch is filled in when it goes out.
    var signal: OutgoingSignal
    /// The call, by its number in this core.
    let call: UInt64
    let role: Role
    /// When it went out on the present socket.
    var sentAt: Moment?
    /// Whether a request that carries it is under way.
    var isPosting = false
    /// Not to be posted before then: a request failed.
    var postAfter: Moment?
    /// Not to be sent at all before then, nor what stands behind it: the server refused it for now.
    var pauseUntil: Moment?
    var failures = 0
    /// Since when the server has not known the call.
    var notFoundSince: Moment?
    /// The call was given up before the server acknowledged its offer: never sent again, its fate is waited for.
    var isWithdrawn = false
    /// Whether it was ever handed to a transport.
    var wasSent = false

    /// Whether it is on its way.
    var isInFlight: Bool { sentAt != nil || isPosting }

    /// The pause after so many failures.
    static func pause(after failures: Int) -> Moment.Span {
        let doubled = ClientLimits.firstPause.milliseconds << Int64(min(10, max(0, failures - 1)))
        return min(ClientLimits.longestPause, .milliseconds(doubled))
    }
}
