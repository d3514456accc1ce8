import CallCore
import CallPorts

/// Reads pages of the call directory.
extension QueryRunner {
    /// Returns a page of a user's list.
    func page(_ read: NumberRead) throws(Failure) -> NumberPage {
        do throws(Failure) {
            return try pageInSnapshot(read)
        } catch {
            session.abandonSnapshot()
            throw error
        }
    }

    /// Reads a page in one snapshot: the version of a page is the one that its rows have.
    private func pageInSnapshot(_ read: NumberRead) throws(Failure) -> NumberPage {
        var state = NumberState()
        try session.beginSnapshot(statements.numberState) { state = RowReader.numberState($0) }
        var step = read.step(in: state)
        let list: [SQLValue] = [.word(read.user.text), .integer(read.list.rawValue)]
        var changes = 0
        if let since = step.since {
            let values = list + [.integer(since), .integer(Int64(read.countedChanges))]
            try session.read(statements.changeCount, values) { changes = Int($0.int64(0)) }
            if changes > NumberRead.mostChanges { step = read.step(in: state, hasTooManyChanges: true) }
        }
        var page = NumberPage(read.list, step, at: state.version)
        page.rowsRead = changes
        if let since = step.since, changes <= NumberRead.mostRows {
            let values = list + [.integer(since), .integer(step.after), .integer(Int64(read.limit) + 1)]
            try session.endSnapshot((statements.changes, values)) {
                guard page.isLast, let row = reader.number($0) else { return }
                _ = page.append(row.number, row.label, isShown: row.removedAt == nil, limit: read.limit)
            }
        } else {
            var own = NumberRows(runner: self, read: read, owner: read.user.text, after: step.after)
            var shared = NumberRows(runner: self, read: read, owner: "", after: step.after)
            try page.scan(
                limit: read.limit,
                own: { () throws(Failure) in try own.next() },
                shared: { () throws(Failure) in try shared.next() }
            )
            try session.endSnapshot(nil) { _ in }
        }
        return page
    }
}

/// The rows of one owner's list in the order of their numbers, fetched in parts: a page with few lines mostly needs few
/// rows.
private struct NumberRows<Session: SQLSession> {
    private let runner: QueryRunner<Session>
    private let read: NumberRead
    private let owner: String
    private var after: Int64
    /// The rows that were fetched and not yet returned, the next one last.
    private var rows: [NumberRow] = []
    private var isComplete = false
    /// The number of rows to fetch next.
    private var size: Int

    init(runner: QueryRunner<Session>, read: NumberRead, owner: String, after: Int64) {
        self.runner = runner
        self.read = read
        self.owner = owner
        self.after = after
        size = min(read.limit, NumberRead.mostRows) + 1
    }

    mutating func next() throws(Session.Failure) -> NumberRow? {
        while rows.isEmpty, !isComplete {
            let values: [SQLValue] = [
                .word(owner), .integer(read.list.rawValue), .integer(after), .integer(Int64(size)),
            ]
            var (found, count, last) = ([NumberRow](), 0, after)
            try runner.session.read(runner.statements.list, values) {
                count += 1
                last = $0.int64(0)
                if let row = runner.reader.number($0) { found.append(row) }
            }
            (rows, after, isComplete) = (found.reversed(), last, count < size)
            size = min(size * 4 + 60, NumberRead.mostRows + 1)
        }
        return rows.popLast()
    }
}
