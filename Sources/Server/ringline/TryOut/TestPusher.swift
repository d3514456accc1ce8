import CallPorts
import ServerLog
import Threads

/// Sends pushes one after the other, and waits for the push service's response to each.
final class TestPusher {
    private let services: PushServices
    /// The last result, which arrives on a sender's thread, until it is taken.
    private let report: Monitor<PushResult?>

    /// Connects to the services that are configured; Firebase only checks the messages, and sends none.
    init(_ application: ServerApplication) throws(UsageError) {
        let report = Monitor<PushResult?>(nil)
        services = try PushServices(application, .silent, isTest: true) { _, result in
            report.withLock { $0 = result }
        }
        self.report = report
    }

    /// Sends a push and waits for its result, which comes soon after the push expires at the latest.
    func send(_ push: OutgoingPush) -> PushResult {
        services.send(push)
        return report.wait { $0.take() }
    }

    /// Closes the connections to the services.
    func shutdown() { services.shutdown(limitMilliseconds: 500) }
}
