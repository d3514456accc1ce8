import CallCore
import CallPorts
import RecordCoding
import SQLite

/// Runs queries on a connection, and reads everything that a start of the server needs.
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
            let rows = try connection.statement(Self.named)
            defer { rows.reset() }
            try rows.bind(choice.id.text, at: 1)
            try rows.bind(choice.users.first?.text, at: 2)
            try rows.bind(choice.users.last?.text, at: 3)
            try rows.bind(choice.epoch.map { Int64($0) }, at: 4)
            try rows.bind(Int64(limit), at: 5)
            try rows.bind(choice.viewer?.text, at: 6)
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

    private static let named = SQL(
        "calls of a name",
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE id = ?1 AND (?2 IS NULL OR caller = ?2 OR callee = ?2) AND (?3 IS NULL OR caller = ?3 OR callee = ?3)
            AND (?4 IS NULL OR epoch = ?4) AND \(CallCondition.isPossible) AND \(CallCondition.isNotForgotten)
            AND (?6 IS NULL OR caller = ?6 AND schedule IS NULL OR callee = ?6 AND (hidden IS NULL OR hidden NOT IN ('block', 'name_taken')))
        ORDER BY number DESC LIMIT ?5
        """
    )

    private static let events = SQL(
        "events",
        "SELECT \(RowReader.eventColumns) FROM event WHERE call = ?1 ORDER BY position"
    )

    private static let call = SQL(
        "call with log",
        "SELECT \(RowReader.callColumns) FROM call WHERE number = ?1 AND log_kept = 1 AND \(CallCondition.isNotForgotten)"
    )

    /// Excludes calls whose deletion has begun.
    private static let calls = SQL(
        "calls with log",
        "SELECT \(RowReader.callColumns) FROM call WHERE log_kept = 1 AND \(CallCondition.isNotForgotten) ORDER BY number"
    )

    static let entries = SQL(
        "entries",
        "SELECT \(RowReader.entryColumns) FROM entry WHERE call = ?1 ORDER BY seq"
    )

    static let devices = SQL("devices", "SELECT \(RowReader.deviceColumns) FROM device ORDER BY user, id")
    static let schedules = SQL("schedules", "SELECT \(RowReader.scheduleColumns) FROM schedule ORDER BY user, id")
    static let blocks = SQL("blocks", "SELECT by, blocked, at FROM block ORDER BY by, blocked")
    static let doNotDisturb = SQL("do not disturb", "SELECT user, until FROM do_not_disturb")
    static let revocations = SQL("revocations", "SELECT user, before FROM revocation")

    private static let lastNumber = SQL(
        "last call number",
        """
        SELECT max((SELECT value FROM meta WHERE name = 'last_call_number'),
                coalesce((SELECT max(number) FROM call WHERE number <= \(StorableRange.numbers.upperBound)), 0)),
            (SELECT value FROM meta WHERE name = 'crashes'),
            (SELECT started_at FROM call
             WHERE number <= \(StorableRange.numbers.upperBound)
                AND started_at BETWEEN \(StorableRange.moments.lowerBound) AND \(StorableRange.moments.upperBound)
             ORDER BY number DESC LIMIT 1)
        """
    )

    /// A GLOB pattern for the texts that `UUIDv5.isUUID(_:)` accepts.
    private static let uuid = [8, 4, 4, 4, 12].map { String(repeating: "[0-9A-Fa-f]", count: $0) }
        .joined(separator: "-")

    /// Leaves out the callIds that are UUIDs: such a callId is not used again once its call is forgotten, so its epoch
    /// is not needed.
    private static let epochs = SQL(
        "epochs",
        """
        SELECT id, caller, callee, max(epoch) AS epoch FROM call
        WHERE id NOT GLOB '\(uuid)' AND epoch <= \(StorableRange.epochs.upperBound) GROUP BY id, caller, callee
        """
    )

    /// Returns the data that a start of the server needs.
    func state() throws(StoreFailure) -> StoredState {
        try reading { () throws -> StoredState in
            var state = StoredState()
            let calls = try connection.statement(Self.calls)
            let entries = try connection.statement(Self.entries)
            while try calls.step() {
                guard let record = reader.call(calls) else { continue }
                var call = StoredCall(record: record, entries: [])
                try entries.bind(record.number.rawValue, at: 1)
                while try entries.step() { if let entry = reader.entry(entries) { call.entries.append(entry) } }
                state.calls.append(call)
            }
            let devices = try connection.statement(Self.devices)
            while try devices.step() { if let device = reader.device(devices) { state.devices.append(device) } }
            let blocks = try connection.statement(Self.blocks)
            while try blocks.step() {
                if let block = reader.block(blocks) { state.blocks.append(block) }
            }
            let schedules = try connection.statement(Self.schedules)
            while try schedules.step() {
                if let schedule = reader.schedule(schedules) { state.schedules.append(schedule) }
            }
            let quiet = try connection.statement(Self.doNotDisturb)
            while try quiet.step() {
                if let (user, until) = reader.doNotDisturb(quiet) { state.doNotDisturb[user] = until }
            }
            let revocations = try connection.statement(Self.revocations)
            while try revocations.step() {
                if let (user, moment) = reader.revocation(revocations) { state.revocations[user] = moment }
            }
            state.numbers = try storedNumbers()
            let epochs = try connection.statement(Self.epochs)
            while try epochs.step() {
                guard let (key, epoch) = reader.epoch(epochs) else { continue }
                state.epochs[key] = max(state.epochs[key] ?? 0, epoch)
            }
            let numbers = try connection.statement(Self.lastNumber)
            if try numbers.step() {
                state.lastCallNumber = numbers.int64(0)
                state.uncleanStarts = Int(numbers.int64(1))
                state.lastCallAt = numbers.optionalInt64(2).map(Moment.init(milliseconds:))
            }
            numbers.reset()
            state.damages = damages.take()
            return state
        }
    }
}
