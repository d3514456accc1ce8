import CallCore
import CallPorts

extension StoreContract {
    /// Cases about the newest epoch of a callId, which is read at the callId's first use.
    static let epochs: [Case] = [
        Case("the newest epoch of a callId outlives the call's log, whichever user called") { bench in
            try bench.open()
            var first = Sample.call(1, from: Sample.alice, to: Sample.bob, endedAt: 5)
            first.session.epoch = 3
            var second = Sample.call(2, from: Sample.bob, to: Sample.alice, endedAt: 6)
            second.session.epoch = 4
            let other = Sample.call(3, from: Sample.carol, to: Sample.alice, endedAt: 6)
            bench.commit([.call(first), .call(second), .call(other)])
            bench.commit([.logForgotten(first.number), .logForgotten(second.number)])
            _ = try bench.reopen()
            try expect(try epoch(bench, first.id, Sample.alice, Sample.bob), 4, "of the pair")
            try expect(try epoch(bench, first.id, Sample.bob, Sample.alice), 4, "of the pair, named the other way")
            try expect(try epoch(bench, first.id, Sample.alice, Sample.carol), 1, "of another pair")
            try expect(try epoch(bench, first.id, Sample.bob, Sample.carol), nil, "of a pair without a call")
            try expect(try epoch(bench, Sample.callID("unused"), Sample.alice, Sample.bob), nil, "of an unused callId")
            bench.commit([.historyForgotten(before: Sample.moment(10))])
            var third = Sample.call(4)
            third.session.epoch = 9
            bench.commit([.call(third)])
            try expect(try epoch(bench, first.id, Sample.alice, Sample.bob), 9, "with the changes queued before")
        },
        Case("the newest epoch is found under a callId that all users use, however many calls it has") { bench in
            try bench.open()
            var old = Sample.call(1, "all", from: Sample.alice, to: Sample.bob, endedAt: 5)
            old.session.epoch = 7
            bench.commit([.call(old)])
            let others = (2...300 as ClosedRange<Int64>).map { number in
                Sample.call(number, "all", from: Sample.carol, to: Sample.user("u\(number)"), endedAt: 5)
            }
            bench.commit(others.map(Change.call))
            try expect(try epoch(bench, old.id, Sample.bob, Sample.alice), 7, "the epoch of the oldest call")
            try expect(try epoch(bench, old.id, Sample.bob, Sample.carol), nil, "of a pair without a call")
        },
        Case("an epoch that cannot be found in time is replaced by a greater one") { bench in
            try bench.open()
            var old = Sample.call(5, "all", from: Sample.alice, to: Sample.bob, endedAt: 5)
            old.session.epoch = 3
            bench.commit([.call(old)])
            let later = (6...2_200 as ClosedRange<Int64>).map { number in
                Sample.call(number, "all", from: Sample.alice, to: Sample.user("u\(number)"), endedAt: 5)
            }
            bench.commit(later.map(Change.call))
            let found = try epoch(bench, old.id, Sample.alice, Sample.bob) ?? 0
            try expect(found >= 3, "the epoch \(found) is below that of a stored call")
        },
    ]

    private static func epoch(_ bench: StoreBench, _ id: CallID, _ one: UserID, _ other: UserID) throws -> UInt32? {
        let result = try bench.query(.epoch(CallKey(id: id, pair: Pair(one, other))))
        guard case .epoch(let epoch) = result else {
            throw Violation(description: "the result of a query for an epoch was \(result)")
        }
        return epoch
    }
}
