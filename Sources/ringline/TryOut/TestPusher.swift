import ApplePush
import Dispatch
import Logging
import Switchboard
import Threads

/// Sends pushes one after the other, and waits for what Apple says to each.
final class TestPusher {
    private let sender: APNsSender
    private let reports: Reports

    /// What comes from the sender's thread.
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

    /// Every order is answered, at the latest when it is to be given up.
    func send(_ order: PushOrder) -> PushResult {
        sender.send(order)
        reports.came.wait()
        return reports.last.withLock { $0 } ?? .cancelled
    }

    /// Closes its connections.
    func shutdown() { sender.shutdown(limitMilliseconds: 500) }
}
