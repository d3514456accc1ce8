import CallCore
import CallPorts

extension StoreContract {
    /// Cases about queries and their results.
    static let querying: [Case] = [
        Case("a query sees every change queued before it") { bench in
            try bench.open()
            var expected: [StoreQueryID: Int64] = [:]
            for number in 1...100 as ClosedRange<Int64> {
                bench.commit([.call(Sample.call(number))])
                expected[bench.submit(.history(Sample.bob, limit: 1, before: nil))] = number
            }
            for (id, number) in expected {
                let result = try bench.result(of: id)
                guard case .history(let calls) = result, let newest = calls.first else {
                    throw Violation(description: "the answer is \(result)")
                }
                try expect(newest.number.rawValue >= number, "query \(id.rawValue) does not see call \(number)")
            }
            try expect(bench.reports.now.repeated, [], "queries with two results")
        },
        Case("a history shows the calls that a user made or received, newest first, page by page") { bench in
            try bench.open()
            for number in 1...60 as ClosedRange<Int64> {
                switch number % 4 {
                case 0: bench.commit([.call(Sample.call(number, from: Sample.alice, to: Sample.bob))])
                case 1: bench.commit([.call(Sample.call(number, from: Sample.bob, to: Sample.alice))])
                case 2: bench.commit([.call(Sample.call(number, from: Sample.alice, to: Sample.alice))])
                default: bench.commit([.call(Sample.call(number, from: Sample.bob, to: Sample.carol))])
                }
            }
            let expected = Array((1...60 as ClosedRange<Int64>).filter { $0 % 4 != 3 }.reversed())
            for limit in [1, 7, 45, 100] {
                var found: [Int64] = []
                var before: Int64?
                while true {
                    let page = try bench.history(Sample.alice, limit: limit, before: before).map(\.number.rawValue)
                    try expect(page.count <= limit, "a page of \(page.count) with a limit of \(limit)")
                    found += page
                    guard let last = page.last else { break }
                    try expect(before.map { last < $0 } ?? true, "the page repeats what was shown")
                    before = last
                }
                try expect(found, expected, "the history in pages of \(limit)")
            }
            try expect(try bench.history(Sample.carol).count, 15, "the history of a user that was only called")
            try expect(try bench.history(Sample.user("nobody")), [], "the history of an unknown user")
            try expect(try bench.history(Sample.alice, limit: 0), [], "an empty page")
            try expect(try bench.history(Sample.alice, before: .min), [], "before all")
            try expect(try bench.history(Sample.alice, before: .max).count, 45, "before the highest number")
            let newest = try bench.history(nil, limit: 3).map(\.number.rawValue)
            try expect(newest, [60, 59, 58], "the newest calls of all users")
            let oldest = try bench.history(nil, before: 4).map(\.number.rawValue)
            try expect(oldest, [3, 2, 1], "the oldest calls of all users")
            try expect(try bench.history(nil, limit: 0), [], "an empty page of all users")
            try expect(try bench.history(nil, before: .min), [], "the calls of all users before all")
        },
        Case("a user's peers are those of the newest calls made and of the newest received, newest first") { bench in
            try bench.open()
            let people = [Sample.user("x"), Sample.user("y"), Sample.user("z")]
            for (number, pair) in [
                (people[0], Sample.alice), (Sample.alice, people[1]), (Sample.alice, Sample.alice),
                (people[2], Sample.alice), (Sample.alice, people[1]), (Sample.bob, people[0]),
            ].enumerated() { bench.commit([.call(Sample.call(Int64(number) + 1, from: pair.0, to: pair.1))]) }
            let all = try bench.query(.peers(Sample.alice, limit: 10))
            try expect(all, .peers([people[1], people[2], people[0]]), "the peers")
            let newest = try bench.query(.peers(Sample.alice, limit: 1))
            try expect(newest, .peers([people[1], people[2]]), "the newest in each role")
            try expect(
                try bench.query(.peers(Sample.user("nobody"), limit: 10)),
                .peers([]),
                "the peers of an unknown user"
            )
        },
        Case("the calls of a history have all their fields") { bench in
            try bench.open()
            bench.commit([.call(Sample.fullCall(Sample.lastNumber))])
            try expect(try bench.history(Sample.bob), [Sample.fullCall(Sample.lastNumber)], "the history")
        },
        Case("a timeline by a callId that is used again is that of the given user's newest call") { bench in
            try bench.open()
            for number in 1...3 as ClosedRange<Int64> {
                bench.commit([.call(Sample.call(number)), .event(Sample.number(number), Sample.event("old"))])
            }
            bench.commit([.call(Sample.call(4)), .event(Sample.number(4), Sample.event("offer", #""a":"ü""#))])
            bench.commit([.call(Sample.call(9, from: Sample.carol, to: Sample.carol))])
            bench.commit([.event(Sample.number(9), Sample.event("theirs"))])
            bench.commit([
                .event(Sample.number(4), Sample.event("push.sent")), .event(Sample.number(4), Sample.event("offer")),
            ])
            let id = Sample.callID("11-10")
            for user in [Sample.alice, Sample.bob] {
                let (call, events) = try bench.timeline(id, user)
                try expect(call, Sample.call(4), "the call")
                try expect(
                    events,
                    [Sample.event("offer", #""a":"ü""#), Sample.event("push.sent"), Sample.event("offer")],
                    "the events, in the order in which they happened"
                )
            }
            try expect(try bench.timeline(id, nil).0?.number.rawValue, 9, "anybody's newest call")
            try expect(try bench.timeline(id, Sample.carol).1, [Sample.event("theirs")], "another's events")
            try expect(try bench.timeline(id, Sample.user("nobody")).0, nil, "an outsider's call")
            try expect(try bench.timeline(Sample.callID("unknown"), nil).0, nil, "an unknown call")
        },
        Case("several calls with the same callId are told apart by their two users and their epochs") { bench in
            try bench.open()
            for number in 1...3 as ClosedRange<Int64> {
                var call = Sample.call(number)
                call.session.epoch = UInt32(number)
                bench.commit([.call(call), .event(Sample.number(number), Sample.event("of \(number)"))])
            }
            var other = Sample.call(4, from: Sample.alice, to: Sample.carol)
            other.session.epoch = 1
            bench.commit([.call(other)])
            let id = Sample.callID("11-10")
            func number(_ users: UserID..., epoch: UInt32? = nil) throws -> Int64? {
                let (call, _) = try bench.timeline(CallSelector(id, of: users, epoch: epoch))
                return call?.number.rawValue
            }
            try expect(try number(Sample.alice), 4, "her newest")
            try expect(try number(Sample.alice, Sample.bob), 3, "their newest")
            try expect(try number(Sample.bob, Sample.alice, epoch: 2), 2, "one of theirs, whichever of them calls")
            try expect(try number(Sample.alice, epoch: 1), 4, "the newest of an epoch")
            try expect(try number(Sample.alice, Sample.bob, epoch: 4), nil, "an epoch to come")
            try expect(try number(Sample.bob, Sample.carol), nil, "two who have no call")
            let (_, events) = try bench.timeline(CallSelector(id, of: [Sample.bob], epoch: 1))
            try expect(events, [Sample.event("of 1")], "its events")
        },
        Case("a callee finds their newest call of a callId even if later calls with it are hidden from them") { bench in
            try bench.open()
            let shown = Sample.call(1)
            bench.commit([.call(shown)])
            for (number, hidden) in [(2, .block), (3, .callIDTaken), (4, .app)] as [(Int64, CallRecord.Hidden)] {
                var call = Sample.call(number, from: Sample.carol, to: shown.callee)
                call.hidden = hidden
                bench.commit([.call(call)])
            }
            func number(seenBy viewer: UserID?, _ users: UserID...) throws -> Int64? {
                let (call, _) = try bench.timeline(CallSelector(shown.id, of: users, seenBy: viewer))
                return call?.number.rawValue
            }
            try expect(try number(seenBy: shown.callee, shown.callee), 1, "the number its callee sees")
            try expect(try number(seenBy: Sample.carol, Sample.carol), 4, "the number its caller sees")
            try expect(try number(seenBy: nil), 4, "the number an operator sees")
        },
        Case("an offer that the app's backend refused is no call of its users; only operators find it") { bench in
            try bench.open()
            let call = Sample.call(1)
            var refused = Sample.call(2, from: Sample.carol, to: call.callee)
            refused.hidden = .refusedOffer
            bench.commit([.call(call), .call(refused), .logForgotten(refused.number)])
            for user in [call.callee, Sample.carol] {
                let known = user == Sample.carol ? [] : [call]
                try expect(try bench.history(user), known, "the history of \(user.text)")
                try expect(try bench.query(.peers(user, limit: 5)), .peers(known.map(\.caller)), "their peers")
                let seen = try bench.timeline(CallSelector(call.id, of: [Sample.carol, call.callee], seenBy: user)).0
                try expect(seen?.number, nil, "what \(user.text) sees")
            }
            try expect(try bench.history(nil), [call], "the history of all users")
            try expect(try bench.timeline(CallSelector(call.id)).0?.number, refused.number, "what an operator sees")
        },
        Case("a log is found by its call's number until the log is forgotten") { bench in
            try bench.open()
            bench.commit([
                .call(Sample.fullCall(3)), .entry(Sample.number(3), Sample.entry(1)),
                .entry(Sample.number(3), Sample.entry(7)),
            ])
            bench.commit([.call(Sample.call(4)), .entry(Sample.number(4), Sample.entry(1))])
            try expect(
                try bench.query(.log(Sample.number(3))),
                .log(StoredCall(record: Sample.fullCall(3), entries: [Sample.entry(1), Sample.entry(7)])),
                "the call and its log"
            )
            try expect(try bench.query(.log(Sample.number(5))), .log(nil), "an unknown call")
            bench.commit([.logForgotten(Sample.number(3))])
            try expect(try bench.query(.log(Sample.number(3))), .log(nil), "a forgotten log")
        },
        Case("a call without events has an empty timeline") { bench in
            try bench.open()
            bench.commit([.call(Sample.call(1))])
            let (call, events) = try bench.timeline(Sample.callID("11-10"), Sample.bob)
            try expect(call, Sample.call(1), "the call")
            try expect(events, [], "the events")
        },
    ]

    /// Cases about the changes that delete data, and about the data that must remain.
    static let forgetting: [Case] = [
        Case("a call whose log is forgotten stays in the history") { bench in
            try bench.open()
            var call = Sample.call(1, endedAt: 50)
            for number in 1...2 as ClosedRange<Int64> {
                bench.commit([.call(Sample.call(number, endedAt: 50)), .entry(Sample.number(number), Sample.entry(1))])
                bench.commit([.event(Sample.number(number), Sample.event("offer"))])
            }
            bench.commit([.logForgotten(Sample.number(1)), .logForgotten(Sample.number(99))])
            // A late change of the record does not bring the log back.
            call.wasSilencedByDoNotDisturb = true
            bench.commit([.call(call)])
            let state = try bench.reopen()
            try expect(
                try bench.calls(state),
                [StoredCall(record: Sample.call(2, endedAt: 50), entries: [Sample.entry(1)])],
                "the calls whose log is kept"
            )
            try expect(try bench.history(Sample.alice), [Sample.call(2, endedAt: 50), call], "the history")
            bench.commit([.call(Sample.call(2, "other", endedAt: 50))])
            let (found, events) = try bench.timeline(call.id)
            try expect(found, call, "the call")
            try expect(events, [Sample.event("offer")], "its timeline")
        },
        Case("forgetting removes all calls that ended before the time, and no other calls") { bench in
            try bench.open()
            // More calls than a store may delete in one step.
            for number in 1...450 as ClosedRange<Int64> {
                let id = "c-\(number)"
                bench.commit([
                    .call(Sample.call(number, id, endedAt: 999)), .event(Sample.number(number), Sample.event("old")),
                ])
                bench.commit([.entry(Sample.number(number), Sample.entry(1))])
            }
            let edge = Sample.call(451, "edge", endedAt: 1_000)
            let live = Sample.call(452, "live")
            bench.commit([.call(edge), .call(live)])
            try bench.save([.event(edge.number, Sample.event("offer")), .entry(live.number, Sample.entry(1))])
            bench.commit([.historyForgotten(before: Sample.moment(1_000))])
            try expect(try bench.history(Sample.alice, limit: 1_000), [live, edge], "the history just after")
            try expect(try bench.timeline(Sample.callID("c-1")).0, nil, "a forgotten call")
            try expect(try bench.timeline(Sample.callID("c-450")).0, nil, "another")
            bench.crash()
            var state = try bench.open()
            try expect(
                try bench.calls(state),
                [StoredCall(record: edge, entries: []), StoredCall(record: live, entries: [Sample.entry(1)])],
                "the calls"
            )
            try expect(try bench.timeline(edge.id).1, [Sample.event("offer")], "the timeline of a call that stayed")
            state = try bench.reopen()
            try expect(try bench.calls(state).count, 2, "after another start")
            // If the number is used again, nothing of the earlier call is found.
            bench.commit([.call(Sample.call(5, "again"))])
            try expect(try bench.timeline(Sample.callID("again")).1, [], "events of a number used again")
            try expect(try bench.calls(bench.reopen()).first?.entries, [], "the log of a number used again")
        },
        Case("forgetting up to an earlier moment than before removes nothing, and a call may still end") { bench in
            try bench.open()
            bench.commit([
                .call(Sample.call(1, endedAt: 10)), .call(Sample.call(2, endedAt: 30)), .call(Sample.call(3)),
            ])
            bench.commit([.historyForgotten(before: Sample.moment(20))])
            bench.commit([.historyForgotten(before: Sample.moment(5))])
            bench.commit([.call(Sample.call(3, endedAt: 40))])
            try expect(try bench.history(Sample.bob).map(\.number.rawValue), [3, 2], "the history")
            try expect(try bench.calls(bench.reopen()).map(\.record.number.rawValue), [2, 3], "after a restart")
        },
    ]
}
