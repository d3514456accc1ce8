import CallPorts
import Threads

/// Hands pushes to the demo's page, which plays Apple's push service and the phones.
///
/// Every push is accepted, except to a token that begins with ``refusedPrefix``: its device has no app any more.
final class DemoPushSender: PushSender {
    /// Prefix of tokens whose pushes the demo refuses.
    static let refusedPrefix = "dead"

    private let pushes: DemoPushes
    private let report: @Sendable (PushID, PushResult) -> Void

    /// A sender that reports each push within ``send(_:)``.
    init(to pushes: DemoPushes, report: @escaping @Sendable (PushID, PushResult) -> Void) {
        self.pushes = pushes
        self.report = report
    }

    func send(_ push: OutgoingPush) {
        if push.route.token.hasPrefix(Self.refusedPrefix) {
            report(push.id, .response(status: 410, reason: "Unregistered", timestamp: nil))
        } else {
            pushes.add(push)
            report(push.id, .response(status: 200, reason: nil, timestamp: nil))
        }
    }

    /// Does nothing: every push is reported at once.
    func cancel(_ id: PushID) {}
}

/// The pushes that wait for the page; safe on any thread.
final class DemoPushes: Sendable {
    /// The largest number of waiting pushes; a closed page fetches none.
    private static let limit = 32
    private let waiting = Monitor<[OutgoingPush]>([])

    /// Adds a push, and drops the oldest one if there are too many.
    func add(_ push: OutgoingPush) {
        waiting.withLock { pushes in
            pushes.append(push)
            if pushes.count > Self.limit { pushes.removeFirst() }
        }
    }

    /// Removes and returns the pushes to a device with this push token, oldest first.
    func removeAll(for token: String) -> [OutgoingPush] {
        waiting.withLock { pushes in
            let taken = pushes.filter { $0.route.token == token }
            pushes.removeAll { $0.route.token == token }
            return taken
        }
    }
}
