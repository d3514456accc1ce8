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

    /// The incarnation of the events for the app's backend.
    package let incarnation: EventIncarnation

    private let lock: DataFolder.Lock?
    private let reader: DataFolderReader
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
        reader = try DataFolderReader(of: folder, named: path, connect: DataFolderReader.connect(toUnused:))
        self.now = now
        (uncleanStarts, lastCallNumber) = try Self.counters(reader)
        incarnation = try Self.incarnation(reader, at: now)
    }

    deinit { withExtendedLifetime(lock) {} }

    /// Passes all records to `take`, as changes in an order in which they can be committed.
    ///
    /// Impossible values are replaced as a start of the server replaces them, or their rows are left out.
    package func read(_ take: (Change) throws(StoreFailure) -> Void) throws(StoreFailure) {
        do {
            let numbers = try readCalls(take)
            try readEvents(of: numbers, take)
            try readUsers(take)
            try readAppEvents(take)
        } catch let failure as StoreFailure {
            throw failure
        } catch let error as SQLiteError {
            throw reader.failure(error)
        } catch { throw StoreFailure("The database \(reader.database) cannot be read: \(error).") }
    }

    /// Returns the impossible values that were found so far, each once.
    package func takeDamages() -> [DamagedValue] { reader.takeDamages() }

    var queries: QueryRunner<Connection> { reader.queries }
    var rows: RowReader { queries.reader }

    /// - Returns: The numbers of the calls.
    private func readCalls(_ take: (Change) throws(StoreFailure) -> Void) throws -> Set<Int64> {
        var numbers: Set<Int64> = []
        let calls = try queries.session.statement(Self.calls)
        defer { calls.reset() }
        while try calls.step() {
            guard var call = rows.call(calls) else { continue }
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
        let events = try queries.session.statement(Self.events)
        defer { events.reset() }
        while try events.step() {
            guard numbers.contains(events.int64(3)) else { continue }
            try take(.event(CallNumber(rawValue: events.int64(3)), rows.event(events)))
        }
    }

    private func readUsers(_ take: (Change) throws(StoreFailure) -> Void) throws {
        let cold = Connection.statements.cold
        try each(cold.devices.all) { row in
            if let device = rows.record(Tables.devices, row) { try take(.device(device)) }
        }
        try each(cold.blocks.all) { row in
            guard let block = rows.record(Tables.blocks, row) else { return }
            try take(.blocked(block.blocked, by: block.by, at: block.at))
        }
        try each(cold.schedules.all) { row in
            if let schedule = rows.record(Tables.schedules, row) { try take(.schedule(schedule)) }
        }
        try each(cold.doNotDisturb.all) { row in
            if let found = rows.record(Tables.doNotDisturb, row) {
                try take(.doNotDisturb(found.user, until: found.at))
            }
        }
        try each(cold.revocations.all) { row in
            guard let found = rows.record(Tables.revocations, row) else { return }
            // The right time is unknown, so all tokens of the user that were issued up to now are refused.
            try take(.revoked(found.user, before: StorableRange.moments.contains(row.int64(1)) ? found.at : now))
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
            guard let number = rows.number(row), let list = NumberList(rawValue: row.int64(5)),
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

    private static let allNumbers = SQLText(
        name: "all numbers",
        text: "SELECT number, label, version, removed_at, owner, list FROM directory ORDER BY owner, list, number"
    )

    func each(_ sql: SQLText, _ body: (Statement) throws -> Void) throws {
        let rows = try queries.session.statement(sql, [])
        defer { rows.reset() }
        while try rows.step() { try body(rows) }
    }

    /// Returns the two counters that guard numbers after a crash; an impossible one is replaced as at a start.
    private static func counters(_ reader: DataFolderReader) throws(StoreFailure) -> (uncleanStarts: Int, last: Int64) {
        let found = try reader.reading { queries throws(SQLiteError) -> [Int64] in
            let rows = try queries.session.statement(numbers)
            defer { rows.reset() }
            return try rows.step() ? (0..<3).map { rows.int64($0) } : [0, 0, 0]
        }
        let starts = min(max(found[0], StorableRange.counts.lowerBound), StorableRange.counts.upperBound)
        let isPossible = (0...StorableRange.numbers.upperBound).contains(found[1])
        for (name, isSound) in [("crashes", starts == found[0]), ("last_call_number", isPossible)] where !isSound {
            reader.queries.damages.record(DamagedValue(table: "meta", column: "value", row: name, remedy: .replaced))
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
