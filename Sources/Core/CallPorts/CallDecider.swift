package import CallCore

/// The port to the app's backend, which decides about each offer that would begin a call.
///
/// The method returns immediately, and may be called only on the event loop that owns the switchboard. Each question
/// gets at most one result. The adapter passes the result, on that event loop, to the receiver that the adapter was
/// created with.
package protocol CallDecider: AnyObject, Sendable {
    /// Posts a question to the app's backend, signed as Standard Webhooks demands.
    func ask(_ question: DecisionRequest)
}

/// The number of a question to the app's backend, which its result repeats; counts up from 1 in one run of the server.
package struct DecisionID: Hashable, Comparable, Sendable {
    /// The number.
    package let rawValue: UInt64

    /// The question with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Whether `a` was asked before `b`.
    @inlinable
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A question to the app's backend about an offer.
package struct DecisionRequest: Equatable, Sendable {
    /// The number that the result repeats.
    package var id: DecisionID
    /// The question as JSON (protocol, section 14).
    package var body: [UInt8]
    /// How long the backend has to respond.
    package var timeout: Moment.Duration

    /// The largest body of a response that is read, in bytes.
    package static let responseBytes = 16_384

    /// A question with the given members.
    package init(id: DecisionID, body: [UInt8], timeout: Moment.Duration) {
        self.id = id
        self.body = body
        self.timeout = timeout
    }
}

/// The result of a question to the app's backend.
package enum DecisionResult: Equatable, Sendable {
    /// The backend responded with an HTTP status and a body.
    case response(status: Int, body: [UInt8])
    /// There was no response. The text says why in plain words, without addresses.
    case unreachable(String)
}

/// The outcome of a question to the app's backend, as timelines and metrics name it.
package enum DecisionOutcome: String, Sendable, CaseIterable {
    /// The backend allowed the call.
    case allowed
    /// The backend refused the call, and the caller was told.
    case refused
    /// The backend refused the call, and the caller was not told: the call is hidden from its callee.
    case hidden
    /// There was no response within the time of `--decide-timeout`.
    case late
    /// There was no response, or one with a status from 500 to 599.
    case unreachable
    /// The response was none that the protocol knows.
    case malformed
    /// The backend was not asked, because questions had failed shortly before.
    case unasked
    /// The backend was not asked, because too many questions had no response yet.
    case overloaded
    /// The caller ended the call before there was a response.
    case withdrawn

    /// Whether `--decide-failure` decided, since the backend did not.
    package var isFailure: Bool {
        switch self {
        case .late, .unreachable, .malformed, .unasked, .overloaded: true
        case .allowed, .refused, .hidden, .withdrawn: false
        }
    }
}
