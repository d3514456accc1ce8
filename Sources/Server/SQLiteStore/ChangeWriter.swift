import CallCore
import CallPorts
import SQLite
import Storing

/// Writes changes into the tables, with statements that are compiled once.
///
/// The code that uses a writer begins and commits the transaction.
struct ChangeWriter {
    let connection: Connection

    private let insertEntry: Statement
    private let insertEvent: Statement
    private let upsertCall: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        insertEntry = try connection.statement(Self.insertEntry)
        insertEvent = try connection.statement(Self.insertEvent)
        upsertCall = try connection.statement(Self.upsertCall)
    }

    /// Writes one change.
    func write(_ change: Change) throws(SQLiteError) {
        switch change {
        case .call(let call): try write(call)
        case .entry(let call, let entry): try write(entry, of: call)
        case .event(let call, let event): try write(event, of: call)
        case .logForgotten(let call): try forgetLog(of: call)
        case .numbers(let change): try write(change)
        case .removalsForgotten(let moment): try forgetRemovals(before: moment)
        case .appEvent(let event): try write(event)
        default:
            if let steps = Connection.statements.appEvents.steps(for: change) {
                for step in steps { try connection.statement(step.text, step.values).run() }
                return
            }
            guard let (sql, values) = Connection.statements.cold.statement(for: change) else { return }
            try connection.statement(sql, values).run()
        }
    }

    private func write(_ call: CallRecord) throws(SQLiteError) {
        let statement = upsertCall
        try statement.bind(call.number.rawValue, at: 1)
        try statement.bind(call.id.storedText, at: 2)
        try statement.bind(Int64(call.epoch), at: 3)
        try statement.bind(call.room, at: 4)
        try statement.bind(call.caller.text, at: 5)
        try statement.bind(call.callee.text, at: 6)
        try statement.bind(call.displayName, at: 7)
        try statement.bind(call.hasVideo ? 1 : 0 as Int64, at: 8)
        try statement.bind(call.startedAt.milliseconds, at: 9)
        try statement.bind(call.ringUntil.milliseconds, at: 10)
        try statement.bind(call.answeredAt?.milliseconds, at: 11)
        try statement.bind(call.activeAt?.milliseconds, at: 12)
        try statement.bind(call.endedAt?.milliseconds, at: 13)
        try statement.bind(call.reason?.rawValue, at: 14)
        try statement.bind(call.replacedBy?.text, at: 15)
        try statement.bind(call.hidden?.rawValue, at: 16)
        try statement.bind(LegText.encode(call.legs), at: 17)
        try statement.bind(call.stateText, at: 18)
        try statement.bind(call.scheduled?.schedule.text, at: 19)
        try statement.run()
    }

    private func write(_ entry: EntryRecord, of call: CallNumber) throws(SQLiteError) {
        let statement = insertEntry
        try statement.bind(call.rawValue, at: 1)
        let columns = EntryColumns(entry.entry)
        try statement.bind(Int64(bitPattern: entry.seq), at: 2)
        try statement.bind(entry.entry.at.milliseconds, at: 3)
        try statement.bind(columns.kind, at: 4)
        if let sender = columns.sender {
            try statement.bind(sender.id.text, at: 5)
            try statement.bind(Int64(bitPattern: sender.fingerprint.rawValue), at: 6)
        } else {
            try statement.bindNull(at: 5)
            try statement.bindNull(at: 6)
        }
        try statement.bind(columns.audience, at: 7)
        try statement.bind(columns.signalID, at: 8)
        try statement.bind(Int64(bitPattern: columns.digest), at: 9)
        try statement.run(borrowing: entry.object, at: 10)
    }

    private func write(_ event: TimelineRecord, of call: CallNumber) throws(SQLiteError) {
        try insertEvent.bind(call.rawValue, at: 1)
        try insertEvent.bind(event.at.milliseconds, at: 2)
        try insertEvent.bind(event.event.name, at: 3)
        try insertEvent.bind(event.event.details, at: 4)
        try insertEvent.run()
    }

    private func forgetLog(of call: CallNumber) throws(SQLiteError) {
        for sql in [Self.forgetEntries, Self.forgetLog] {
            let statement = try connection.statement(sql)
            try statement.bind(call.rawValue, at: 1)
            try statement.run()
        }
    }
}

extension ChangeWriter {
    private static let insertEntry = SQL(
        "insert entry",
        """
        INSERT OR REPLACE INTO entry (call, seq, at, kind, device, mark, audience, signal_id, digest, object)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        """
    )

    private static let insertEvent = SQL(
        "insert event",
        "INSERT INTO event (call, at, event, details) VALUES (?1, ?2, ?3, ?4)"
    )

    /// Writes a call's record, but not `log_kept`, because a call whose log was forgotten may still change.
    private static let upsertCall = SQL(
        "write call",
        """
        INSERT INTO call (number, id, epoch, room, caller, callee, display_name, has_video, started_at, ring_until,
            answered_at, active_at, ended_at, reason, replaced_by, hidden, legs, state, schedule)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
        ON CONFLICT (number) DO UPDATE SET
            id = ?2, epoch = ?3, room = ?4, caller = ?5, callee = ?6, display_name = ?7, has_video = ?8,
            started_at = ?9, ring_until = ?10, answered_at = ?11, active_at = ?12, ended_at = ?13, reason = ?14,
            replaced_by = ?15, hidden = ?16, legs = ?17, state = ?18, schedule = ?19
        """
    )

    private static let forgetEntries = SQL("forget entries", "DELETE FROM entry WHERE call = ?1")
    private static let forgetLog = SQL("forget log", "UPDATE call SET log_kept = 0 WHERE number = ?1")
}
