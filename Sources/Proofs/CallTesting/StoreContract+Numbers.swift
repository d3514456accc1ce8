import CallCore
import CallPorts

extension StoreContract {
    /// Cases about the call directory.
    static let numbers: [Case] = [
        Case("a list is read page by page in the order of its numbers, and a user's own name wins") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            try lists.write(nil, (1...9).map { (10 * $0, "all \($0)") })
            try lists.write(Sample.alice, [(20, "own"), (25, "own too"), (95, "last")])
            let expected = [
                "+10\tall 1", "+20\town", "+25\town too", "+30\tall 3", "+40\tall 4", "+50\tall 5", "+60\tall 6",
                "+70\tall 7", "+80\tall 8", "+90\tall 9", "+95\tlast",
            ]
            for limit in [1, 2, 3, 10, 11, 12] {
                let (lines, cursor) = try lists.read(Sample.alice, limit: limit)
                try expect(lines, expected, "the list in pages of \(limit)")
                try expect(cursor, NumberCursor(.identities, version: 2), "the last cursor")
            }
            try expect(try lists.read(Sample.bob).lines, (1...9).map { "+\($0 * 10)\tall \($0)" }, "another's list")
            try expect(try lists.read(Sample.alice, .blocks).lines, [], "the list of blocked numbers")
        },
        Case("a client is told what has changed since its cursor, also what was removed") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            try lists.write(nil, [(1, "one"), (2, "two"), (3, "three"), (4, "four")])
            try lists.write(Sample.alice, [(2, "my two"), (5, "my five")])
            let cursor = NumberCursor(.identities, version: lists.state.version)
            try lists.write(nil, [(1, "uno"), (2, "due"), (3, nil), (6, "six")])
            try lists.write(Sample.alice, [(4, "my four"), (5, nil)])
            for limit in [1, 4, 100] {
                let (lines, end) = try lists.read(Sample.alice, since: cursor, limit: limit)
                try expect(lines, ["+1\tuno", "+2\tmy two", "-3", "+4\tmy four", "-5", "+6\tsix"], "alice's changes")
                try expect(end.version, 4, "the cursor's version")
            }
            try expect(
                try lists.read(Sample.bob, since: cursor).lines,
                ["+1\tuno", "+2\tdue", "-3", "+6\tsix"],
                "bob's"
            )
            try lists.write(Sample.alice, [(2, nil), (4, nil)])
            let later = NumberCursor(.identities, version: 4)
            try expect(
                try lists.read(Sample.alice, since: later).lines,
                ["+2\tdue", "+4\tfour"],
                "those for all show again"
            )
            let now = NumberCursor(.identities, version: lists.state.version)
            try expect(try lists.page(Sample.alice, since: now).lines, [], "no change")
        },
        Case("a cursor from before the stored removals, or from the future, leads to the whole list") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            try lists.write(nil, [(1, "one"), (2, "two"), (3, "three")])
            try lists.write(nil, [(2, nil)], at: 1_000)
            try lists.write(nil, [(3, nil)], at: 2_000)
            for (version, isChange) in [(Int64(1), true), (2, true), (4, false), (.max, false)] {
                let page = try lists.page(Sample.alice, since: NumberCursor(.identities, version: version))
                try expect(page.step.since != nil, isChange, "since version \(version)")
            }
            try bench.save([.removalsForgotten(before: Sample.moment(2_000))])
            let old = try lists.page(Sample.alice, since: NumberCursor(.identities, version: 1))
            try expect(
                old.step,
                NumberStep(since: nil, version: 3, page: 1, after: 0),
                "the first page of the whole list"
            )
            try expect(String(decoding: old.lines, as: UTF8.self), "+1\tone\n", "the whole list")
            let kept = try lists.page(Sample.alice, since: NumberCursor(.identities, version: 2))
            try expect(String(decoding: kept.lines, as: UTF8.self), "-3\n", "a removal that is still stored")
            let place = NumberCursor.Place(since: 1, page: 3, after: Sample.phone(2))
            let middle = try lists.page(Sample.alice, since: NumberCursor(.identities, version: 3, place: place))
            try expect(middle.step.page, 1, "the reading of changes restarts as well")
            try expect(
                try bench.reopen().numbers.state,
                NumberState(version: 3, oldest: 2, count: 1),
                "after a restart"
            )
        },
        Case("an update is compared with what is stored: only lines that change something come back") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            try lists.write(nil, [(1, "one"), (2, "two"), (3, nil)])
            try lists.write(Sample.alice, [(1, "mine"), (7, "seven")])
            let update = lists.rows([(1, "one"), (2, "TWO"), (3, nil), (4, nil), (5, "five"), (7, nil)], at: 5)
            func differing(_ present: [Int], new: [Int]) -> [NumberComparison.Difference] {
                (present + new).sorted().map { .init(row: update[$0], isPresent: present.contains($0)) }
            }
            let all = try lists.compare(nil, update)
            try expect(all, NumberComparison(differing([1], new: [4]), count: 0), "the list for all")
            let own = try lists.compare(Sample.alice, update)
            try expect(own, NumberComparison(differing([0, 5], new: [1, 4]), count: 2), "a user's own")
            try expect(try lists.compare(nil, []).differences, [], "an empty update")
        },
        Case("counters, names and blocked numbers survive a crash, and a version never goes back") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            let largest = Sample.phone(PhoneNumber.maximum)
            try lists.write(nil, [(PhoneNumber.maximum, "名前 \u{1F4DE}"), (1, "x")], count: 2)
            try lists.write(Sample.alice, [(PhoneNumber.maximum, nil), (8_210, nil)], .blocks, isBlock: true)
            try lists.write(Sample.bob, [(5, nil)], .blocks, isBlock: true)
            try lists.write(Sample.bob, [(5, nil)], .blocks, at: 9)
            let state = lists.state
            bench.crash()
            let stored = try bench.open().numbers
            try expect(stored.state, state, "the counters")
            try expect(stored.blocked, [Sample.alice: [largest, Sample.phone(8_210)]], "the blocked numbers")
            try expect(try lists.read(Sample.bob).lines, ["+1\tx", "+\(largest.text)\t名前 \u{1F4DE}"], "the names")
            try expect(try lists.read(Sample.alice, .blocks).lines, ["+8210", "+\(largest.text)"], "the blocks")
            let since = NumberCursor(.blocks, version: 1)
            try expect(try lists.read(Sample.bob, .blocks, since: since).lines, ["-5"], "a removed block")
            try bench.save([
                .numbers(
                    NumberChange(owner: nil, list: .identities, rows: [], state: NumberState(version: 1, count: 1))
                )
            ])
            try expect(try bench.reopen().numbers.state, state, "the counters after a lower version")
        },
        Case("more changes than may be told lead to the whole list") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            try lists.write(nil, [(1, "one")])
            let many = NumberRead.mostChanges
            for start in stride(from: 1, through: many, by: 20_000) {
                try lists.write(nil, (start..<start + 20_000).map { (Int64($0), "name") })
            }
            let page = try lists.page(Sample.alice, since: NumberCursor(.identities, version: 0))
            try expect(page.step.since, 0, "as many changes as may be told")
            try lists.write(nil, [(Int64(many) + 1, "one too many")])
            let whole = try lists.page(Sample.alice, since: NumberCursor(.identities, version: 0), limit: 10_000)
            try expect(whole.step.since, nil, "one more")
            try expect(whole.count, 10_000, "a full page")
            try expect(whole.cursor.place, NumberCursor.Place(since: nil, page: 2, after: Sample.phone(10_000)), "next")
            let few = try lists.read(Sample.alice, since: NumberCursor(.identities, version: lists.state.version - 1))
            try expect(few.lines, ["+\(many + 1)\tone too many"], "a small change of a long list")
        },
        Case("many changes are read in the order of the numbers, and each page reads few rows") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            let count = Int64(NumberRead.mostRows) + 2_000
            try lists.write(nil, (1...count).map { (2 * $0, "name") })
            let cursor = NumberCursor(.identities, version: lists.state.version)
            for start in stride(from: count, to: 1, by: -1_000) {
                try lists.write(nil, (start - 999...start).map { (2 * $0, $0 % 3 == 0 ? nil : "new") })
            }
            try lists.write(Sample.alice, [(6, "own"), (7, "more"), (9, nil)])
            var expected = (1...count).map { $0 % 3 == 0 ? "-\(2 * $0)" : "+\(2 * $0)\tnew" }
            expected.replaceSubrange(2...2, with: ["+6\town", "+7\tmore"])
            expected.insert("-9", at: 5)
            for limit in [NumberRead.mostRows, 3_500] {
                let (lines, end) = try lists.read(Sample.alice, since: cursor, limit: limit)
                try expect(lines, expected, "the changes in pages of \(limit)")
                try expect(end.version, lists.state.version, "the cursor's version")
            }
            let first = try lists.page(Sample.alice, since: cursor, limit: 1)
            try expect(first.step.since, cursor.version, "a page of one line shows changes")
            let second = try lists.page(Sample.alice, since: NumberCursor(first.cursor.text), limit: 1)
            try expect(String(decoding: second.lines, as: UTF8.self), "+4\tnew\n", "the next line")
            try expect(second.rowsRead <= NumberRead.mostRows + 10, "\(second.rowsRead) rows were read")
        },
        Case("a page ends after many numbers that it does not show") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            let count = 2 * Int64(NumberRead.mostRows) + 5
            try lists.write(nil, (1...count).map { ($0, "name") })
            try lists.write(nil, (1..<count).map { ($0, nil) })
            let page = try lists.page(Sample.alice, limit: 1)
            try expect(page.count == 0 && !page.isLast, "a page without a line, and \(page.rowsRead) rows")
            try expect(page.rowsRead <= NumberRead.mostRows, "\(page.rowsRead) rows were read")
            try expect(try lists.read(Sample.alice, limit: 1).lines, ["+\(count)\tname"], "all pages together")
        },
        Case("a page of long names ends before it is too large") { bench in
            try bench.open()
            let lists = NumberLists(bench)
            let name = String(repeating: "名", count: 64) + String(repeating: "x", count: 64)
            try lists.write(nil, (1...4_000).map { (Int64($0), name) })
            let page = try lists.page(Sample.alice, limit: 10_000)
            try expect(!page.isLast && page.lines.count < NumberPage.mostBytes + 512, "\(page.lines.count) bytes")
            try expect(try lists.read(Sample.alice, limit: 10_000).lines.count, 4_000, "all pages together")
        },
    ]
}

/// Writes and reads lists as the switchboard does.
final class NumberLists {
    private let bench: StoreBench
    private(set) var state = NumberState()

    init(_ bench: StoreBench) { self.bench = bench }

    func rows(_ lines: [(Int64, String?)], at moment: Int64 = 0, isBlock: Bool = false) -> [NumberRow] {
        lines.map { number, label in
            NumberRow(
                number: Sample.phone(number),
                label: label,
                version: state.version,
                removedAt: label == nil && !isBlock ? Sample.moment(moment) : nil
            )
        }
    }

    func write(
        _ owner: UserID?,
        _ lines: [(Int64, String?)],
        _ list: NumberList = .identities,
        at moment: Int64 = 0,
        isBlock: Bool = false,
        count: Int = 1
    ) throws {
        state.version += 1
        state.count = count
        let rows = rows(lines, at: moment, isBlock: isBlock)
        try bench.save([.numbers(NumberChange(owner: owner, list: list, rows: rows, state: state))])
    }

    func compare(_ owner: UserID?, _ update: [NumberRow]) throws -> NumberComparison {
        let result = try bench.query(.numberChanges(owner, update))
        guard case .numberChanges(let found) = result else {
            throw StoreContract.Violation(description: "the result of a comparison was \(result)")
        }
        return found
    }

    func page(
        _ user: UserID,
        _ list: NumberList = .identities,
        since cursor: NumberCursor? = nil,
        limit: Int = 100
    ) throws -> NumberPage {
        let result = try bench.query(.numbers(NumberRead(user: user, list: list, cursor: cursor, limit: limit)))
        guard case .numbers(let page) = result else {
            throw StoreContract.Violation(description: "the result of a query for a page was \(result)")
        }
        return page
    }

    /// Reads all pages; returns their lines and the last cursor.
    func read(
        _ user: UserID,
        _ list: NumberList = .identities,
        since cursor: NumberCursor? = nil,
        limit: Int = 100
    ) throws -> (lines: [String], cursor: NumberCursor) {
        var next = cursor
        var lines: [String] = []
        for number in 1...Int64.max {
            let page = try page(user, list, since: next, limit: limit)
            try expect(page.step.page, number, "the number of the page")
            try expect(page.count <= limit, "a page of \(page.count) lines with a limit of \(limit)")
            lines += String(decoding: page.lines, as: UTF8.self).split(separator: "\n").map(String.init)
            guard !page.isLast else { return (lines, page.cursor) }
            // A client sends the text back.
            next = NumberCursor(page.cursor.text)
        }
        return (lines, NumberCursor(list, version: 0))
    }
}
