import CallCore
import CallPorts
import TimeZones

/// Schedules, and the calls that the server itself begins.
extension StoreContract {
    static let schedules: [Case] = [
        Case("a schedule keeps all its fields, and a later one replaces it") { bench in
            try bench.open()
            let (full, bare) = (Sample.fullSchedule, Sample.schedule("daily"))
            bench.commit([.schedule(full), .schedule(bare)])
            try expect(try bench.reopen().schedules, [bare, full], "the schedules")
            var changed = full
            changed.again = nil
            changed.confirmation = nil
            changed.data = nil
            changed.next = Sample.moment(5)
            bench.commit([.schedule(changed), .scheduleRemoved(Sample.alice, bare.id)])
            bench.commit([.scheduleRemoved(Sample.bob, full.id)])
            try expect(try bench.reopen().schedules, [changed], "the schedules after a change")
        },
        Case("a scheduled call keeps which ring of which schedule it is") { bench in
            try bench.open()
            let calls = [
                Sample.scheduledCall(1, .once), Sample.scheduledCall(2, .confirmable(isLast: false)),
                Sample.scheduledCall(3, .confirmable(isLast: true)),
            ]
            bench.commit(calls.map { .call($0) })
            try expect(try bench.calls(bench.reopen()).map(\.record), calls, "the calls")
        },
        Case("a scheduled call is in the history of its callee, and nothing of its caller's") { bench in
            try bench.open()
            let (scheduled, ordinary) = (Sample.scheduledCall(1, .once), Sample.call(2, "11-12"))
            bench.commit([.call(scheduled), .call(ordinary)])
            let callers = try bench.query(.history(Sample.alice, limit: 10, before: nil))
            try expect(callers, .history([ordinary]), "the caller's history")
            let callees = try bench.query(.history(Sample.bob, limit: 10, before: nil))
            try expect(callees, .history([ordinary, scheduled]), "the callee's history")
            let all = try bench.query(.history(nil, limit: 10, before: nil))
            try expect(all, .history([ordinary, scheduled]), "the history of all users")
            let seen = try bench.query(.timeline(CallSelector(scheduled.id, seenBy: Sample.alice)))
            try expect(seen, .timeline(nil, []), "the call as its caller sees it")
            let known = try bench.query(.timeline(CallSelector(scheduled.id, seenBy: Sample.bob)))
            try expect(known, .timeline(scheduled, []), "the call as its callee sees it")
        },
        Case("a scheduled call makes no peers") { bench in
            try bench.open()
            bench.commit([.call(Sample.scheduledCall(1, .once))])
            for user in [Sample.alice, Sample.bob] {
                try expect(try bench.query(.peers(user, limit: 10)), .peers([]), "the peers of \(user.text)")
            }
        },
    ]
}

extension Sample {
    static func scheduleID(_ text: String) -> ScheduleID {
        guard let id = ScheduleID(text) else { preconditionFailure("\(text) is no schedule id") }
        return id
    }

    /// Returns a schedule without any optional part.
    static func schedule(_ id: String) -> ScheduleRecord {
        guard let time = TimeOfDay("06:30") else { preconditionFailure("06:30 is a time of day") }
        return ScheduleRecord(
            user: alice,
            id: scheduleID(id),
            recurrence: Recurrence(.weekly([.monday, .sunday]), at: time),
            timeZone: "Asia/Seoul",
            from: bob,
            ring: .seconds(60),
            isOwn: false,
            createdAt: moment(1),
            salt: .min
        )
    }

    /// A schedule with every part present.
    static var fullSchedule: ScheduleRecord {
        guard let time = TimeOfDay("23:59"), let date = CivilDate("2026-12-01") else {
            preconditionFailure("the texts are a time of day and a date")
        }
        var schedule = schedule("once")
        schedule.recurrence = Recurrence(.once(date), at: time)
        schedule.displayName = "Mina \u{1F470} \"'"
        schedule.handle = "+82 10"
        schedule.handleType = "phoneNumber"
        schedule.data = #"{"voice":"민아","n":[1,2]}"#
        schedule.confirmation = .init(every: .seconds(60), times: 5)
        schedule.isOwn = true
        schedule.next = lastMoment
        schedule.occurrence = moment(7)
        schedule.rings = 3
        schedule.again = moment(8)
        schedule.lastOccurrence = moment(6)
        return schedule
    }

    /// Returns a call that the server itself has begun, in alice's name.
    static func scheduledCall(_ number: Int64, _ ring: ScheduledCall) -> CallRecord {
        var call = call(number, "s-\(number)")
        call.scheduled = ScheduledRing(schedule: scheduleID("once"), occurrence: moment(9), ring: 2)
        call.session.scheduled = ring
        return call
    }
}
