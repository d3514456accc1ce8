import CallCore
import CallPorts

/// The call directory in memory.
struct NumberTables {
    private struct Key: Hashable {
        /// `nil` = all users.
        let owner: UserID?
        let list: NumberList
    }

    /// The rows of each list, in ascending order of their numbers.
    private var lists: [Key: [NumberRow]] = [:]
    private var state = NumberState()

    mutating func keep(_ change: NumberChange) {
        let key = Key(owner: change.owner, list: change.list)
        let old = lists.removeValue(forKey: key) ?? []
        lists[key] = Self.merged(old, with: change.rows.sorted { $0.number < $1.number })
        state.version = max(state.version, change.state.version)
        state.oldest = max(state.oldest, change.state.oldest)
        state.count = change.state.count
    }

    mutating func forgetRemovals(before moment: Moment) {
        let old = lists.flatMap { key, rows in
            rows.compactMap { row in row.removedAt.flatMap { $0 < moment ? (at: $0, key: key, row: row) : nil } }
        }
        let first = old.sorted { $0.at < $1.at }.prefix(NumberChange.forgottenAtOnce)
        for (key, forgotten) in Dictionary(grouping: first, by: \.key) {
            let numbers = Set(forgotten.map(\.row.number))
            lists[key]?.removeAll { numbers.contains($0.number) }
        }
        state.oldest = max(state.oldest, first.map(\.row.version).max() ?? 0)
    }

    /// What a start of the server needs.
    var stored: StoredNumbers {
        var stored = StoredNumbers()
        stored.state = state
        for (key, rows) in lists where key.list == .blocks {
            guard let owner = key.owner else { continue }
            let blocked = rows.filter { $0.removedAt == nil }.map(\.number)
            if !blocked.isEmpty { stored.blocked[owner] = Set(blocked) }
        }
        return stored
    }

    func compare(_ update: [NumberRow], _ owner: UserID?) -> NumberComparison {
        let rows = lists[Key(owner: owner, list: .identities)] ?? []
        var stored: [PhoneNumber: NumberRow] = [:]
        for row in update {
            let index = Self.index(of: row.number.rawValue, in: rows)
            if index < rows.count, rows[index].number == row.number { stored[row.number] = rows[index] }
        }
        let count = owner == nil ? 0 : rows.count { $0.removedAt == nil }
        return NumberComparison(of: update, with: stored, count: count)
    }

    func page(_ read: NumberRead) -> NumberPage {
        let own = lists[Key(owner: read.user, list: read.list)] ?? []
        let shared = lists[Key(owner: nil, list: read.list)] ?? []
        var step = read.step(in: state)
        var changed: [NumberRow] = []
        if let since = step.since {
            changed = (own + shared).filter { $0.version > since }
            if changed.count > NumberRead.mostChanges, read.cursor?.place == nil {
                step = read.step(in: state, hasTooManyChanges: true)
            }
        }
        var page = NumberPage(read.list, step, at: state.version)
        page.rowsRead = min(changed.count, read.countedChanges)
        guard step.since != nil, changed.count <= NumberRead.mostRows else {
            var mine = own[Self.index(of: step.after + 1, in: own)...]
            var everybodys = shared[Self.index(of: step.after + 1, in: shared)...]
            page.scan(limit: read.limit, own: { mine.popFirst() }, shared: { everybodys.popFirst() })
            return page
        }
        for number in Set(changed.map(\.number)).sorted() where number.rawValue > step.after {
            let shown = Self.shown(number, in: own) ?? Self.shown(number, in: shared)
            guard page.append(number, shown?.label, isShown: shown != nil, limit: read.limit) else { break }
        }
        return page
    }

    private static func shown(_ number: PhoneNumber, in rows: [NumberRow]) -> NumberRow? {
        let index = index(of: number.rawValue, in: rows)
        guard index < rows.count, rows[index].number == number, rows[index].removedAt == nil else { return nil }
        return rows[index]
    }

    /// Returns the index of the first row whose number is not below `number`.
    private static func index(of number: Int64, in rows: [NumberRow]) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].number.rawValue < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Merges two ascending lists; a new row takes the place of the old one with its number.
    private static func merged(_ old: [NumberRow], with new: [NumberRow]) -> [NumberRow] {
        guard let first = new.first, let last = old.last, first.number <= last.number else { return old + new }
        var rows: [NumberRow] = []
        rows.reserveCapacity(old.count + new.count)
        var place = 0
        for row in new {
            while place < old.count, old[place].number < row.number {
                rows.append(old[place])
                place += 1
            }
            if place < old.count, old[place].number == row.number { place += 1 }
            rows.append(row)
        }
        rows.append(contentsOf: old[place...])
        return rows
    }
}
