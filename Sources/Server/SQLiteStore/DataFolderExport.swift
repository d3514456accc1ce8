package import CallCore
package import CallPorts
import SQLite
import Storing

/// Reads everything in a data folder that no server uses, for bringing it into another store.
///
/// No server can start on the folder while the export exists. No file is changed, except SQLite's index of the `-wal`
/// that a killed server leaves behind.
package final class DataFolderExport {
    /// How many times the folder was opened without having been closed cleanly; see `StoredState.uncleanStarts`.
    package let uncleanStarts: Int
    /// The highest call number ever used; 0 if there was no call.
    package let lastCallNumber: Int64

    private let lock: DataFolder.Lock?
    private let queries: QueryRunner
    private let now: Moment

    /// Opens a folder.
    /// - Parameters:
    ///   - path: The folder's path.
    ///   - now: The present time, which replaces times that are impossible.
    /// - Throws: `StoreFailure` if the path is no folder, if a server uses the folder, or if it has no database that
    ///   this version can read.
    package init(folder path: String, at now: Moment) throws(StoreFailure) {
        guard !SQLiteCallStore.isFile(path) else {
            throw StoreFailure("\(path) is a file; name a data folder, into which 'ringline restore' can put a backup.")
        }
        let folder = try OperatorFolder(path)
        lock = try folder.act { () throws(StoreFailure) in try DataFolder(path: folder.path).keepServersOut() }
        queries = try DataFolderReader(of: folder, named: path, connect: DataFolderReader.connect(toUnused:)).queries
        self.now = now
        (uncleanStarts, lastCallNumber) = try Self.counters(queries)
    }

    deinit { withExtendedLifetime(lock) {} }

    /// Passes all records to `take`, as changes in an order in which they can be committed.
    ///
    /// Impossible values are replaced as a start of the server replaces them, or their rows are left out.
    package func read(_ take: (Change) throws(StoreFailure) -> Void) throws(StoreFailure) {
        try reading { () throws in
            let numbers = try readCalls(take)
            try readEvents(of: numbers, take)
            try readUsers(take)
        }
    }

    /// Returns the impossible values that were found so far, each once.
    package func takeDamages() -> [DamagedValue] { queries.damages.take() }

    private var reader: RowReader { RowReader(damages: queries.damages) }

    /// - Returns: The numbers of the calls.
    private func readCalls(_ take: (Change) throws(StoreFailure) -> Void) throws -> Set<Int64> {
        var numbers: Set<Int64> = []
        let calls = try queries.connection.statement(Self.calls)
        defer { calls.reset() }
        while try calls.step() {
            guard var call = reader.call(calls) else { continue }
            // With the nearest possible time, the call would be forgotten at once, or never.
            if call.endedAt != nil, !StorableRange.moments.contains(calls.int64(12)) {
                let end = StorableRange.moments.contains(calls.int64(8)) ? call.startedAt : now
                call.session.ending?.at = end
            }
            numbers.insert(call.number.rawValue)
            try take(.call(call))
            if calls.int64(19) == 0 {
                try take(.logForgotten(call.number))
            } else {
                for entry in try queries.log(of: call.number) { try take(.entry(call.number, entry)) }
            }
        }
        return numbers
    }

    private func readEvents(of numbers: Set<Int64>, _ take: (Change) throws(StoreFailure) -> Void) throws {
        let events = try queries.connection.statement(Self.events)
        defer { events.reset() }
        while try events.step() {
            guard numbers.contains(events.int64(3)) else { continue }
            try take(.event(CallNumber(rawValue: events.int64(3)), reader.event(events)))
        }
    }

    private func readUsers(_ take: (Change) throws(StoreFailure) -> Void) throws {
        try each(QueryRunner.devices) { row in if let device = reader.device(row) { try take(.device(device)) } }
        try each(QueryRunner.blocks) { row in
            if let block = reader.block(row) { try take(.blocked(block.blocked, by: block.by, at: block.at)) }
        }
        try each(QueryRunner.schedules) { row in
            if let schedule = reader.schedule(row) { try take(.schedule(schedule)) }
        }
        try each(QueryRunner.doNotDisturb) { row in
            if let (user, until) = reader.doNotDisturb(row) { try take(.doNotDisturb(user, until: until)) }
        }
        try each(QueryRunner.revocations) { row in
            guard let (user, moment) = reader.revocation(row) else { return }
            // The right time is unknown, so all tokens of the user that were issued up to now are refused.
            try take(.revoked(user, before: StorableRange.moments.contains(row.int64(1)) ? moment : now))
        }
        try readNumbers(take)
    }

    private func readNumbers(_ take: (Change) throws(StoreFailure) -> Void) throws {
        let state = try queries.numberState()
        var change: NumberChange?
        func pass() throws(StoreFailure) {
            if let change { try take(.numbers(change)) }
            change = nil
        }
        try each(Self.allNumbers) { row in
            let owner = UserID(row.text(4))
            guard let number = reader.number(row), let list = NumberList(rawValue: row.int64(5)),
                owner != nil || row.text(4).isEmpty
            else { return }
            if let begun = change,
                begun.owner != owner || begun.list != list || begun.rows.count == Self.numbersAtOnce
            {
                try pass()
            }
            if change == nil { change = NumberChange(owner: owner, list: list, rows: [], state: state) }
            change?.rows.append(number)
        }
        try pass()
        // The counters count also if all numbers are gone.
        if state.version > 0 {
            try take(.numbers(NumberChange(owner: nil, list: .identities, rows: [], state: state)))
        }
    }

    private static let numbersAtOnce = 1_000

    private static let allNumbers = SQL(
        "all numbers",
        "SELECT number, label, version, removed_at, owner, list FROM directory ORDER BY owner, list, number"
    )

    private func each(_ sql: SQL, _ body: (Statement) throws -> Void) throws {
        let rows = try queries.connection.statement(sql)
        defer { rows.reset() }
        while try rows.step() { try body(rows) }
    }

    private func reading(_ body: () throws -> Void) throws(StoreFailure) {
        do { try body() } catch let failure as StoreFailure {
            throw failure
        } catch let error as SQLiteError {
            throw StoreFailure(error, database: queries.database)
        } catch { throw StoreFailure("The database \(queries.database) cannot be read: \(error).") }
    }

    /// Returns the two counters that guard numbers after a crash; an impossible one is replaced as at a start.
    private static func counters(_ queries: QueryRunner) throws(StoreFailure) -> (uncleanStarts: Int, last: Int64) {
        let found = try queries.reading { () throws -> [Int64] in
            let rows = try queries.connection.statement(numbers)
            defer { rows.reset() }
            return try rows.step() ? (0..<3).map { rows.int64($0) } : [0, 0, 0]
        }
        let starts = min(max(found[0], StorableRange.counts.lowerBound), StorableRange.counts.upperBound)
        let isPossible = (0...StorableRange.numbers.upperBound).contains(found[1])
        for (name, isSound) in [("crashes", starts == found[0]), ("last_call_number", isPossible)] where !isSound {
            queries.damages.record(DamagedValue(table: "meta", column: "value", row: name, remedy: .replaced))
        }
        return (Int(starts), max(isPossible ? found[1] : 0, found[2]))
    }

    private static let numbers = SQL(
        "counters",
        """
        SELECT coalesce((SELECT value FROM meta WHERE name = 'crashes'), 0),
            coalesce((SELECT value FROM meta WHERE name = 'last_call_number'), 0),
            coalesce((SELECT max(number) FROM call WHERE \(CallCondition.isPossible)), 0)
        """
    )

    private static let calls = SQL(
        "all calls",
        "SELECT \(RowReader.callColumns), log_kept FROM call WHERE \(CallCondition.isNotForgotten) ORDER BY number"
    )

    private static let events = SQL("all events", "SELECT \(RowReader.eventColumns) FROM event ORDER BY position")
}
