import CallCore
import CallPorts

extension StoreContract {
    /// Cases about the order of queries, for stores with a thread that runs them one by one.
    package static let lanes: [Case] = [
        Case("calls and users' own reads pass 40 readers of a list that is 90,000 changes old") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            let cursor = NumberCursor(.identities, version: lists.state.version)
            for start in stride(from: Int64(1), to: 90_000, by: 10_000) {
                try lists.write(nil, (start..<start + 10_000).map { ($0, "name") }, count: Int(start) + 9_999)
            }
            try bench.save([.call(Sample.call(1, from: Sample.alice, to: Sample.bob))])
            bench.reports.holdResults()
            func submitPage(_ reader: Int) -> StoreQueryID {
                bench.submit(
                    .numbers(NumberRead(user: Sample.user("\(reader)"), list: .identities, cursor: cursor, limit: 1))
                )
            }
            let first = submitPage(1)
            _ = try bench.result(of: first)
            let pages = (2...40).map(submitPage)
            let more = submitPage(1)
            let others = [
                bench.submit(.log(Sample.number(1))), bench.submit(.history(Sample.bob, limit: 1, before: nil)),
                bench.submit(.peers(Sample.carol, limit: 1)),
                bench.submit(.timeline(CallSelector(Sample.callID("11-10"), seenBy: Sample.alice))),
            ]
            // A query that was submitted before a durable commit waits for its turn when a further commit is durable.
            for number in 2...3 as ClosedRange<Int64> { try bench.save([.call(Sample.call(number))]) }
            bench.reports.releaseResults()
            _ = try bench.result(of: more)
            let expected = [first] + others + pages + [more]
            try expect(
                bench.reports.now.reported.filter { $0.hasPrefix("answered") },
                expected.map { "answered \($0.rawValue)" },
                "the order of the results"
            )
        }
    ]
}
