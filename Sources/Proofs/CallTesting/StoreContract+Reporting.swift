import CallCore
import CallPorts

extension StoreContract {
    /// Cases about the reports of a store: their order, and their meaning after a crash.
    static let reporting: [Case] = [
        Case("reports cover every commit, in order, and no ticket is reported twice") { bench in
            try bench.open()
            let number = Sample.number(1)
            bench.commit([.call(Sample.call(1))])
            for seq in 1...500 as ClosedRange<UInt64> { bench.commit([.entry(number, Sample.entry(seq))]) }
            try bench.save([])
            let tickets = bench.reports.now.committed.map(\.rawValue)
            try expect(tickets, Array(Set(tickets)).sorted(), "the reports are not in order, or not once each")
            try expect(tickets.last, 502, "the last ticket reported")
            try expect(
                bench.reports.now.reported.allSatisfy { $0.hasPrefix("committed") },
                "something else was reported"
            )
        },
        Case("an empty commit is reported as well") { bench in
            try bench.open()
            try bench.save([])
        },
        Case("changes reported as committed are there after a crash") { bench in
            try bench.open()
            try bench.save([.call(Sample.call(1)), .entry(Sample.number(1), Sample.entry(1))])
            bench.crash()
            try expect(
                try bench.open().calls,
                [StoredCall(record: Sample.call(1), entries: [Sample.entry(1)])],
                "the calls"
            )
        },
        Case("after a crash, each commit is stored completely or not at all") { bench in
            for round in 1...5 as ClosedRange<Int64> {
                try bench.open()
                for step in 1...40 as ClosedRange<Int64> {
                    // Each commit has a call, entries and an event, so that an incomplete commit would be noticed.
                    let number = round * 1_000 + step
                    bench.commit([
                        .call(Sample.call(number, "c-\(number)")), .entry(Sample.number(number), Sample.entry(1)),
                        .event(Sample.number(number), Sample.event("offer")),
                        .entry(Sample.number(number), Sample.entry(2)),
                    ])
                }
                bench.crash()
                let state = try bench.open()
                for call in state.calls {
                    try expect(call.entries.map(\.seq), [1, 2], "the log of call \(call.record.number.rawValue)")
                    try expect(try bench.timeline(call.record.id).1.count, 1, "the events of \(call.record.id.text)")
                }
                // Commits are durable in order, so the calls that are present are the first ones that were queued.
                let here = state.calls.map(\.record.number.rawValue).filter { $0 / 1_000 == round }
                try expect(
                    here,
                    here.indices.map { round * 1_000 + Int64($0) + 1 },
                    "a later commit is there without an earlier one"
                )
                bench.crash()
            }
        },
        Case("closing a store commits the queued changes, and reports the commits") { bench in
            try bench.open()
            for number in 1...200 as ClosedRange<Int64> { bench.commit([.call(Sample.call(number))]) }
            let query = bench.submit(.history(Sample.alice, limit: 1, before: nil))
            bench.close()
            let found = bench.reports.now
            try expect(found.committed.last?.rawValue, 200, "the last ticket reported when close() returned")
            try expect(found.results[query], .history([Sample.call(200)]), "the query submitted before")
            try expect(try bench.open().calls.count, 200, "how many calls were kept")
        },
        Case("a store that was closed cleanly counts no crash") { bench in
            try bench.open()
            bench.close()
            try expect(try bench.open().uncleanStarts, 0, "crashes")
        },
    ]

    /// Cases about the data of earlier runs of the server that a start reads.
    static let restarting: [Case] = [
        Case("crashes are counted until the count is reset, and a clean stop does not change the count") { bench in
            try expect(try bench.open().uncleanStarts, 0, "at the first start")
            try expect(try bench.reopen().uncleanStarts, 0, "after a clean stop")
            bench.crash()
            try expect(try bench.open().uncleanStarts, 1, "after a crash")
            bench.crash()
            try expect(try bench.open().uncleanStarts, 2, "after two")
            try expect(try bench.reopen().uncleanStarts, 2, "after a clean stop again")
            bench.commit([.uncleanStartsForgotten])
            try expect(try bench.reopen().uncleanStarts, 0, "forgotten")
            bench.crash()
            try expect(try bench.open().uncleanStarts, 1, "after a crash again")
            try bench.save([.uncleanStartsForgotten])
            bench.crash()
            try expect(try bench.open().uncleanStarts, 1, "after a crash of the run that had reset the count")
        },
        Case("a second close changes nothing") { bench in
            try bench.open()
            bench.crash()
            try expect(try bench.open().uncleanStarts, 1, "after a crash")
            bench.close(times: 2)
            try expect(try bench.open().uncleanStarts, 1, "after a store that was closed twice")
        },
        Case("the start of the newest call is read back, even if that call has ended") { bench in
            try bench.open()
            bench.commit([.call(Sample.call(3, endedAt: 5)), .call(Sample.call(2))])
            try expect(try bench.reopen().lastCallAt, Sample.call(3).startedAt, "after a restart")
            bench.commit([.logForgotten(Sample.number(3))])
            try expect(try bench.reopen().lastCallAt, Sample.call(3).startedAt, "after its log was forgotten")
        },
        Case("the last call number never falls") { bench in
            try bench.open()
            bench.commit([.call(Sample.call(41, endedAt: 5)), .call(Sample.call(42, endedAt: 5))])
            bench.commit([.call(Sample.call(7))])
            try expect(try bench.reopen().lastCallNumber, 42, "after a restart")
            bench.commit([.logForgotten(Sample.number(42))])
            try expect(try bench.reopen().lastCallNumber, 42, "after its log was forgotten")
            bench.commit([.historyForgotten(before: Sample.moment(6))])
            let state = try bench.reopen()
            try expect(state.calls.map(\.record.number.rawValue), [7], "what is left")
            try expect(state.lastCallNumber, 42, "after it was forgotten altogether")
            bench.commit([.call(Sample.call(8))])
            try expect(try bench.reopen().lastCallNumber, 42, "after a lower one")
            bench.commit([.call(Sample.call(43))])
            try expect(try bench.reopen().lastCallNumber, 43, "after a higher one")
        },
        Case("a start reads the logs of live calls only, and which ended calls have one") { bench in
            try bench.open()
            var missed = Sample.call(1, "missed", endedAt: 7)
            missed.hidden = .doNotDisturb
            missed.session.legs = [
                Leg(device: Sample.identity("untold", fingerprint: 1), side: .caller, phase: .left),
                Leg(device: Sample.identity("b", fingerprint: 2), side: .callee, phase: .endNotDelivered),
            ]
            var scheduled = Sample.scheduledCall(2, .confirmable(isLast: true))
            scheduled.session.ending = CallSession.Ending(reason: .unanswered, at: Sample.moment(8))
            let calls = [missed, scheduled, Sample.call(3), Sample.call(4, endedAt: 9), Sample.call(5, endedAt: 9)]
            for call in calls { bench.commit([.call(call), .entry(call.number, Sample.entry(1))]) }
            bench.commit([.logForgotten(Sample.number(4))])
            let state = try bench.reopen()
            try expect(state.calls, [StoredCall(record: calls[2], entries: [Sample.entry(1)])], "the live calls")
            try expect(state.ended, [missed, scheduled, calls[4]].compactMap(EndedCall.init), "the ended calls")
            try expect(state.ended.first?.uninformed, [.callee], "the sides that may not know of the end")
            bench.commit([.call(Sample.call(3, endedAt: 9))])
            try expect(try bench.reopen().ended.map(\.identity.number.rawValue), [1, 2, 3, 5], "after the end")
        },
        Case("nothing is lost or doubled over many restarts") { bench in
            for round in 1...12 as ClosedRange<UInt64> {
                let state = try bench.open()
                try expect(state.calls.first?.entries.count ?? 0, Int(round) - 1, "entries at start \(round)")
                bench.commit([.call(Sample.call(1)), .entry(Sample.number(1), Sample.entry(round))])
                try bench.save([.event(Sample.number(1), Sample.event("e\(round)"))])
                if round.isMultiple(of: 2) { bench.crash() } else { bench.close() }
            }
            try bench.open()
            try expect(
                try bench.timeline(Sample.call(1).id).1.map(\.event.name),
                (1...12).map { "e\($0)" },
                "the timeline, in order"
            )
        },
    ]
}
