import CallCore
import CallPorts
import HeapModule
import TimeZones

/// The schedules of all users, in the order in which they are due.
struct Schedules {
    private var byUser: [UserID: [ScheduleID: ScheduleRecord]] = [:]
    /// The moments at which schedules are due.
    ///
    /// A moment whose schedule was changed or removed stays until it comes first.
    private var queue = Heap<Due>()
    /// The moment of the timer that is set; `nil` = none is.
    var timerAt: Moment?
    /// Schedules of one date that were due before this moment are held: they stay as they are; `nil` = none is held.
    private var heldBefore: Moment?
    /// The number of schedules.
    private(set) var count = 0

    private struct Due: Comparable {
        let at: Moment
        let user: UserID
        let id: ScheduleID

        static func < (a: Self, b: Self) -> Bool { a.at < b.at }
    }

    init(_ stored: [ScheduleRecord]) { for record in stored { put(record) } }

    /// Returns a user's schedules, in the order of their ids.
    func schedules(of user: UserID) -> [ScheduleRecord] { (byUser[user] ?? [:]).values.sorted { $0.id < $1.id } }

    /// Returns the number of a user's schedules.
    func count(of user: UserID) -> Int { byUser[user]?.count ?? 0 }

    subscript(user: UserID, id: ScheduleID) -> ScheduleRecord? { byUser[user]?[id] }

    /// All schedules, in no defined order.
    var all: [ScheduleRecord] { byUser.values.flatMap(\.values) }

    /// Adds a schedule, or replaces the one with its user and id.
    mutating func put(_ record: ScheduleRecord) {
        let earlier = byUser[record.user, default: [:]].updateValue(record, forKey: record.id)
        if earlier == nil { count += 1 }
        let isKnown = earlier.map { $0.due == record.due && !isHeld($0) } ?? false
        guard let due = record.due, !isKnown, !isHeld(record) else { return }
        queue.insert(Due(at: due, user: record.user, id: record.id))
        // A user who changes one schedule again and again must not fill the memory.
        if queue.count > 2 * count + 64 { rebuildQueue() }
    }

    private mutating func rebuildQueue() {
        let due = all.compactMap { record in
            isHeld(record) ? nil : record.due.map { Due(at: $0, user: record.user, id: record.id) }
        }
        queue = Heap(due)
    }

    /// Holds the schedules of one date that were due before a moment, until ``endHold()``.
    mutating func hold(dueBefore moment: Moment) {
        heldBefore = moment
        rebuildQueue()
    }

    /// Ends the hold, if there is one.
    mutating func endHold() {
        guard heldBefore != nil else { return }
        heldBefore = nil
        rebuildQueue()
    }

    private func isHeld(_ record: ScheduleRecord) -> Bool {
        guard let heldBefore, let due = record.due, case .once = record.recurrence.dates else { return false }
        // A changed schedule may have a further ring that was due long ago, and a next call that is to come.
        return due < heldBefore && (record.next ?? due) < heldBefore
    }

    /// The number of moments in the queue.
    var queueCount: Int { queue.count }

    /// Removes a schedule; returns whether there was one.
    @discardableResult
    mutating func remove(_ id: ScheduleID, of user: UserID) -> Bool {
        guard byUser[user]?.removeValue(forKey: id) != nil else { return false }
        if byUser[user]?.isEmpty == true { byUser[user] = nil }
        count -= 1
        return true
    }

    /// Returns the schedule that is due first and not held, which may be in the future; `nil` = none is due at all.
    mutating func first() -> ScheduleRecord? {
        while let due = queue.min {
            if let record = self[due.user, due.id], record.due == due.at { return record }
            queue.removeMin()
        }
        return nil
    }
}
