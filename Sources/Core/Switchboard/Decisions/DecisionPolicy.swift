package import CallCore

/// The operator's settings for decisions of the app's backend.
package struct DecisionPolicy: Equatable, Sendable {
    /// How long the backend has to decide.
    package var timeout: Moment.Duration
    /// What becomes of a call that the backend does not decide.
    package var failure: Failure

    /// What becomes of a call that the backend does not decide.
    package enum Failure: String, Sendable, CaseIterable {
        /// The call begins.
        case allow
        /// The offer is refused.
        case refuse
    }

    /// The bounds of ``timeout``: a caller waits for it, and a response comes within the time of a request.
    package static let timeouts: ClosedRange<Moment.Duration> = .milliseconds(100) ... .seconds(10)

    /// How long a request to the backend may take: a little longer than ``timeout``, so that the switchboard gives up first,
    /// and a slow backend is late in each case.
    package var requestTimeout: Moment.Duration { .milliseconds(timeout.milliseconds + 500) }

    /// Settings with these values.
    package init(timeout: Moment.Duration = .seconds(1), failure: Failure = .allow) {
        self.timeout = timeout
        self.failure = failure
    }
}
