package import CallCore
package import CallPorts
import Threads

/// One push that is sent to see how its push service responds.
package enum ProbePush {
    /// Sends the push and waits for its result.
    ///
    /// - Parameters:
    ///   - route: the way of the push.
    ///   - payload: its content.
    ///   - expiresAt: when it is given up.
    ///   - makeSender: returns a sender that reports to the closure it is given, and what shuts the sender down.
    /// - Returns: the result; unreachable if there is no sender.
    package static func send<Failure: Error & CustomStringConvertible>(
        by route: PushRoute,
        payload: [UInt8],
        expiresAt: Moment,
        _ makeSender: (
            _ report: @escaping @Sendable (PushID, PushResult) -> Void
        ) throws(Failure) -> (any PushSender, shutdown: () -> Void)
    ) -> PushResult {
        let result = Monitor<PushResult?>(nil)
        let sender: (any PushSender, shutdown: () -> Void)
        do throws(Failure) { sender = try makeSender { _, found in result.withLock { $0 = found } } } catch {
            return .unreachable(error.description)
        }
        defer { sender.shutdown() }
        sender.0.send(
            OutgoingPush(
                id: PushID(rawValue: 1),
                route: route,
                uuid: "",
                payload: payload,
                kept: .untilExpiry,
                expiresAt: expiresAt
            )
        )
        return result.wait { $0.take() }
    }
}
