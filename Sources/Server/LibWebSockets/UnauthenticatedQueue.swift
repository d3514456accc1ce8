package import CallPorts

/// The members (connections or sessions) that are not authenticated yet, in the order of their arrival, grouped by
/// network.
///
/// When there are too many members, the oldest member of the network with the most members must go. So a network with
/// many members loses many, and a network with a single member loses it last. If several networks have the most
/// members, the oldest of all their members must go.
package struct UnauthenticatedQueue<Member: Hashable & Sendable> {
    private struct Entry {
        let network: ClientNetwork
        let number: UInt64
        let cameAt: UInt64
        var older: Member?
        var newer: Member?
        var olderInNetwork: Member?
        var newerInNetwork: Member?
    }

    private struct Queue {
        var count = 1
        var oldest: Member
        var newest: Member
    }

    private var entries: [Member: Entry] = [:]
    private var networks: [ClientNetwork: Queue] = [:]
    /// The member that arrived first; `nil` if there are no members.
    package private(set) var oldest: Member?
    private var newest: Member?
    private var lastNumber: UInt64 = 0

    /// Creates an empty queue.
    package init() {}

    /// The number of members.
    package var count: Int { entries.count }

    /// Inserts a member that is not in the queue yet; `milliseconds` is its time of arrival, by any clock that does not
    /// go back.
    package mutating func insert(_ member: Member, of network: ClientNetwork, at milliseconds: UInt64) {
        lastNumber += 1
        var entry = Entry(network: network, number: lastNumber, cameAt: milliseconds)
        entry.older = newest
        if let newest { entries[newest]?.newer = member } else { oldest = member }
        newest = member
        if let queue = networks[network] {
            entry.olderInNetwork = queue.newest
            entries[queue.newest]?.newerInNetwork = member
            networks[network]?.newest = member
            networks[network]?.count += 1
        } else {
            networks[network] = Queue(oldest: member, newest: member)
        }
        entries[member] = entry
    }

    /// Removes a member that was authenticated or is gone; does nothing if it is not in the queue.
    package mutating func remove(_ member: Member) {
        guard let entry = entries.removeValue(forKey: member) else { return }
        if let older = entry.older { entries[older]?.newer = entry.newer } else { oldest = entry.newer }
        if let newer = entry.newer { entries[newer]?.older = entry.older } else { newest = entry.older }
        if let older = entry.olderInNetwork { entries[older]?.newerInNetwork = entry.newerInNetwork }
        if let newer = entry.newerInNetwork { entries[newer]?.olderInNetwork = entry.olderInNetwork }
        guard var queue = networks.removeValue(forKey: entry.network), queue.count > 1 else { return }
        queue.count -= 1
        if entry.olderInNetwork == nil, let newer = entry.newerInNetwork { queue.oldest = newer }
        if entry.newerInNetwork == nil, let older = entry.olderInNetwork { queue.newest = older }
        networks[entry.network] = queue
    }

    /// The member that must go first when there are too many; `nil` if there are no members.
    package var first: Member? {
        var most: (count: Int, number: UInt64, member: Member)?
        for queue in networks.values where queue.count >= most?.count ?? 0 {
            guard let number = entries[queue.oldest]?.number else { continue }
            if let most, queue.count == most.count, number > most.number { continue }
            most = (queue.count, number, queue.oldest)
        }
        return most?.member
    }

    /// Returns the member that arrived first, if it arrived at or before this time.
    package func oldest(since milliseconds: UInt64) -> Member? {
        oldest.flatMap { oldest in entries[oldest].flatMap { $0.cameAt <= milliseconds ? oldest : nil } }
    }
}
