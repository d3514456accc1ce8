import CallCore
import CallPorts
import SQLite
import Storing

/// Runs queries on a connection.
struct QueryRunner {
    let connection: Connection
    /// The path of the database, for error texts.
    let database: String
    /// The log of the impossible values that were found.
    let damages: DamageLog

    var reader: RowReader { RowReader(damages: damages) }

    /// Returns the result of a query, which may be a failure.
    func run(_ query: StoreQuery) -> StoreResult {
        do throws(StoreFailure) {
            switch query {
            case .history(let user, let limit, let before):
                return .history(try history(of: user, limit: limit, before: before))
            case .timeline(let choice):
                guard let call = try calls(choice, limit: 1).first else { return .timeline(nil, []) }
                return .timeline(call, try events(of: call.number))
            case .peers(let user, let limit): return .peers(try peers(of: user, limit: limit))
            case .log(let number): return .log(try stored(number))
            case .epoch(let key): return .epoch(try newestEpoch(of: key))
            case .numbers(let read): return .numbers(try page(read))
            case .numberChanges(let owner, let rows): return .numberChanges(try compare(rows, owner))
            }
        } catch { return .failed(error) }
    }

    /// Returns a user's calls in either role, newest first, with numbers below `before`.
    func history(of user: UserID, limit: Int, before: CallNumber?) throws(StoreFailure) -> [CallRecord] {
        guard limit > 0, before?.rawValue != .min else { return [] }
        return try reading { () throws -> [CallRecord] in
            let rows = try connection.statement(Self.history)
            defer { rows.reset() }
            try rows.bind(user.text, at: 1)
            // Excludes impossible numbers, which would come before all others.
            try rows.bind(min(before?.rawValue ?? .max, StorableRange.numbers.upperBound + 1) - 1, at: 2)
            try rows.bind(Int64(limit), at: 3)
            var calls: [CallRecord] = []
            while try rows.step() { if let call = reader.call(rows) { calls.append(call) } }
            return calls
        }
    }

    /// Returns the users with whom a user has had a call, the newest first.
    func peers(of user: UserID, limit: Int) throws(StoreFailure) -> [UserID] {
        try reading { () throws -> [UserID] in
            let rows = try connection.statement(Self.peers)
            defer { rows.reset() }
            try rows.bind(user.text, at: 1)
            try rows.bind(Int64(limit), at: 2)
            var users: [UserID] = []
            while try rows.step() { if let peer = UserID(rows.text(0)) { users.append(peer) } }
            return users
        }
    }

    /// Returns the calls that a selector chooses, newest first.
    func calls(_ choice: CallSelector, limit: Int) throws(StoreFailure) -> [CallRecord] {
        try reading { () throws -> [CallRecord] in
            let spellings = choice.id.storedSpellings
            let rows = try connection.statement(spellings == nil ? Self.named : Self.namedByUUID)
            defer { rows.reset() }
            try rows.bind(spellings?.lower ?? choice.id.text, at: 1)
            try rows.bind(choice.users.first?.text, at: 2)
            try rows.bind(choice.users.last?.text, at: 3)
            try rows.bind(choice.epoch.map { Int64($0) }, at: 4)
            try rows.bind(Int64(limit), at: 5)
            try rows.bind(choice.viewer?.text, at: 6)
            if let spellings { try rows.bind(spellings.upper, at: 7) }
            var calls: [CallRecord] = []
            while try rows.step() { if let call = reader.call(rows) { calls.append(call) } }
            return calls
        }
    }

    /// Returns a call with its log; `nil` if the log is no longer stored.
    private func stored(_ number: CallNumber) throws(StoreFailure) -> StoredCall? {
        let record = try reading { () throws -> CallRecord? in
            let rows = try connection.statement(Self.call)
            defer { rows.reset() }
            try rows.bind(number.rawValue, at: 1)
            return try rows.step() ? reader.call(rows) : nil
        }
        guard let record else { return nil }
        return StoredCall(record: record, entries: try log(of: number))
    }

    /// Returns the timeline of a call.
    func events(of number: CallNumber) throws(StoreFailure) -> [TimelineRecord] {
        try reading { () throws -> [TimelineRecord] in
            let rows = try connection.statement(Self.events)
            defer { rows.reset() }
            try rows.bind(number.rawValue, at: 1)
            var events: [TimelineRecord] = []
            while try rows.step() { events.append(reader.event(rows)) }
            return events
        }
    }

    /// Returns the stored log of a call.
    func log(of number: CallNumber) throws(StoreFailure) -> [EntryRecord] {
        try reading { () throws -> [EntryRecord] in
            let rows = try connection.statement(Self.entries)
            defer { rows.reset() }
            try rows.bind(number.rawValue, at: 1)
            var entries: [EntryRecord] = []
            while try rows.step() { if let entry = reader.entry(rows) { entries.append(entry) } }
            return entries
        }
    }

    /// Returns a user's devices.
    func devices(of user: UserID) throws(StoreFailure) -> [DeviceRecord] {
        try reading { () throws -> [DeviceRecord] in
            let rows = try connection.statement(
                SQL("devices of a user", "SELECT \(RowReader.deviceColumns) FROM device WHERE user = ?1 ORDER BY id")
            )
            defer { rows.reset() }
            try rows.bind(user.text, at: 1)
            var devices: [DeviceRecord] = []
            while try rows.step() { if let device = reader.device(rows) { devices.append(device) } }
            return devices
        }
    }

    /// Runs `body` and turns any error into a failure of one sentence.
    func reading<Value>(_ body: () throws -> Value) throws(StoreFailure) -> Value {
        do { return try body() } catch let error as SQLiteError {
            throw StoreFailure(error, database: database)
        } catch { throw StoreFailure("The database \(database) cannot be read: \(error).") }
    }

    /// Reads two indexes, each backwards and no further than the limit.
    ///
    /// A user's call to themself is found by the first index only.
    private static let history = SQL(
        "history",
        """
        SELECT * FROM (
            SELECT \(RowReader.callColumns) FROM call
            WHERE caller = ?1 AND schedule IS NULL AND number <= ?2 AND \(CallCondition.isNotForgotten) ORDER BY number DESC LIMIT ?3)
        UNION ALL
        SELECT * FROM (
            SELECT \(RowReader.callColumns) FROM call
            WHERE callee = ?1 AND caller <> ?1 AND number <= ?2 AND \(CallCondition.isNotForgotten) ORDER BY number DESC LIMIT ?3)
        ORDER BY number DESC LIMIT ?3
        """
    )

    private static let peers = SQL(
        "peers",
        """
        SELECT peer, max(number) AS newest FROM (
            SELECT * FROM (
                SELECT callee AS peer, number FROM call
                WHERE caller = ?1 AND callee <> ?1 AND schedule IS NULL AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
                ORDER BY number DESC LIMIT ?2)
            UNION ALL
            SELECT * FROM (
                SELECT caller AS peer, number FROM call
                WHERE callee = ?1 AND caller <> ?1 AND schedule IS NULL AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
                ORDER BY number DESC LIMIT ?2))
        GROUP BY peer ORDER BY newest DESC
        """
    )

    private static let named = SQL("calls of a name", calls(named: "id = ?1"))
    private static let namedByUUID = SQL("calls of a UUID", calls(named: "id IN (?1, ?7)"))

    private static func calls(named condition: String) -> String {
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE \(condition) AND (?2 IS NULL OR caller = ?2 OR callee = ?2) AND (?3 IS NULL OR caller = ?3 OR callee = ?3)
            AND (?4 IS NULL OR epoch = ?4) AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
            AND (?6 IS NULL OR caller = ?6 AND schedule IS NULL OR callee = ?6 AND (hidden IS NULL OR hidden NOT IN ('block', 'name_taken')))
        ORDER BY number DESC LIMIT ?5
        """
    }

    private static let events = SQL(
        "events",
        "SELECT \(RowReader.eventColumns) FROM event WHERE call = ?1 ORDER BY position"
    )

    private static let call = SQL(
        "call with log",
        "SELECT \(RowReader.callColumns) FROM call WHERE number = ?1 AND log_kept = 1 AND \(CallCondition.isNotForgotten)"
    )

    static let entries = SQL(
        "entries",
        "SELECT \(RowReader.entryColumns) FROM entry WHERE call = ?1 ORDER BY seq"
    )
}
