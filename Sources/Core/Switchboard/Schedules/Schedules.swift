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
    /// The number of schedules, without those that are spent.
    private(set) var count = 0
    /// The schedules that are stored but gone for their users (``ScheduleRecord/isSpent``).
    private var spent: [UserID: Set<ScheduleID>] = [:]
    /// The times and rings of each schedule since the start, for a correction of the date.
    private var courses: [UserID: [ScheduleID: Course]] = [:]
    /// The start, by the server's clock.
    var startedAt = Moment(milliseconds: 0)
    /// The server's date at the start.
    var startedOn = Moment(milliseconds: 0)

    private struct Due: Comparable {
        let at: Moment
        let user: UserID
        let id: ScheduleID

        /// By moment; schedules of one moment by name, so that no order of a table shows.
        static func < (a: Self, b: Self) -> Bool {
            a.at != b.at ? a.at < b.at : (a.user.text, a.id.text) < (b.user.text, b.id.text)
        }
    }

    /// The times and rings of one schedule since the start.
    struct Course {
        /// When the user set the times of the schedule, by the server's clock, if nothing has been due since.
        var setAt: Moment?
        /// When the schedule rang last, by the server's clock.
        var rungAt: Moment?
        /// The schedule's next call before a plan by a doubtful clock put it earlier; the latest of all moments = there
        /// was none.
        var nextBefore: Moment?
        /// The state of a further ring whose date is from before the start; `nil` = there is none.
        var earlierRing: EarlierRing?

        fileprivate var isEmpty: Bool {
            setAt == nil && rungAt == nil && nextBefore == nil && earlierRing == nil
        }
    }

    /// The state of a further ring (``ScheduleRecord/again``) whose date is from before the start.
    enum EarlierRing {
        /// It lies ahead.
        case planned
        /// Its date was too long ago when it became due. It waits, since the date may be ahead.
        case late
    }

    init(_ stored: [ScheduleRecord]) { for record in stored { put(record) } }

    /// Returns a user's schedules, in the order of their ids.
    func schedules(of user: UserID) -> [ScheduleRecord] {
        (byUser[user] ?? [:]).values.filter { !$0.isSpent }.sorted { $0.id < $1.id }
    }

    /// Returns the number of a user's schedules.
    func count(of user: UserID) -> Int { (byUser[user]?.count ?? 0) - spentCount(of: user) }

    /// Returns the number of a user's schedules that are spent.
    func spentCount(of user: UserID) -> Int { spent[user]?.count ?? 0 }

    /// Returns a schedule, unless it is spent.
    subscript(user: UserID, id: ScheduleID) -> ScheduleRecord? {
        byUser[user]?[id].flatMap { $0.isSpent ? nil : $0 }
    }

    /// All schedules, also those that are spent, in the order of their names: what is decided about each may draw a
    /// number or begin a call, and must not depend on the order of a table.
    ///
    /// Users are ordered first, and then each user's schedules: one sort of all took three times as long, and a start
    /// orders them twice.
    var all: [ScheduleRecord] {
        byUser.sorted { $0.key.text < $1.key.text }
            .flatMap { $0.value.sorted { $0.key.text < $1.key.text }.map(\.value) }
    }

    private static func inOrder(_ records: [ScheduleRecord]) -> [ScheduleRecord] {
        records.sorted { ($0.user.text, $0.id.text) < ($1.user.text, $1.id.text) }
    }

    /// Whether a schedule is spent.
    func isSpent(_ id: ScheduleID, of user: UserID) -> Bool { spent[user]?.contains(id) ?? false }

    /// All spent schedules, in the order of their names.
    var allSpent: [(user: UserID, id: ScheduleID)] {
        spent.flatMap { user, ids in ids.map { (user, $0) } }.sorted { ($0.0.text, $0.1.text) < ($1.0.text, $1.1.text) }
    }

    /// Returns what this run of the server remembers of a schedule.
    func course(of record: ScheduleRecord) -> Course { courses[record.user]?[record.id] ?? Course() }

    /// Sets what this run of the server remembers of a schedule.
    mutating func setCourse(_ course: Course, of record: ScheduleRecord) {
        courses[record.user, default: [:]][record.id] = course.isEmpty ? nil : course
        if courses[record.user]?.isEmpty == true { courses[record.user] = nil }
    }

    /// Remembers when the user set the times of a schedule, and forgets what happened before.
    mutating func noteTimes(of record: ScheduleRecord, at moment: Moment) {
        setCourse(Course(setAt: moment, earlierRing: course(of: record).earlierRing), of: record)
    }

    /// Remembers when a schedule rang.
    mutating func noteRing(of record: ScheduleRecord, at moment: Moment) {
        var known = course(of: record)
        known.rungAt = moment
        setCourse(known, of: record)
    }

    /// Forgets when schedules were set or rang before a moment of the server's clock.
    mutating func forgetCourses(before moment: Moment) {
        guard !courses.isEmpty else { return }
        courses = courses.compactMapValues { user in
            let left = user.compactMapValues { course in
                var course = course
                if let setAt = course.setAt, setAt < moment { course.setAt = nil }
                if let rungAt = course.rungAt, rungAt < moment { course.rungAt = nil }
                return course.isEmpty ? nil : course
            }
            return left.isEmpty ? nil : left
        }
    }

    /// Adds a schedule, or replaces the one with its user and id.
    mutating func put(_ record: ScheduleRecord) {
        let earlier = byUser[record.user, default: [:]].updateValue(record, forKey: record.id)
        if earlier?.isSpent == true { removeSpent(record.id, of: record.user) } else if earlier != nil { count -= 1 }
        if record.isSpent { spent[record.user, default: []].insert(record.id) } else { count += 1 }
        let known = earlier.flatMap { isHeld($0) ? nil : due(of: $0) }
        if let earlier, earlier.again != record.again { setEarlierRing(nil, of: record) }
        guard let due = due(of: record), due != known, !isHeld(record) else { return }
        insertDue(due, of: record)
    }

    private mutating func insertDue(_ due: Moment, of record: ScheduleRecord) {
        queue.insert(Due(at: due, user: record.user, id: record.id))
        // A user who changes one schedule again and again must not fill the memory.
        if queue.count > 2 * count + 64 { rebuildQueue() }
    }

    private mutating func rebuildQueue() {
        let dues = byUser.values.flatMap(\.values).compactMap { record in
            isHeld(record) ? nil : due(of: record).map { Due(at: $0, user: record.user, id: record.id) }
        }
        queue = Heap(dues)
    }

    /// Returns when something is due for a schedule; `nil` = never.
    private func due(of record: ScheduleRecord) -> Moment? {
        course(of: record).earlierRing == .late ? record.next : record.due
    }

    // MARK: Further rings from before the start

    /// Sets the state of a schedule's further ring from before the start.
    mutating func setEarlierRing(_ state: EarlierRing?, of record: ScheduleRecord) {
        var course = course(of: record)
        guard course.earlierRing != state else { return }
        course.earlierRing = state
        setCourse(course, of: record)
        if state == .late, let next = record.next, !isHeld(record) { insertDue(next, of: record) }
    }

    /// The schedules with a further ring that waits because its date was too long ago, in the order of their names.
    var withLateRings: [ScheduleRecord] {
        let late = courses.flatMap { user, courses in
            courses.compactMap { id, course in course.earlierRing == .late ? byUser[user]?[id] : nil }
        }
        return Self.inOrder(late)
    }

    /// Makes further rings that wait due again, because the date was corrected.
    mutating func endWaits() {
        let late = withLateRings
        for record in late { setEarlierRing(.planned, of: record) }
        if !late.isEmpty { rebuildQueue() }
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
        guard let heldBefore, let due = due(of: record), case .once = record.recurrence.dates else { return false }
        // A changed schedule may have a further ring that was due long ago, and a future call.
        return due < heldBefore && (record.next ?? due) < heldBefore
    }

    /// The number of moments in the queue.
    var queueCount: Int { queue.count }

    /// Removes a schedule; returns whether there was one.
    @discardableResult
    mutating func remove(_ id: ScheduleID, of user: UserID) -> Bool {
        guard let record = byUser[user]?.removeValue(forKey: id) else { return false }
        if byUser[user]?.isEmpty == true { byUser[user] = nil }
        setCourse(Course(), of: record)
        if record.isSpent { removeSpent(id, of: user) } else { count -= 1 }
        return true
    }

    private mutating func removeSpent(_ id: ScheduleID, of user: UserID) {
        spent[user]?.remove(id)
        if spent[user]?.isEmpty == true { spent[user] = nil }
    }

    /// Returns the schedule that is due first and not held, which may be in the future; `nil` = none is due at all.
    mutating func first() -> (record: ScheduleRecord, due: Moment)? {
        while let due = queue.min {
            if let record = self[due.user, due.id], self.due(of: record) == due.at { return (record, due.at) }
            queue.removeMin()
        }
        return nil
    }
}
