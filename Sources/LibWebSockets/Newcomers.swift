/// The members that are not authenticated yet, in the order of their arrival, grouped by address.
///
/// When there are too many, the oldest member of the address with the most members must go. So an address with many
/// members loses many, and one with a single member loses it last. If several addresses have the most, the oldest of
/// all their members must go.
public struct Newcomers<Member: Hashable & Sendable> {
    private struct Place {
        let share: AddressShare
        let number: UInt64
        let cameAt: UInt64
        var older: Member?
        var newer: Member?
        var olderInShare: Member?
        var newerInShare: Member?
    }

    private struct Queue {
        var count = 1
        var oldest: Member
        var newest: Member
    }

    private var places: [Member: Place] = [:]
    private var shares: [AddressShare: Queue] = [:]
    /// The member that arrived first; `nil` if there are no members.
    public private(set) var oldest: Member?
    private var newest: Member?
    private var lastNumber: UInt64 = 0

    /// Creates an empty table.
    public init() {}

    /// The number of members.
    public var count: Int { places.count }

    /// Inserts a member that is not in the table yet; `milliseconds` may come from any clock that does not go back.
    public mutating func insert(_ member: Member, of share: AddressShare, at milliseconds: UInt64) {
        lastNumber += 1
        var place = Place(share: share, number: lastNumber, cameAt: milliseconds)
        place.older = newest
        if let newest { places[newest]?.newer = member } else { oldest = member }
        newest = member
        if let queue = shares[share] {
            place.olderInShare = queue.newest
            places[queue.newest]?.newerInShare = member
            shares[share]?.newest = member
            shares[share]?.count += 1
        } else {
            shares[share] = Queue(oldest: member, newest: member)
        }
        places[member] = place
    }

    /// Removes a member that was authenticated or is gone; does nothing if it is not in the table.
    public mutating func remove(_ member: Member) {
        guard let place = places.removeValue(forKey: member) else { return }
        if let older = place.older { places[older]?.newer = place.newer } else { oldest = place.newer }
        if let newer = place.newer { places[newer]?.older = place.older } else { newest = place.older }
        if let older = place.olderInShare { places[older]?.newerInShare = place.newerInShare }
        if let newer = place.newerInShare { places[newer]?.olderInShare = place.olderInShare }
        guard var queue = shares.removeValue(forKey: place.share), queue.count > 1 else { return }
        queue.count -= 1
        if place.olderInShare == nil, let newer = place.newerInShare { queue.oldest = newer }
        if place.newerInShare == nil, let older = place.olderInShare { queue.newest = older }
        shares[place.share] = queue
    }

    /// The member that must go first when there are too many; `nil` if there are no members.
    public var first: Member? {
        var most: (count: Int, number: UInt64, member: Member)?
        for queue in shares.values where queue.count >= most?.count ?? 0 {
            guard let number = places[queue.oldest]?.number else { continue }
            if let most, queue.count == most.count, number > most.number { continue }
            most = (queue.count, number, queue.oldest)
        }
        return most?.member
    }

    /// Returns the member that arrived first, if it arrived at or before this time.
    public func oldest(since milliseconds: UInt64) -> Member? {
        oldest.flatMap { oldest in places[oldest].flatMap { $0.cameAt <= milliseconds ? oldest : nil } }
    }
}
