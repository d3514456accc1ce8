import CallCore
import CallPorts
import SQLite
import Storing

/// Queries about the call directory.
extension QueryRunner {
    /// Returns a page of a user's list.
    func page(_ read: NumberRead) throws(StoreFailure) -> NumberPage {
        try reading { () throws -> NumberPage in
            // All statements must see one state: the version of a page is the one that its rows have.
            try connection.statement(Self.begin).run()
            do {
                let page = try pageInSnapshot(read)
                try connection.statement(Self.commit).run()
                return page
            } catch {
                // The first error is the cause.
                try? connection.statement(Self.rollback).run()
                throw error
            }
        }
    }

    private func pageInSnapshot(_ read: NumberRead) throws(SQLiteError) -> NumberPage {
        let state = try numberState()
        var step = read.step(in: state)
        let changes = try step.since.map { since throws(SQLiteError) in try changeCount(read, since: since) } ?? 0
        if changes > NumberRead.mostChanges { step = read.step(in: state, hasTooManyChanges: true) }
        var page = NumberPage(read.list, step, at: state.version)
        page.rowsRead = changes
        if let since = step.since, changes <= NumberRead.mostRows {
            let rows = try connection.statement(Self.changes)
            defer { rows.reset() }
            try rows.bind(read.user.text, at: 1)
            try rows.bind(read.list.rawValue, at: 2)
            try rows.bind(since, at: 3)
            try rows.bind(step.after, at: 4)
            try rows.bind(Int64(read.limit) + 1, at: 5)
            while try rows.step() {
                guard let row = reader.number(rows) else { continue }
                guard page.append(row.number, row.label, isShown: row.removedAt == nil, limit: read.limit) else {
                    break
                }
            }
        } else {
            let own = try rows(Self.own, of: read.user.text, read, after: step.after)
            let shared = try rows(Self.shared, of: "", read, after: step.after)
            defer {
                own.reset()
                shared.reset()
            }
            func next(_ rows: Statement) throws(SQLiteError) -> NumberRow? {
                while try rows.step() { if let row = reader.number(rows) { return row } }
                return nil
            }
            try page.scan(
                limit: read.limit,
                own: { () throws(SQLiteError) in try next(own) },
                shared: { () throws(SQLiteError) in try next(shared) }
            )
        }
        return page
    }

    /// Returns the rows of a list, which are read one by one.
    private func rows(
        _ sql: SQL,
        of owner: String,
        _ read: NumberRead,
        after: Int64
    ) throws(SQLiteError) -> Statement {
        let rows = try connection.statement(sql)
        try rows.bind(owner, at: 1)
        try rows.bind(read.list.rawValue, at: 2)
        try rows.bind(after, at: 3)
        return rows
    }

    private func changeCount(_ read: NumberRead, since: Int64) throws(SQLiteError) -> Int {
        let rows = try connection.statement(Self.changeCount)
        defer { rows.reset() }
        try rows.bind(read.user.text, at: 1)
        try rows.bind(read.list.rawValue, at: 2)
        try rows.bind(since, at: 3)
        try rows.bind(Int64(read.countedChanges), at: 4)
        return try rows.step() ? Int(rows.int64(0)) : 0
    }

    /// Returns the rows of an update that would change a list of names.
    func compare(_ update: [NumberRow], _ owner: UserID?) throws(StoreFailure) -> NumberComparison {
        try reading { () throws -> NumberComparison in
            let rows = try connection.statement(Self.number)
            try rows.bind(owner?.text ?? "", at: 1)
            var stored: [PhoneNumber: NumberRow] = [:]
            for row in update {
                try rows.bind(row.number.rawValue, at: 2)
                if try rows.step(), let old = reader.number(rows) { stored[old.number] = old }
                rows.reset()
            }
            return NumberComparison(of: update, with: stored, count: try owner.map { try count($0) } ?? 0)
        }
    }

    private func count(_ owner: UserID) throws(SQLiteError) -> Int {
        let rows = try connection.statement(Self.count)
        defer { rows.reset() }
        try rows.bind(owner.text, at: 1)
        return try rows.step() ? Int(rows.int64(0)) : 0
    }

    func numberState() throws(SQLiteError) -> NumberState {
        let rows = try connection.statement(Self.state)
        defer { rows.reset() }
        return try rows.step() ? RowReader.numberState(rows) : NumberState()
    }

    /// Returns what a start of the server needs of the call directory.
    func storedNumbers() throws(SQLiteError) -> StoredNumbers {
        var stored = StoredNumbers()
        stored.state = try numberState()
        let rows = try connection.statement(Self.blocked)
        while try rows.step() {
            if let (user, number) = reader.blockedNumber(rows) { stored.blocked[user, default: []].insert(number) }
        }
        return stored
    }

    private static let begin = SQL("begin snapshot", "BEGIN")
    private static let commit = SQL("end snapshot", "COMMIT")
    private static let rollback = SQL("leave snapshot", "ROLLBACK")
    private static let state = SQL("directory state", RowReader.numberState)

    private static let blocked = SQL(
        "blocked numbers",
        "SELECT owner, number FROM directory INDEXED BY directory_blocked WHERE list = 1 AND removed_at IS NULL"
    )

    private static let number = SQL(
        "number",
        "SELECT number, label, version, removed_at FROM directory WHERE owner = ?1 AND list = 0 AND number = ?2"
    )

    private static let count = SQL(
        "count of numbers",
        "SELECT count(*) FROM directory WHERE owner = ?1 AND list = 0 AND removed_at IS NULL"
    )

    private static let list = """
        SELECT number, label, version, removed_at FROM directory
        WHERE owner = ?1 AND list = ?2 AND number > ?3 ORDER BY number
        """

    // Two statements of one text: the rows of both are read at the same time.
    private static let shared = SQL("numbers of all", list)
    private static let own = SQL("numbers of a user", list)

    private static let changeCount = SQL(
        "count of changes",
        """
        SELECT count(*) FROM (
            SELECT 1 FROM directory INDEXED BY directory_by_version
            WHERE owner IN ('', ?1) AND list = ?2 AND version > ?3 LIMIT ?4)
        """
    )

    /// Finds what has changed by the index of versions, so that a list of a million numbers is not searched.
    ///
    /// A user's own entry takes the place of the one for all users; a number with neither was removed.
    private static let changes = SQL(
        "changed numbers",
        """
        SELECT changed.number, iif(own.number IS NULL, shared.label, own.label), 0,
            iif(own.number IS NULL AND shared.number IS NULL, 0, NULL) AS removed_at
        FROM (SELECT number FROM (
                SELECT number FROM directory INDEXED BY directory_by_version
                WHERE owner = '' AND list = ?2 AND version > ?3
                UNION
                SELECT number FROM directory INDEXED BY directory_by_version
                WHERE owner = ?1 AND list = ?2 AND version > ?3)
            WHERE number > ?4 ORDER BY number LIMIT ?5) AS changed
        LEFT JOIN directory AS own
            ON own.owner = ?1 AND own.list = ?2 AND own.number = changed.number AND own.removed_at IS NULL
        LEFT JOIN directory AS shared
            ON shared.owner = '' AND shared.list = ?2 AND shared.number = changed.number AND shared.removed_at IS NULL
        ORDER BY changed.number
        """
    )
}
