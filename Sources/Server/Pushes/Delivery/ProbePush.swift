package import CallCore
package import CallPorts
import ServerLog
import Threads

/// One push that is sent to see how its push service responds.
package enum ProbePush {
    /// Sends the push by a sender of its own and waits for its result.
    ///
    /// - Parameters:
    ///   - configuration: the settings of the service.
    ///   - route: the way of the push.
    ///   - payload: its content.
    ///   - expiresAt: when it is given up.
    /// - Returns: the result; unreachable if there is no sender.
    package static func send(
        _ configuration: some PushConfiguration,
        by route: PushRoute,
        payload: [UInt8],
        expiresAt: Moment
    ) -> PushResult {
        let result = Monitor<PushResult?>(nil)
        let sender: HTTPPushSender
        do throws(PushSenderError) {
            sender = try HTTPPushSender(configuration, log: .silent) { _, found in result.withLock { $0 = found } }
        } catch { return .unreachable(error.description) }
        defer { sender.shutdown(limitMilliseconds: 500) }
        sender.send(
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
