import CallCore
import CallPorts
import Postgres
import Storing

/// Turns the changes of many commits into few statements.
///
/// Most changes are calls, entries and events. One statement for each of these tables writes the rows collected so far.
/// If a further change must take effect after a collected one, the batch first adds the statements for what it has
/// collected, and starts an empty collection. The statements of all other changes are added at once; no collected
/// change depends on them.
struct ChangeBatch {
    private(set) var steps: [Connection.Step] = []
    /// Whether a change asked for the deletion of old history.
    private(set) var asksToForget = false

    private var calls = CallRows()
    private var entries = EntryRows()
    private var events = EventRows()
    private var appEvents = AppEventRows()
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
        case .numbers(let change): steps += change.steps
        case .removalsForgotten(let moment): add(NumberChange.forgetRemovals) { $0.add(moment.milliseconds) }
        case .appEvent(let event): appEvents.append(event)
        case .eventEndpoint, .eventEndpointRemoved, .eventHeld, .eventReleased, .eventsForgotten:
            appendSteps(of: change)
        default:
            if case .historyForgotten = change { asksToForget = true }
            guard let (sql, values) = Connection.statements.cold.statement(for: change) else { return }
            steps.append(Connection.Step(sql, values))
        }
    }

    /// Appends the statements of a change of what is stored beside the events for the app's backend.
    private mutating func appendSteps(of change: Change) {
        if case .eventsForgotten = change {
            // Events of this batch may be among those to be deleted, and the newest one never is.
            flush()
            steps.append(Connection.Step(Connection.useIndexes))
        }
        for (sql, values) in Connection.statements.appEvents.steps(for: change) ?? [] {
            steps.append(Connection.Step(sql, values))
        }
    }

    /// Returns the statements of all changes that were appended, in the order in which they must run.
    mutating func finish() -> [Connection.Step] {
        flush()
        return steps
    }

    /// Adds the statements of the collected changes: first those that write rows, and then those that delete logs.
    private mutating func flush() {
        if let step = calls.makeStep() { steps.append(step) }
        if let step = entries.makeStep() { steps.append(step) }
        if let step = events.makeStep() { steps.append(step) }
        if let step = appEvents.makeStep() { steps.append(step) }
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
    private static let forgetEntries = SQL("forget entries", "DELETE FROM entry WHERE call = ANY ($1)")
    private static let forgetLogs = SQL("forget logs", "UPDATE call SET log_kept = false WHERE number = ANY ($1)")
}
