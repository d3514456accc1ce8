import ApplePush
import CallPorts
import Dispatch
import Logging
import Threads

/// Sends pushes one after the other, and waits for Apple's answer to each.
final class TestPusher {
    private let sender: APNsSender
    private let reports: Reports

    /// The results, which arrive on the sender's thread.
    private final class Reports: Sendable {
        let last = Locked<PushResult?>(nil)
        let came = DispatchSemaphore(value: 0)
    }

    init(_ configuration: APNsConfiguration) throws(Complaint) {
        let reports = Reports()
        let log = Logger(label: "ringline") { _ in SwiftLogNoOpLogHandler() }
        do {
            sender = try APNsSender(configuration, log: log) { _, result in
                reports.last.withLock { $0 = result }
                reports.came.signal()
            }
        } catch { throw Complaint(error.description) }
        self.reports = reports
    }

    /// Sends an order and waits for its result, which comes at the latest when the order expires.
    func send(_ order: PushOrder) -> PushResult {
        sender.send(order)
        reports.came.wait()
        return reports.last.withLock { $0 } ?? .cancelled
    }

    /// Closes the connections to Apple.
    func shutdown() { sender.shutdown(limitMilliseconds: 500) }
}
