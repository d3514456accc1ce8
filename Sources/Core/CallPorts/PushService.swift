package import CallCore

/// A push service, as people are told of it: its name, the meaning of its responses, and what to do about them.
///
/// `CallTrace` has the sentences.
package struct PushService: Sendable {
    /// The name of the service, or of the kind of service: `APNs`.
    package let name: String
    /// The kinds of push that it carries; the first one stands for all of them.
    package let kinds: [PushKind]
    /// Why its pushes are only logged: `no APNs key is configured`.
    package var notConfigured = ""
    /// The reason that a timeline shows for a push that was only logged.
    package var onlyLogged = ""
    /// The operator's remedy for pushes that are only logged.
    package var remedy = ""
    /// The warning in the response to a registration while the service is not configured; `nil` = none, since its pushes
    /// are tried in any case.
    package var shortcoming: String?
    /// The meaning of the reasons that the service is known to give.
    package var reasons: [String: String] = [:]
    /// The meaning of the statuses without a known reason; the first range counts.
    package var statuses: [(range: ClosedRange<Int>, meaning: String)] = []
    /// What can be done about a push that cannot be sent on its route.
    package var faults: [PushResult.Fault: String] = [:]
    /// What can be done if the service cannot be reached, or does not respond.
    package var network = ""
    /// What can be done about a push for which the server lacked something.
    package var notSent = ""
    /// The predicate of a pushed device in a verdict: `was sent a Web Push message`.
    package var wasPushed = ""
    /// Why a device may have given no sign of life after an accepted push.
    package var silence = ""
    /// What it means that the service accepted a test push.
    package var testAccepted = ""
    /// Whose documentation explains the responses: `Apple's`.
    package var owner = ""

    /// A service of which only name and kinds are known.
    package init(_ name: String, _ kinds: [PushKind]) {
        self.name = name
        self.kinds = kinds
    }

    /// Returns the meaning of a response; `nil` = it needs no explanation, or is unknown.
    package func meaning(ofStatus status: Int, _ reason: String?) -> String? {
        guard !PushResult.isAcceptance(status) else { return nil }
        return reason.flatMap { reasons[$0] } ?? statuses.first { $0.range.contains(status) }?.meaning
    }

    /// Returns what a result means, or what the operator can do about it; `nil` = the result needs no explanation, or its
    /// reason is unknown.
    package func hint(for result: PushResult) -> String? {
        switch result {
        case .response(let status, let reason, _), .deferred(let status, let reason, _):
            meaning(ofStatus: status, reason)
        case .unreachable: "\(name) could not be reached: \(network)"
        case .notSent: notSent
        case .impossible(let fault): faults[fault]
        case .cancelled: nil
        case .onlyLogged: remedy
        }
    }
}
