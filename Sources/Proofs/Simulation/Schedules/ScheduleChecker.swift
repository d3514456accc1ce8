import CallCore
import CallPorts

/// Checks that each call of a schedule rings, once, and again until it is confirmed (I20).
///
/// It knows what users were promised by responses, and what the database holds; it shares no code with the server.
struct ScheduleChecker {
    /// A time at which a schedule is due.
    struct Occurrence: Hashable, CustomStringConvertible {
        let name: ScheduleName
        /// How often a schedule of this name had been removed before.
        let generation: Int
        let at: Int64

        var description: String { "\(name) of \(at)" }
    }

    /// A call of a schedule, or a record in the history that stands for one.
    struct Ring {
        let number: CallNumber
        let callID: CallID
        let ring: Int
        let isHidden: Bool
        let startedAt: Int64
        /// When it rings no longer, even if nobody does anything.
        let ringUntil: Int64
        /// The number of the promise that held when it began; `nil` = unknown.
        let promise: Int?
        /// How often the user had made or replaced the schedule when it began.
        let puts: Int
        /// Whether it records a call that did not ring.
        let isSkipped: Bool
        var isAnswered: Bool
        var reason: EndReason?
        var endedAt: Int64?

        /// Returns when a ring that has ended was over: a server that was down notices only at its start that nobody had
        /// answered.
        func overAt(_ ended: Int64) -> Int64 { reason == .unanswered ? min(ended, ringUntil) : ended }
    }

    /// A schedule that the server has promised.
    struct Promise {
        let schedule: SimulatedSchedule
        /// Different for each promise.
        let number: Int
        /// Up to this moment all occurrences were checked.
        var checked: Int64
    }

    private(set) var violation: String?
    /// The calls for each occurrence, in the order of their rings.
    private var rings: [Occurrence: [Ring]] = [:]
    private var occurrenceOf: [CallNumber: Occurrence] = [:]
    private var numberOf: [CallID: CallNumber] = [:]
    /// The newest occurrence that began to ring, or was missed, for each schedule.
    private(set) var newest: [ScheduleName: Occurrence] = [:]
    private var generations: [ScheduleName: Int] = [:]
    /// The schedules that responses have promised; one is missing while a change of it has no response.
    private var promises: [ScheduleName: Promise] = [:]
    /// The promised schedule and all that were asked for since: each may be in force.
    private var possible: [ScheduleName: [SimulatedSchedule]] = [:]
    private var putCounts: [ScheduleName: Int] = [:]
    /// The occurrences whose confirmation was acknowledged.
    private var confirmed: Set<Occurrence> = []
    private var pushed: Set<CallID> = []
    /// Whether a user has blocked the caller, and since when by the server's clock; a user whose request had no response
    /// is missing.
    private var blocks: [UserID: (isBlocked: Bool, since: Int64)] = [:]
    private var promiseCount = 0
    /// Whether the server's clock may leap, so that checks by the time of day are left out.
    let clockLeaps: Bool

    init(clockLeaps: Bool) { self.clockLeaps = clockLeaps }

    private mutating func fail(_ message: String) { if violation == nil { violation = message } }

    // MARK: What users ask for

    mutating func asked(_ schedule: SimulatedSchedule?, of name: ScheduleName) {
        // Until the response comes, either may hold.
        promises[name] = nil
        guard let schedule else { return }
        possible[name, default: []].append(schedule)
        putCounts[name, default: 0] += 1
    }

    /// The server has said yes; `nil` = the schedule was removed.
    mutating func promised(_ schedule: SimulatedSchedule?, of name: ScheduleName, since: Int64) {
        possible[name] = schedule.map { [$0] } ?? []
        guard let schedule else {
            // A call that was answered goes on.
            if let occurrence = newest[name], let last = rings[occurrence]?.last, last.reason == nil, !last.isAnswered {
                fail("\(occurrence): the call rings on although its schedule was removed")
            }
            return
        }
        promiseCount += 1
        promises[name] = Promise(schedule: schedule, number: promiseCount, checked: since)
    }

    mutating func askedToBlock(by user: UserID) { blocks[user] = nil }

    mutating func blocked(_ isBlocked: Bool, by user: UserID, since: Int64) { blocks[user] = (isBlocked, since) }

    mutating func confirmed(_ occurrence: Occurrence) { confirmed.insert(occurrence) }

    mutating func pushed(_ call: CallID) {
        pushed.insert(call)
        guard let occurrence = occurrence(of: call), let ring = rings[occurrence]?.last(where: { $0.callID == call }),
            ring.isHidden
        else { return }
        fail("\(occurrence): is hidden from the user, and was pushed")
    }

    /// The number of calls, and of records that stand for one.
    var callCount: Int { occurrenceOf.count }

    /// Returns what a call rings for; `nil` = the database does not hold it.
    func occurrence(of call: CallID) -> Occurrence? { numberOf[call].flatMap { occurrenceOf[$0] } }

    // MARK: What the database holds

    mutating func durable(_ changes: [Change]) {
        for change in changes {
            switch change {
            case .call(let record): if let ring = record.scheduled { durable(record, ring) }
            case .scheduleRemoved(let user, let id):
                generations[ScheduleName(user: user, id: id), default: 0] += 1
            default: break
            }
        }
    }

    private mutating func durable(_ record: CallRecord, _ scheduled: ScheduledRing) {
        if let occurrence = occurrenceOf[record.number] {
            guard let index = rings[occurrence]?.firstIndex(where: { $0.number == record.number }) else { return }
            rings[occurrence]?[index].isAnswered = record.answeredAt != nil
            rings[occurrence]?[index].reason = record.reason
            rings[occurrence]?[index].endedAt = record.endedAt?.milliseconds
            return
        }
        let name = ScheduleName(user: record.callee, id: scheduled.schedule)
        let occurrence = Occurrence(
            name: name,
            generation: generations[name] ?? 0,
            at: scheduled.occurrence.milliseconds
        )
        let ring = Ring(
            number: record.number,
            callID: record.id,
            ring: scheduled.ring,
            isHidden: record.hidden != nil,
            startedAt: record.startedAt.milliseconds,
            ringUntil: record.ringUntil.milliseconds,
            promise: promises[name]?.number,
            puts: putCounts[name] ?? 0,
            isSkipped: record.reason != nil,
            isAnswered: record.answeredAt != nil,
            reason: record.reason,
            endedAt: record.endedAt?.milliseconds
        )
        let first = rings[occurrence]?.first
        if clockLeaps, ring.ring == 1, first?.puts != ring.puts || first?.isSkipped == true {
            // The clock was set back, and the user has asked for the same time again, or a wrong clock had missed it.
            rings[occurrence] = nil
            confirmed.remove(occurrence)
        }
        check(ring, of: occurrence)
        if ring.isHidden, pushed.contains(ring.callID) {
            fail("\(occurrence): is hidden from the user, and was pushed")
        }
        occurrenceOf[record.number] = occurrence
        numberOf[record.id] = record.number
        rings[occurrence, default: []].append(ring)
        newest[name] = occurrence
    }

    private mutating func check(_ ring: Ring, of occurrence: Occurrence) {
        let earlier = rings[occurrence] ?? []
        if earlier.contains(where: { $0.ring == ring.ring }) {
            fail("\(occurrence): ring \(ring.ring) began twice")
        } else if ring.ring != earlier.count + 1 {
            fail("\(occurrence): ring \(ring.ring) follows \(earlier.count) others")
        }
        if confirmed.contains(occurrence), ring.reason != .confirmed {
            fail("\(occurrence): ring \(ring.ring) began after the confirmation was acknowledged")
        }
        if earlier.isEmpty, possible[occurrence.name]?.contains(where: { $0.rings(at: occurrence.at) }) != true {
            fail("\(occurrence): nobody has asked for a call at this time")
        }
        let isRecordOnly = ring.reason == .missed && ring.endedAt == ring.ringUntil
        let lateness = ring.startedAt - occurrence.at
        if isRecordOnly, !clockLeaps, ring.ringUntil - occurrence.at < 60_000 {
            fail("\(occurrence): was missed after \(ring.ringUntil - occurrence.at) ms")
        }
        if ring.ring == 1, !isRecordOnly, !clockLeaps, !(0..<60_000).contains(lateness) {
            fail("\(occurrence): the call began \(lateness) ms late")
        }
        if !clockLeaps, ring.reason == nil, let block = blocks[occurrence.name.user], ring.startedAt > block.since,
            ring.isHidden != block.isBlocked
        {
            fail(
                "\(occurrence): \(block.isBlocked ? "rings for a blocked caller" : "is hidden although nobody is blocked")"
            )
        }
        guard let last = earlier.last else { return }
        guard let ended = last.endedAt, let reason = last.reason else {
            return fail("\(occurrence): ring \(ring.ring) began during the one before")
        }
        if [.confirmed, .cancelled, .missed, .givenUp].contains(reason) {
            fail("\(occurrence): ring \(ring.ring) began after \(reason.rawValue)")
        }
        guard let promise = promise(last, ring, of: occurrence) else { return }
        guard let confirm = promise.schedule.confirm else {
            return fail("\(occurrence): ring \(ring.ring) began, but no confirmation is required")
        }
        if ring.ring > confirm.times { fail("\(occurrence): ring \(ring.ring) of \(confirm.times) began") }
        let pause = ring.startedAt - last.overAt(ended)
        if ring.reason == nil, !clockLeaps, pause < confirm.every * 1_000 {
            fail("\(occurrence): ring \(ring.ring) began \(pause) ms after the one before")
        }
        let isGivenUp = ring.reason == .givenUp && ring.startedAt == ring.ringUntil
        if isGivenUp, !clockLeaps, pause < confirm.every * 1_000 + 60_000 {
            fail("\(occurrence): was given up \(pause) ms after ring \(last.ring)")
        }
    }

    /// Returns the promise that held from one ring to the next.
    private func promise(_ first: Ring, _ second: Ring, of occurrence: Occurrence) -> Promise? {
        guard let promise = promises[occurrence.name], first.promise == promise.number,
            second.promise == promise.number
        else { return nil }
        return promise
    }

    // MARK: What must have happened

    /// Checks that everything promised has happened by now.
    ///
    /// - Parameters:
    ///   - now: The time of the server's clock.
    ///   - upSince: Since when the server and its database have been working.
    ///   - hold: The one-date schedules that were due before a moment and may be handled later; `nil` = none may.
    mutating func audit(at now: Int64, upSince: Int64, hold: (dueBefore: Int64, until: Int64)?) {
        guard !clockLeaps, now >= upSince + 15_000 else { return }
        for (name, promise) in promises {
            let end = now - 15_000
            let isHeld = promise.schedule.weekdays.isEmpty && hold.map { now < $0.until } ?? false
            for at in promise.schedule.occurrences(after: promise.checked, through: end)
            where !isHeld || at > hold?.dueBefore ?? 0 {
                let occurrence = Occurrence(name: name, generation: generations[name] ?? 0, at: at)
                // A schedule of one date is removed when its call is over.
                let before = Occurrence(name: name, generation: occurrence.generation - 1, at: at)
                if rings[occurrence] == nil, rings[before] == nil {
                    fail("\(occurrence): neither rang nor was missed")
                }
            }
            guard !isHeld else { continue }
            promises[name]?.checked = max(promise.checked, end)
            if let occurrence = newest[name] {
                auditRings(of: occurrence, promise, at: now, upSince, trustedFrom: hold?.until ?? upSince + 600_000)
            }
        }
    }

    private mutating func auditRings(
        of occurrence: Occurrence,
        _ promise: Promise,
        at now: Int64,
        _ upSince: Int64,
        trustedFrom: Int64
    ) {
        guard let last = rings[occurrence]?.last, last.promise == promise.number, !last.isHidden else { return }
        guard let reason = last.reason, let ended = last.endedAt else {
            if !pushed.contains(last.callID), now > max(last.startedAt, upSince) + 15_000 {
                fail("\(occurrence): ring \(last.ring) reached no device")
            }
            return
        }
        if reason == .unanswered, last.startedAt > upSince, !pushed.contains(last.callID) {
            fail("\(occurrence): ring \(last.ring) ended without a push")
        }
        guard let confirm = promise.schedule.confirm, last.ring < confirm.times,
            ![.confirmed, .cancelled, .missed, .givenUp].contains(reason)
        else { return }
        // Once a later time has come, its ring replaces this one.
        let due = last.overAt(ended) + confirm.every * 1_000
        // A ring that is late after a start is given up once the clock can be trusted.
        let again = due + 60_000 <= upSince ? trustedFrom + 90_000 : max(due, upSince) + 15_000
        guard now > again, promise.schedule.occurrences(after: occurrence.at, through: now).isEmpty else { return }
        fail("\(occurrence): was not confirmed after ring \(last.ring) of \(confirm.times), and rang no more")
    }
}
