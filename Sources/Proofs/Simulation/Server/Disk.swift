import CallCore
import CallPorts

/// A store that keeps exactly what was committed, and commits when the world decides.
struct Disk {
    /// The durable calls.
    ///
    /// The properties from here down to `queue` are durable too.
    private var stored: [CallNumber: StoredCall] = [:]
    private var forgotten: Set<CallNumber> = []
    private var order: [CallNumber] = []
    private var devices: [DeviceRecord] = []
    private var blocks: [BlockRecord] = []
    private var doNotDisturbUntil: [UserID: Moment] = [:]
    private var revocations: [UserID: Moment] = [:]
    private var schedules: [ScheduleRecord] = []
    private var lastNumber: Int64 = 0
    private var uncleanStarts = 0
    private var wasClosed = true

    /// The batches that wait to be written.
    private(set) var queue: [(changes: [Change], ticket: Ticket)] = []
    /// How many of these batches are being written.
    private(set) var writing = 0

    /// Opens the durable state, as `CallStore.open(at:)` does.
    mutating func open() -> StoredState {
        if !wasClosed { uncleanStarts += 1 }
        wasClosed = false
        var state = StoredState()
        for call in calls { state.append(call) }
        state.devices = devices
        state.blocks = blocks
        state.doNotDisturb = doNotDisturbUntil
        state.revocations = revocations
        state.schedules = schedules
        state.lastCallNumber = lastNumber
        state.lastCallAt = stored.values.map(\.record.startedAt).max()
        state.uncleanStarts = uncleanStarts
        return state
    }

    /// The durable calls with a stored log, with that log, in the order in which they began.
    var calls: [StoredCall] { order.compactMap { forgotten.contains($0) ? nil : stored[$0] } }

    /// The result of a query that the simulated stores do not answer.
    static let notSimulated = StoreResult.failed(StoreFailure("not simulated"))

    /// Returns the result of a query, with the queued changes applied; `nil` = the query is not simulated.
    func answer(_ query: StoreQuery) -> StoreResult? {
        switch query {
        case .log(let number): .log(log(of: number))
        case .epoch(let key): .epoch(epoch(of: key))
        case .history, .timeline, .peers, .numbers, .numberChanges: nil
        }
    }

    /// Returns the newest epoch of a callId and its two users.
    private func epoch(of key: CallKey) -> UInt32? {
        let queued = queue.flatMap(\.changes).compactMap { if case .call(let record) = $0 { record } else { nil } }
        return (stored.values.map(\.record) + queued).filter { $0.session.key == key }.map(\.epoch).max()
    }

    /// Returns a call with its log, with the queued changes applied.
    private func log(of number: CallNumber) -> StoredCall? {
        var all = self
        for batch in queue { for change in batch.changes { all.keep(change) } }
        return all.forgotten.contains(number) ? nil : all.stored[number]
    }

    mutating func commit(_ changes: [Change], as ticket: Ticket) { queue.append((changes, ticket)) }

    /// Begins to write all queued batches.
    mutating func beginWriting() { writing = queue.count }

    /// The changes of the batches that are being written.
    var changesBeingWritten: [Change] { queue[..<writing].flatMap(\.changes) }

    /// Makes the batches that are being written durable, and returns the ticket of the last one.
    mutating func finishWriting() -> Ticket? {
        guard writing > 0 else { return nil }
        let ticket = queue[writing - 1].ticket
        for batch in queue[..<writing] { for change in batch.changes { keep(change) } }
        queue.removeFirst(writing)
        writing = 0
        return ticket
    }

    /// Loses everything that is not durable.
    ///
    /// The batches that are being written are all kept or all lost.
    mutating func crash(keepingWrites: Bool) {
        if keepingWrites { _ = finishWriting() }
        queue = []
        writing = 0
    }

    /// Writes everything and closes the store cleanly.
    mutating func close() {
        while !queue.isEmpty {
            beginWriting()
            _ = finishWriting()
        }
        wasClosed = true
    }

    /// Makes the changes of a transaction durable.
    mutating func apply(_ changes: [Change]) { for change in changes { keep(change) } }

    private mutating func keep(_ change: Change) {
        switch change {
        case .call(let record):
            if stored[record.number] == nil {
                order.append(record.number)
                stored[record.number] = StoredCall(record: record, entries: [])
            } else {
                stored[record.number]?.record = record
            }
            lastNumber = max(lastNumber, record.number.rawValue)
        case .entry(let number, let entry): stored[number]?.entries.append(entry)
        case .schedule(let record):
            schedules.removeAll { $0.user == record.user && $0.id == record.id }
            schedules.append(record)
        case .scheduleRemoved(let user, let id): schedules.removeAll { $0.user == user && $0.id == id }
        // No simulated user has a call directory.
        case .event, .historyForgotten, .numbers, .removalsForgotten: break
        case .uncleanStartsForgotten: uncleanStarts = 0
        case .logForgotten(let number):
            forgotten.insert(number)
            stored[number]?.entries = []
        case .device(let device):
            if let index = devices.firstIndex(where: { $0.user == device.user && $0.id == device.id }) {
                devices[index] = device
            } else {
                devices.append(device)
            }
        case .deviceRemoved(let user, let id): devices.removeAll { $0.user == user && $0.id == id }
        case .blocked(let blocked, let by, let at):
            blocks.removeAll { $0.by == by && $0.blocked == blocked }
            blocks.append(BlockRecord(by: by, blocked: blocked, at: at))
        case .unblocked(let blocked, let by): blocks.removeAll { $0.by == by && $0.blocked == blocked }
        case .doNotDisturb(let user, let until): doNotDisturbUntil[user] = until
        case .revoked(let user, let moment): revocations[user] = moment
        }
    }
}
