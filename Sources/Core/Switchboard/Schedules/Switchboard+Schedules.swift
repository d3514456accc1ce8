package import CallCore
import CallPorts
package import CallWire
import TimeZones

extension Switchboard {
    /// A request about schedules (protocol, section 5.11).
    package enum ScheduleRequest: Sendable {
        /// Return all schedules of the user.
        case list
        /// Return one schedule.
        case one(ScheduleID)
        /// Make a schedule; one with the id of the form is replaced.
        case make(ScheduleForm)
        /// Make or replace a schedule.
        case put(ScheduleID, ScheduleForm)
        /// Change the members of a schedule that the form has.
        case change(ScheduleID, ScheduleForm)
        /// Remove a schedule.
        case remove(ScheduleID)
        /// Confirm the present call of a schedule.
        case confirm(ScheduleID)
        /// Ring a schedule now, on trial; a request with the same `key` rings no second time.
        case ring(ScheduleID, key: SignalID? = nil)
    }
}

/// Schedules, as users and services read and change them.
extension Switchboard {
    mutating func schedules(
        _ asked: ScheduleRequest,
        of named: UserID?,
        by principal: Principal,
        as id: RequestID
    ) {
        let user = named ?? principal.user
        guard user == principal.user || principal.isService else {
            refuse(id, WireError(.forbidden, "only a service token may name another user"))
            return
        }
        do throws(WireError) {
            switch asked {
            case .list:
                let bodies = directory.schedules.schedules(of: user).map { ScheduleBody($0) }
                turn.out.append(.reply(id, Reply(body: ScheduleBody.list(bodies))))
            case .one(let schedule):
                turn.out.append(.reply(id, Reply(body: ScheduleBody(try known(schedule, of: user)).bytes)))
            case .make(let form):
                let made = form.id ?? makeScheduleID()
                try put(made, form, of: user, by: principal, as: id)
            case .put(let schedule, let form):
                guard form.id ?? schedule == schedule else {
                    throw .invalid(named: "id", "must equal the id in the path, or be absent")
                }
                try put(schedule, form, of: user, by: principal, as: id)
            case .change(let schedule, let form):
                guard form.id == nil else { throw .invalid(named: "id", "cannot be changed") }
                let earlier = try known(schedule, of: user)
                let record = try form.applied(to: earlier, ports.timeZones, at: turn.date)
                keep(record, isSet: !record.hasTimes(of: earlier), as: id)
            case .remove(let schedule):
                forgetSpent(schedule, of: user)
                withdraw(try known(schedule, of: user), as: id)
            case .confirm(let schedule):
                guard confirmCall(of: try known(schedule, of: user)) else {
                    throw WireError(.notFound, "the schedule has no call to confirm")
                }
                ensureSchedulesTimer()
                sendWhenDurable(.reply(id, Reply(body: AcceptedBody.ok)))
            case .ring(let schedule, let key):
                let request = ParkedWork.Work.request(id, principal, .schedules(asked, of: named))
                guard let call = try trial(of: known(schedule, of: user), key, asked: request) else { return }
                let body = AcceptedBody.ringing(call.key.id, epoch: call.epoch)
                sendWhenDurable(.reply(id, Reply(body: body)))
            }
        } catch { refuse(id, error) }
    }

    /// Returns the call of a ring on trial: that of an earlier request with the same key, or a new one; `nil` = the request
    /// waits for calls at rest.
    private mutating func trial(
        of record: ScheduleRecord,
        _ key: SignalID?,
        asked request: ParkedWork.Work
    ) throws(WireError) -> Call? {
        guard let key else { return try ringOnTrial(record, as: makeCallID()) }
        let id = callID(ofTrial: key, of: record)
        if let earlier = earlierTrial(id, of: record) { return earlier }
        let unread = awaited(id, for: record.user, with: nil, besides: nil)
        guard unread.isEmpty else {
            park(request, until: unread)
            return nil
        }
        return try ringOnTrial(record, as: id)
    }

    /// Removes a schedule, and ends its call.
    private mutating func withdraw(_ record: ScheduleRecord, as id: RequestID) {
        removeSchedule(record)
        if let call = liveCall(of: record) { process(call, .withdrawn) }
        sendWhenDurable(.reply(id, Reply(body: AcceptedBody.ok)))
    }

    private func known(_ id: ScheduleID, of user: UserID) throws(WireError) -> ScheduleRecord {
        guard let record = directory.schedules[user, id] else { throw WireError(.notFound, "no such schedule") }
        return record
    }

    private mutating func put(
        _ id: ScheduleID,
        _ form: ScheduleForm,
        of user: UserID,
        by principal: Principal,
        as request: RequestID
    ) throws(WireError) {
        let earlier = directory.schedules[user, id]
        if earlier == nil, directory.schedules.count(of: user) >= policy.schedulesPerUser {
            throw exceeded(.schedules, "at most \(policy.schedulesPerUser) schedules for a user")
        }
        let salt = Int64(bitPattern: ports.random.next())
        let record = try form.record(
            id,
            of: user,
            isOwn: !principal.isService,
            salt,
            policy,
            ports.timeZones,
            at: turn.date
        )
        keep(record.continuing(earlier), isSet: true, as: request)
    }

    /// Stores a schedule, and responds with it when it is durable.
    ///
    /// `isSet`: Whether the user has just set its times, so that its next call was computed by the present date.
    private mutating func keep(_ record: ScheduleRecord, isSet: Bool, as id: RequestID) {
        if isSet { directory.schedules.noteTimes(of: record, at: turn.now) }
        storeSchedule(record)
        ensureSchedulesTimer()
        sendWhenDurable(.reply(id, Reply(body: ScheduleBody(record).bytes)))
    }

    /// Removes a schedule that is gone for its user, so that a corrected clock does not bring it back.
    private mutating func forgetSpent(_ id: ScheduleID, of user: UserID) {
        guard directory.schedules.isSpent(id, of: user) else { return }
        directory.schedules.remove(id, of: user)
        commits.append(.scheduleRemoved(user, id))
    }

    private mutating func makeScheduleID() -> ScheduleID {
        guard let id = ScheduleID(makeCallID().text) else { preconditionFailure("a UUID is a schedule id") }
        return id
    }
}

extension ScheduleRecord {
    /// Returns the schedule with the present call of the one that it replaces.
    fileprivate func continuing(_ earlier: ScheduleRecord?) -> ScheduleRecord {
        guard let earlier else { return self }
        var record = self
        record.createdAt = earlier.createdAt
        record.salt = earlier.salt
        record.occurrence = earlier.occurrence
        record.rings = earlier.rings
        record.lastOccurrence = hasTimes(of: earlier) ? earlier.lastOccurrence : nil
        record.again = earlier.again
        return record
    }

    /// Whether it has the times of another schedule.
    fileprivate func hasTimes(of other: ScheduleRecord) -> Bool {
        recurrence == other.recurrence && timeZone == other.timeZone
    }
}

extension ScheduleForm {
    /// Returns a schedule of the form, which must have all that a schedule needs.
    fileprivate func record(
        _ id: ScheduleID,
        of user: UserID,
        isOwn: Bool,
        _ salt: Int64,
        _ policy: Policy,
        _ zones: (any TimeZoneSource)?,
        at date: Moment
    ) throws(WireError) -> ScheduleRecord {
        guard let at else { throw .invalid(named: "at", "missing") }
        guard timeZone != nil else { throw .invalid(named: "timeZone", "missing") }
        guard days != nil || on != nil else { throw .invalid(named: "days", "missing; give days or on") }
        guard let from else { throw .invalid(named: "from", "missing") }
        let bare = ScheduleRecord(
            user: user,
            id: id,
            recurrence: Recurrence(.weekly([]), at: try Self.time(at)),
            timeZone: "",
            from: from,
            ring: policy.ringTimeout,
            isOwn: isOwn,
            createdAt: date,
            salt: salt
        )
        return try applied(to: bare, zones, at: date)
    }

    /// Returns a schedule with the members that the form has.
    fileprivate func applied(
        to earlier: ScheduleRecord,
        _ zones: (any TimeZoneSource)?,
        at date: Moment
    ) throws(WireError) -> ScheduleRecord {
        var record = earlier
        if let timeZone { record.timeZone = timeZone }
        let time = try at.map { text throws(WireError) in try Self.time(text) } ?? record.recurrence.time
        var dates = record.recurrence.dates
        if let on {
            guard let day = CivilDate(on) else { throw .invalid(named: "on", "must be a date such as 2026-12-01") }
            guard day.year < 2_200 else { throw .invalid(named: "on", "must be before the year 2200") }
            dates = .once(day)
        } else if let days {
            dates = .weekly(try Self.weekdays(days))
        }
        record.recurrence = Recurrence(dates, at: time)
        if !record.hasTimes(of: earlier) {
            record.lastOccurrence = nil
            guard let rules = zones?.rules(named: record.timeZone) else {
                throw .invalid(named: "timeZone", "unknown; give a name of the tz database, such as Asia/Seoul")
            }
            record.next = record.recurrence.next(after: date, in: rules)
            guard record.next != nil else { throw .invalid(named: "on", "has passed") }
        }
        if let from {
            record.from = from
            record.displayName = displayName
        }
        guard record.from != record.user else { throw .invalid(named: "from.id", "must be another user") }
        if let handle { record.handle = handle }
        if let handleType { record.handleType = handleType }
        if let data { record.data = data }
        if let ring { record.ring = ring }
        if let confirm { record.confirmation = confirm.map { .init(every: .seconds($0.every), times: $0.times) } }
        return record
    }

    private static func time(_ text: String) throws(WireError) -> TimeOfDay {
        guard let time = TimeOfDay(text) else { throw .invalid(named: "at", "must be a time of day such as 06:30") }
        return time
    }

    private static func weekdays(_ words: [String]) throws(WireError) -> Set<Weekday> {
        var days: Set<Weekday> = []
        for word in words {
            guard let day = Weekday(word: word), days.insert(day).inserted else {
                throw .invalid(named: "days", "must contain mon, tue, wed, thu, fri, sat or sun, each at most once")
            }
        }
        guard !days.isEmpty else { throw .invalid(named: "days", "must not be empty") }
        return days
    }
}

extension ScheduleBody {
    init(_ record: ScheduleRecord) {
        var date: CivilDate?
        var days: [String] = []
        switch record.recurrence.dates {
        case .once(let only): date = only
        case .weekly(let weekdays): days = Weekday.allCases.filter(weekdays.contains).map(\.word)
        }
        self.init(
            id: record.id,
            user: record.user,
            at: record.recurrence.time.description,
            timeZone: record.timeZone,
            days: days,
            on: date?.description,
            from: record.from,
            ring: record.ring
        )
        displayName = record.displayName
        handle = record.handle
        handleType = record.handleType
        data = record.data
        confirm = record.confirmation.map { ($0.every, $0.times) }
        next = record.next
        rings = record.rings
        again = record.again
    }
}
