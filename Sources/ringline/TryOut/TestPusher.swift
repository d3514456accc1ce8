import ApplePush
import CallPorts
import ServerLog
import Threads

/// Sends pushes one after the other, and waits for Apple's response to each.
final class TestPusher {
    private let sender: APNsSender
    /// The last result, which arrives on the sender's thread, until it is taken.
    private let report: Monitor<PushResult?>

    init(_ configuration: APNsConfiguration) throws(UsageError) {
        let report = Monitor<PushResult?>(nil)
        do {
            sender = try APNsSender(configuration, log: .silent) { _, result in report.withLock { $0 = result } }
        } catch { throw UsageError(error.description) }
        self.report = report
    }

    /// Sends a push and waits for its result, which comes at the latest when the push expires.
    func send(_ push: OutgoingPush) -> PushResult {
        sender.send(push)
        return report.wait { $0.take() }
    }

    /// Closes the connections to Apple.
    func shutdown() { sender.shutdown(limitMilliseconds: 500) }
}
