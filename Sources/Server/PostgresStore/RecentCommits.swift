import CallPorts
import DequeModule
import Storing

/// The newest commits that the database has confirmed, kept in memory to be sent again if the database loses them.
///
/// With asynchronous replication, a standby may take over without having received them.
struct RecentCommits {
    /// The limit on the commits that are kept; older ones are dropped when a commit is appended.
    struct Limit: Sendable {
        /// The maximum age of a commit, in milliseconds.
        var milliseconds: Int64
        /// The maximum estimated size of all commits, in bytes.
        var bytes: Int
    }

    private struct Item {
        let commit: WriterQueue.Commit
        let weight: Int
        let at: ContinuousClock.Instant
    }

    private let limit: Limit
    private var items: Deque<Item> = []
    private var weight = 0

    init(limit: Limit) { self.limit = limit }

    /// Appends a commit that the database has confirmed at `now`.
    mutating func append(_ commit: WriterQueue.Commit, at now: ContinuousClock.Instant) {
        let new = Item(commit: commit, weight: commit.weight, at: now)
        items.append(new)
        weight += new.weight
        while let oldest = items.first, weight > limit.bytes || now - oldest.at > .milliseconds(limit.milliseconds) {
            items.removeFirst()
            weight -= oldest.weight
        }
    }

    /// Returns the kept commits after a ticket, oldest first.
    func commits(after ticket: UInt64) -> [WriterQueue.Commit] {
        items.lazy.map(\.commit).filter { $0.ticket.rawValue > ticket }
    }
}

extension WriterQueue.Commit {
    /// The estimated number of bytes that the commit occupies in memory, and about as many in its transaction.
    var weight: Int {
        changes.reduce(64) { sum, change in
            switch change {
            case .entry(_, let entry): sum + 256 + entry.object.count
            case .call, .device: sum + 1_024
            case .appEvent(let event): sum + 256 + event.data.count
            default: sum + 160
            }
        }
    }
}
