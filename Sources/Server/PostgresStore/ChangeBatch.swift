import CallCore
import CallPorts
import Postgres
import Storing

/// Turns the changes of many commits into few statements.
///
/// Most changes are calls, entries and events. One statement for each of these tables writes the rows collected so far.
/// If a further change must take effect after a collected one, the batch first adds the statements for what it has
/// collected, and then collects anew. The statements of all other changes are added at once; no collected change
/// depends on them.
struct ChangeBatch {
    private(set) var steps: [Connection.Step] = []
    /// Whether a change asked for the deletion of old history.
    private(set) var asksToForget = false

    private var calls = CallRows()
    private var entries = EntryRows()
    private var events = EventRows()
    private var forgottenLogs: [CallNumber] = []

    /// Appends a change.
    mutating func append(_ change: Change) {
        switch change {
        case .call(let call):
            if forgottenLogs.contains(call.number) { flush() }
            calls.append(call)
        case .entry(let call, let entry):
            if forgottenLogs.contains(call) { flush() }
            // PostgreSQL refuses a statement that writes the same row twice.
            if !entries.append(entry, of: call) {
                flush()
                _ = entries.append(entry, of: call)
            }
        case .event(let call, let event): events.append(event, of: call)
        case .logForgotten(let call): forgottenLogs.append(call)
        case .historyForgotten(let moment):
            asksToForget = true
            add(Self.beginForgetting) { $0.add(moment.milliseconds) }
        case .uncleanStartsForgotten: steps.append(Connection.Step(Self.forgetUncleanStarts))
        case .device(let device): add(Self.upsertDevice) { $0.add(device) }
        case .deviceRemoved(let user, let device):
            add(Self.removeDevice) {
                $0.add(user.text)
                $0.add(device.text)
            }
        case .blocked(let user, let by, let at):
            add(Self.block) {
                $0.add(by.text)
                $0.add(user.text)
                $0.add(at.milliseconds)
            }
        case .unblocked(let user, let by):
            add(Self.unblock) {
                $0.add(by.text)
                $0.add(user.text)
            }
        case .doNotDisturb(let user, .some(let until)):
            add(Self.doNotDisturb) {
                $0.add(user.text)
                $0.add(until.milliseconds)
            }
        case .doNotDisturb(let user, .none): add(Self.disturb) { $0.add(user.text) }
        case .schedule(let schedule): add(Self.upsertSchedule) { $0.add(schedule) }
        case .scheduleRemoved(let user, let id):
            add(Self.removeSchedule) {
                $0.add(user.text)
                $0.add(id.text)
            }
        case .revoked(let user, let moment):
            add(Self.revoke) {
                $0.add(user.text)
                $0.add(moment.milliseconds)
            }
        case .numbers(let change): steps += change.steps
        case .removalsForgotten(let moment): add(NumberChange.forgetRemovals) { $0.add(moment.milliseconds) }
        }
    }

    /// Returns the statements of all changes that were appended, in the order in which they must run.
    mutating func finish() -> [Connection.Step] {
        flush()
        return steps
    }

    /// Adds the statements of the collected changes: first those that write rows, and then those that delete logs.
    private mutating func flush() {
        if let step = calls.take() { steps.append(step) }
        if let step = entries.take() { steps.append(step) }
        if let step = events.take() { steps.append(step) }
        guard !forgottenLogs.isEmpty else { return }
        var numbers = Column<Int64>()
        for number in forgottenLogs { numbers.append(number.rawValue) }
        forgottenLogs = []
        for sql in [Self.forgetEntries, Self.forgetLogs] { add(sql) { $0.add(numbers) } }
    }

    private mutating func add(_ sql: SQL, _ body: (inout Parameters) -> Void) {
        var parameters = Parameters()
        body(&parameters)
        steps.append(Connection.Step(sql, parameters))
    }
}

extension ChangeBatch {
    /// The counter becomes 1 and not 0: the current run counts as unclean until the store is closed.
    private static let forgetUncleanStarts = SQL(
        "forget unclean starts",
        "UPDATE meta SET value = 1 WHERE name = 'crashes'"
    )

    private static let removeDevice = SQL("remove device", #"DELETE FROM device WHERE "user" = $1 AND id = $2"#)
    private static let block = SQL(
        "block",
        "INSERT INTO block (by, blocked, at) VALUES ($1, $2, $3) ON CONFLICT (by, blocked) DO UPDATE SET at = $3"
    )
    private static let unblock = SQL("unblock", "DELETE FROM block WHERE by = $1 AND blocked = $2")
    private static let disturb = SQL("disturb", #"DELETE FROM do_not_disturb WHERE "user" = $1"#)
    private static let doNotDisturb = SQL(
        "do not disturb",
        #"""
        INSERT INTO do_not_disturb ("user", until) VALUES ($1, $2) ON CONFLICT ("user") DO UPDATE SET until = $2
        """#
    )
    private static let revoke = SQL(
        "revoke",
        #"INSERT INTO revocation ("user", before) VALUES ($1, $2) ON CONFLICT ("user") DO UPDATE SET before = $2"#
    )
    private static let forgetEntries = SQL("forget entries", "DELETE FROM entry WHERE call = ANY ($1)")
    private static let forgetLogs = SQL("forget logs", "UPDATE call SET log_kept = false WHERE number = ANY ($1)")
    private static let beginForgetting = SQL(
        "begin forgetting",
        """
        INSERT INTO meta (name, value) VALUES ('forgetting_before', $1)
        ON CONFLICT (name) DO UPDATE SET value = greatest(meta.value, $1)
        """
    )

    private static let upsertDevice = upsert("device", RowReader.deviceColumns)

    /// Returns the statement that writes a row of a table whose key is `"user", id`, its first two columns.
    static func upsert(_ table: String, _ columnNames: String) -> SQL {
        let columns = columnNames.split(separator: ",").map { $0.drop { $0 == " " } }
        let values = (1...columns.count).map { "$\($0)" }.joined(separator: ", ")
        let updates = columns.dropFirst(2).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        return SQL(
            "write \(table)",
            """
            INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(values))
            ON CONFLICT ("user", id) DO UPDATE SET \(updates)
            """
        )
    }
}

extension Parameters {
    /// Adds the values of `RowReader.deviceColumns`.
    fileprivate mutating func add(_ device: DeviceRecord) {
        add(device.user.text)
        add(device.id.text)
        add(device.isNamed)
        add(bytesOf: device.platform)
        add(bytesOf: device.bundleID)
        add(bytesOf: device.voipToken)
        add(device.voipTokenAt?.milliseconds)
        add(bytesOf: device.alertToken)
        add(device.alertTokenAt?.milliseconds)
        add(bytesOf: device.fcmToken)
        add(device.environment?.rawValue)
        add(device.workingEnvironment?.rawValue)
        add(device.createdAt.milliseconds)
        add(device.seenAt.milliseconds)
        add(Int64(device.unansweredPushes))
        add(device.lastPush?.at.milliseconds)
        add(device.lastPush.map { Int64($0.status) })
        add(bytesOf: device.lastPush?.reason)
        add(device.lastPush?.environment?.rawValue)
        add(bytesOf: device.lastPush?.hint)
        add(device.fcmTokenAt?.milliseconds)
        add(bytesOf: device.webPush?.endpoint)
        add(bytesOf: device.webPush?.p256dh)
        add(bytesOf: device.webPush?.auth)
        add(device.webPushAt?.milliseconds)
        add(bytesOf: device.sound)
        add(bytesOf: device.payloadKeys)
        add(device.installation)
    }
}
