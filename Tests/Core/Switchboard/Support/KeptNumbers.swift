import CallCore
import CallPorts

/// The call directory of a fake store.
struct KeptNumbers {
    private struct Key: Hashable {
        let owner: UserID?
        let list: NumberList
    }

    private var lists: [Key: [PhoneNumber: NumberRow]] = [:]
    var state = NumberState()
    /// The rows that each page is said to have read.
    var rowsRead = 0
    /// The newest moment before which removals were to be forgotten.
    var forgottenBefore: Moment?

    mutating func apply(_ change: NumberChange) {
        for row in change.rows { lists[Key(owner: change.owner, list: change.list), default: [:]][row.number] = row }
        state = change.state
    }

    var stored: StoredNumbers {
        var stored = StoredNumbers()
        stored.state = state
        for (key, rows) in lists where key.list == .blocks {
            guard let owner = key.owner else { continue }
            let blocked = rows.values.filter { $0.removedAt == nil }.map(\.number)
            if !blocked.isEmpty { stored.blocked[owner] = Set(blocked) }
        }
        return stored
    }

    func compare(_ update: [NumberRow], _ owner: UserID?) -> NumberComparison {
        let rows = lists[Key(owner: owner, list: .identities)] ?? [:]
        let count = owner == nil ? 0 : rows.values.count { $0.removedAt == nil }
        return NumberComparison(of: update, with: rows, count: count)
    }

    func page(_ read: NumberRead) -> NumberPage {
        let step = read.step(in: state)
        var page = NumberPage(read.list, step, at: state.version)
        page.rowsRead = rowsRead
        let shared = lists[Key(owner: nil, list: read.list)] ?? [:]
        let own = lists[Key(owner: read.user, list: read.list)] ?? [:]
        for number in Set(shared.keys).union(own.keys).sorted() where number.rawValue > step.after {
            let rows = [own[number], shared[number]].compactMap { $0 }
            if let since = step.since, !rows.contains(where: { $0.version > since }) { continue }
            let shown = rows.first { $0.removedAt == nil }
            if shown == nil, step.since == nil { continue }
            guard page.append(number, shown?.label, isShown: shown != nil, limit: read.limit) else { break }
        }
        return page
    }
}
