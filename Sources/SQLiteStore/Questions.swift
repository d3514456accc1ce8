import CallCore
import SQLite
import Switchboard

/// Answers questions from a connection, and reads all that a start needs.
struct Questions {
    let connection: Connection
    /// The database's path, for the sentences of failures.
    let database: String

    /// The answer, failures included.
    func answer(_ question: Question) -> Answer {
        do throws(StoreFailure) {
            switch question {
            case .history(let user, let limit, let before):
                return .history(try history(of: user, limit: limit, before: before))
            case .timeline(let choice):
                guard let call = try calls(choice, limit: 1).first else { return .timeline(nil, []) }
                return .timeline(call, try events(of: call.number))
            }
        } catch { return .failed(error) }
    }

    /// A user's calls in either role, newest first, with numbers below `before`.
    func history(of user: UserID, limit: Int, before: CallNumber?) throws(StoreFailure) -> [CallRecord] {
        guard limit > 0, before?.rawValue != .min else { return [] }
        return try reading { () throws -> [CallRecord] in
            let rows = try connection.statement(Self.history)
            defer { rows.reset() }
            try rows.bind(user.text, at: 1)
            try rows.bind(before.map { $0.rawValue - 1 } ?? .max, at: 2)
            try rows.bind(Int64(limit), at: 3)
            var calls: [CallRecord] = []
            while try rows.step() { calls.append(try RowReader.call(rows)) }
            return calls
        }
    }

    /// The calls that fit, newest first.
    func calls(_ choice: CallChoice, limit: Int) throws(StoreFailure) -> [CallRecord] {
        try reading { () throws -> [CallRecord] in
            let rows = try connection.statement(Self.named)
            defer { rows.reset() }
            try rows.bind(choice.id.text, at: 1)
            try rows.bind(choice.users.first?.text, at: 2)
            try rows.bind(choice.users.last?.text, at: 3)
            try rows.bind(choice.epoch.map { Int64($0) }, at: 4)
            try rows.bind(Int64(limit), at: 5)
            var calls: [CallRecord] = []
            while try rows.step() { calls.append(try RowReader.call(rows)) }
            return calls
        }
    }

    /// What happened in a call.
    func events(of number: CallNumber) throws(StoreFailure) -> [TimelineRecord] {
        try reading { () throws -> [TimelineRecord] in
            let rows = try connection.statement(Self.events)
            defer { rows.reset() }
            try rows.bind(number.rawValue, at: 1)
            var events: [TimelineRecord] = []
            while try rows.step() { events.append(RowReader.event(rows)) }
            return events
        }
    }

    /// The kept log of a call.
    func log(of number: CallNumber) throws(StoreFailure) -> [EntryRecord] {
        try reading { () throws -> [EntryRecord] in
            let rows = try connection.statement(Self.entries)
            defer { rows.reset() }
            try rows.bind(number.rawValue, at: 1)
            var entries: [EntryRecord] = []
            while try rows.step() { entries.append(try RowReader.entry(rows)) }
            return entries
        }
    }

    /// A user's devices.
    func devices(of user: UserID) throws(StoreFailure) -> [DeviceRecord] {
        try reading { () throws -> [DeviceRecord] in
            let rows = try connection.statement(
                SQL("devices of a user", "SELECT \(RowReader.deviceColumns) FROM device WHERE user = ?1 ORDER BY id")
            )
            defer { rows.reset() }
            try rows.bind(user.text, at: 1)
            var devices: [DeviceRecord] = []
            while try rows.step() { devices.append(try RowReader.device(rows)) }
            return devices
        }
    }

    /// Runs `body`; what goes wrong becomes one sentence.
    func reading<Value>(_ body: () throws -> Value) throws(StoreFailure) -> Value {
        do { return try body() } catch let error as SQLiteError {
            throw StoreFailure(error, database: database)
        } catch let error as RowReader.Unreadable {
            throw StoreFailure(
                "The database \(database) holds what this ringline cannot read (\(error.row)); run the version that wrote it."
            )
        } catch { throw StoreFailure("The database \(database) cannot be read: \(error).") }
    }

    /// Keeps out the calls whose deletion has begun.
    private static let isNotForgotten = """
        (ended_at IS NULL OR ended_at >= coalesce((SELECT value FROM meta WHERE name = 'forgetting_before'), ended_at))
        """

    /// Two indexes, each read backwards no further than the limit; a user's call to themself is found by the first.
    private static let history = SQL(
        "history",
        """
        SELECT * FROM (
            SELECT \(RowReader.callColumns) FROM call
            WHERE caller = ?1 AND number <= ?2 AND \(isNotForgotten) ORDER BY number DESC LIMIT ?3)
        UNION ALL
        SELECT * FROM (
            SELECT \(RowReader.callColumns) FROM call
            WHERE callee = ?1 AND caller <> ?1 AND number <= ?2 AND \(isNotForgotten) ORDER BY number DESC LIMIT ?3)
        ORDER BY number DESC LIMIT ?3
        """
    )

    private static let named = SQL(
        "calls of a name",
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE id = ?1 AND (?2 IS NULL OR caller = ?2 OR callee = ?2) AND (?3 IS NULL OR caller = ?3 OR callee = ?3)
            AND (?4 IS NULL OR epoch = ?4) AND \(isNotForgotten)
        ORDER BY number DESC LIMIT ?5
        """
    )

    private static let events = SQL(
        "events",
        "SELECT \(RowReader.eventColumns) FROM event WHERE call = ?1 ORDER BY position"
    )

    /// Calls whose deletion has begun are not read.
    private static let calls = SQL(
        "calls with log",
        "SELECT \(RowReader.callColumns) FROM call WHERE log_kept = 1 AND \(isNotForgotten) ORDER BY number"
    )

    private static let entries = SQL(
        "entries",
        "SELECT \(RowReader.entryColumns) FROM entry WHERE call = ?1 ORDER BY seq"
    )

    private static let lastNumber = SQL(
        "last call number",
        """
        SELECT max((SELECT value FROM meta WHERE name = 'last_call_number'), coalesce((SELECT max(number) FROM call), 0)),
            (SELECT value FROM meta WHERE name = 'crashes'),
            (SELECT started_at FROM call ORDER BY number DESC LIMIT 1)
        """
    )

    /// A UUID (36 characters) is not used again once its call is forgotten, so its epoch is of no use.
    private static let epochs = SQL(
        "epochs",
        "SELECT id, caller, callee, max(epoch) FROM call WHERE length(id) <> 36 GROUP BY id, caller, callee"
    )

    /// All that lives on.
    func state() throws(StoreFailure) -> StoredState {
        try reading { () throws -> StoredState in
            var state = StoredState()
            let calls = try connection.statement(Self.calls)
            let entries = try connection.statement(Self.entries)
            while try calls.step() {
                var call = StoredCall(record: try RowReader.call(calls), entries: [])
                try entries.bind(call.record.number.rawValue, at: 1)
                while try entries.step() { call.entries.append(try RowReader.entry(entries)) }
                state.calls.append(call)
            }
            let devices = try connection.statement(
                SQL("devices", "SELECT \(RowReader.deviceColumns) FROM device ORDER BY user, id")
            )
            while try devices.step() { state.devices.append(try RowReader.device(devices)) }
            let blocks = try connection.statement(
                SQL("blocks", "SELECT by, blocked, at FROM block ORDER BY by, blocked")
            )
            while try blocks.step() {
                guard let by = UserID(blocks.text(0)), let blocked = UserID(blocks.text(1)) else {
                    throw RowReader.Unreadable(row: "block of \(blocks.text(1)) by \(blocks.text(0))")
                }
                state.blocks.append(BlockRecord(by: by, blocked: blocked, at: blocks.moment(2)))
            }
            let quiet = try connection.statement(SQL("do not disturb", "SELECT user, until FROM do_not_disturb"))
            while try quiet.step() {
                guard let user = UserID(quiet.text(0)) else {
                    throw RowReader.Unreadable(row: "do-not-disturb of \(quiet.text(0))")
                }
                state.doNotDisturb[user] = quiet.moment(1)
            }
            let revocations = try connection.statement(SQL("revocations", "SELECT user, before FROM revocation"))
            while try revocations.step() {
                guard let user = UserID(revocations.text(0)) else {
                    throw RowReader.Unreadable(row: "revocation of \(revocations.text(0))")
                }
                state.revocations[user] = revocations.moment(1)
            }
            let epochs = try connection.statement(Self.epochs)
            while try epochs.step() {
                guard let id = CallID(epochs.text(0)), let caller = UserID(epochs.text(1)),
                    let callee = UserID(epochs.text(2)), let epoch = UInt32(exactly: epochs.int64(3))
                else { throw RowReader.Unreadable(row: "epoch of \(epochs.text(0))") }
                let key = CallKey(id: id, pair: Pair(caller, callee))
                state.epochs[key] = max(state.epochs[key] ?? 0, epoch)
            }
            let numbers = try connection.statement(Self.lastNumber)
            if try numbers.step() {
                state.lastCallNumber = numbers.int64(0)
                state.crashes = Int(numbers.int64(1))
                state.lastCallAt = numbers.optionalMoment(2)
            }
            numbers.reset()
            return state
        }
    }
}
