package import CallCore
import CallPorts

/// Finds, at each opening, the impossible values that cannot just be ignored when they are read.
///
/// SQL itself computes with them: with the counters, and with the end of a call, from which the time of its deletion
/// follows. Impossible times of revocations are repaired as well, because the nearest valid time, with which they would
/// be read, might revoke nothing. Calls with an impossible number are only recorded.
///
/// Damaged calls are found by an index, so that an undamaged database costs almost nothing. Only the small tables of
/// counters and revocations are read as a whole.
package struct Repair<Session: SQLSession> {
    private let session: Session
    private let damages: DamageLog
    private let now: Moment

    /// A search on a connection at a moment, which replaces moments that cannot be known.
    package init(_ session: Session, damages: DamageLog, now: Moment) {
        let range = StorableRange.moments
        self.session = session
        self.damages = damages
        self.now = Moment(milliseconds: min(max(now.milliseconds, range.lowerBound), range.upperBound))
    }

    /// Records the values, and changes nothing.
    /// - Returns: The statements that repair them.
    package func find() throws(Session.Failure) -> [SQLStep] {
        var steps = try findCounters()
        let moments = StorableRange.moments
        let (low, high) = (moments.lowerBound, moments.upperBound)
        if try find("call", "ended_at", outside: moments, named: "number", .replaced) {
            // With an impossible end, a call would be forgotten immediately, or never.
            let text = """
                UPDATE call SET ended_at = CASE WHEN started_at BETWEEN \(low) AND \(high) THEN started_at ELSE $1 END
                WHERE ended_at IS NOT NULL AND (ended_at < \(low) OR ended_at > \(high))
                """
            steps.append((statement("mend endings", text), [.integer(now.milliseconds)]))
        }
        if try find("revocation", "before", outside: moments, named: "\"user\"", .replaced) {
            // The right time is unknown, so all tokens of the user that were issued up to now are refused.
            let text = "UPDATE revocation SET before = $1 WHERE before NOT BETWEEN \(low) AND \(high)"
            steps.append((statement("mend revocations", text), [.integer(now.milliseconds)]))
        }
        // These rows stay in the database, but no call record is created from them.
        _ = try find("call", "number", outside: StorableRange.numbers, named: "number", .leftOut)
        _ = try find("app_event", "position", outside: StorableRange.numbers, named: "position", .leftOut)
        return steps + (try findEventSum())
    }

    private func findCounters() throws(Session.Failure) -> [SQLStep] {
        var counters: [(name: String, value: Int64)] = []
        try session.read(statement("read counters", "SELECT name, value FROM meta"), []) {
            counters.append(($0.text(0), $0.int64(1)))
        }
        var steps: [SQLStep] = []
        for (name, value) in counters {
            let counts = StorableRange.counts
            let isPossible = (0...StorableRange.numbers.upperBound).contains(value)
            switch name {
            case "crashes" where !counts.contains(value):
                let bound = SQLValue.integer(value < 0 ? counts.lowerBound : counts.upperBound)
                steps.append((statement("mend crashes", "UPDATE meta SET value = $1 WHERE name = 'crashes'"), [bound]))
            case "last_call_number" where !isPossible:
                // This counter is only for deleted calls; the stored calls contain their own numbers.
                let text = "UPDATE meta SET value = 0 WHERE name = 'last_call_number'"
                steps.append((statement("mend counter", text), []))
            case "forgetting_before" where !StorableRange.moments.contains(value):
                // With a damaged value, the whole history might be deleted.
                steps.append((statement("mend forgetting", "DELETE FROM meta WHERE name = 'forgetting_before'"), []))
            case "directory_version" where !isPossible, "directory_oldest" where !isPossible,
                "directory_numbers" where !isPossible:
                steps.append((mendDirectory, []))
            case "event_incarnation" where !(1...Int64(UInt32.max)).contains(value):
                // The right one is unknown, so a new one begins, as after a restoration.
                let text = "UPDATE meta SET value = $1 WHERE name = 'event_incarnation'"
                let incarnation = EventIncarnation.first.next(at: now)
                steps.append((statement("mend incarnation", text), [.integer(Int64(incarnation.rawValue))]))
            case "events_thinned" where !isPossible:
                // The next search for events that can be deleted begins with the oldest one.
                steps.append((statement("mend thinning", "DELETE FROM meta WHERE name = 'events_thinned'"), []))
            case "event_bytes_deleted" where !isPossible: break  // its remedy is that of the sum of all events
            default: continue
            }
            damages.record(DamagedValue(table: "meta", column: "value", row: name, remedy: .replaced))
        }
        return steps
    }

    /// Finds an impossible sum of the bytes of all events, with which the bound on bytes might delete all of them.
    private func findEventSum() throws(Session.Failure) -> [SQLStep] {
        var steps: [SQLStep] = []
        try session.read(Session.statements.appEvents.bounds.sums, []) {
            let (total, deleted) = ($0.int64(1), $0.int64(2))
            let isPossible = 0...StorableRange.numbers.upperBound ~= total
            if isPossible, (0...total).contains(deleted) { return }
            if !isPossible {
                damages.record(DamagedValue(table: "app_event", column: "total", row: $0.text(0), remedy: .replaced))
            }
            let text = "DELETE FROM meta WHERE name = 'event_bytes_deleted'"
            steps = [(Session.statements.appEvents.bounds.mendTotal, []), (statement("mend deleted bytes", text), [])]
        }
        return steps
    }

    /// Recounts the call directory's numbers and versions; every client then reads its list from the beginning.
    private var mendDirectory: SQLText {
        let newest = """
            1 + (SELECT coalesce(max(version), 0) FROM directory
                WHERE version BETWEEN 0 AND \(StorableRange.numbers.upperBound - 1))
            """
        return statement(
            "mend the directory",
            """
            INSERT INTO meta (name, value) VALUES ('directory_version', \(newest)), ('directory_oldest', \(newest)),
                ('directory_numbers',
                    (SELECT count(*) FROM directory WHERE owner = '' AND list = 0 AND removed_at IS NULL))
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """
        )
    }

    /// Records the rows whose column is outside a range; `name` is the column that names a row.
    /// - Returns: Whether there are any.
    private func find(
        _ table: String,
        _ column: String,
        outside range: ClosedRange<Int64>,
        named name: String,
        _ remedy: DamagedValue.Remedy
    ) throws(Session.Failure) -> Bool {
        var found = false
        for condition in ["< \(range.lowerBound)", "> \(range.upperBound)"] {
            let text = """
                SELECT \(name) FROM \(table) WHERE \(column) IS NOT NULL AND \(column) \(condition) ORDER BY \(column)
                """
            try session.read(statement("damaged \(table).\(column) \(condition)", text), []) {
                damages.record(DamagedValue(table: table, column: column, row: $0.text(0), remedy: remedy))
                found = true
            }
        }
        return found
    }

    private func statement(_ name: String, _ text: String) -> SQLText {
        Session.statements.dialect.statement(name, text)
    }
}
