import CallCore
package import CallPorts

/// The stored data, and the rules by which changes alter it; the simulator has it as its database.
package struct Tables {
    /// A call and everything that is stored for it.
    struct Row {
        /// The record of the call; `nil` while only entries or events of the call were stored.
        var call: CallRecord?
        /// The log of the call, in `seq` order.
        var entries: [EntryRecord] = []
        var events: [TimelineRecord] = []
        var keepsLog = true
    }

    private(set) var rows: [CallNumber: Row] = [:]
    /// The numbers of the calls with each callId, oldest first.
    private(set) var numbersByID: [CallID: [CallNumber]] = [:]
    /// The numbers of each user's calls, oldest first.
    private(set) var numbersByUser: [UserID: [CallNumber]] = [:]
    private var devices: [DeviceKey: DeviceRecord] = [:]
    private var blocks: [BlockKey: Moment] = [:]
    private var schedules: [ScheduleKey: ScheduleRecord] = [:]
    private var doNotDisturb: [UserID: Moment] = [:]
    private var revocations: [UserID: Moment] = [:]
    var numbers = NumberTables()
    var appEvents = AppEventTables()
    private var lastCallNumber: Int64 = 0
    /// The number of times that the store was opened and not closed cleanly, since the count was last reset; an open
    /// store counts until it is closed.
    package var uncleanStarts = 0

    /// Creates empty tables.
    package init() {}

    private struct DeviceKey: Hashable {
        let user: UserID
        let id: DeviceID
    }

    private struct ScheduleKey: Hashable {
        let user: UserID
        let id: ScheduleID
    }

    private struct BlockKey: Hashable {
        let by: UserID
        let blocked: UserID
    }

    /// Stores a change.
    package mutating func keep(_ change: Change) {
        switch change {
        case .call(let call): keep(call)
        case .entry(let call, let entry): rows[call, default: Row()].insert(entry)
        case .event(let call, let event): rows[call, default: Row()].events.append(event)
        case .logForgotten(let call):
            rows[call]?.entries = []
            rows[call]?.keepsLog = false
        case .historyForgotten(let moment): forget(before: moment)
        case .uncleanStartsForgotten: uncleanStarts = 1
        case .device(let device): devices[DeviceKey(user: device.user, id: device.id)] = device
        case .deviceRemoved(let user, let id): devices[DeviceKey(user: user, id: id)] = nil
        case .blocked(let user, let by, let at): blocks[BlockKey(by: by, blocked: user)] = at
        case .unblocked(let user, let by): blocks[BlockKey(by: by, blocked: user)] = nil
        case .doNotDisturb(let user, let until): doNotDisturb[user] = until
        case .schedule(let record): schedules[ScheduleKey(user: record.user, id: record.id)] = record
        case .scheduleRemoved(let user, let id): schedules[ScheduleKey(user: user, id: id)] = nil
        case .revoked(let user, let moment): revocations[user] = moment
        case .numbers(let change): numbers.keep(change)
        case .removalsForgotten(let moment): numbers.forgetRemovals(before: moment)
        case .appEvent(let event): appEvents.keep(event)
        case .eventEndpoint(let endpoint): appEvents.keep(endpoint)
        case .eventEndpointRemoved(let url): appEvents.remove(url)
        case .eventHeld(let held): appEvents.hold(held)
        case .eventReleased(let url, let position): appEvents.release(url, position)
        case .eventsForgotten(let position, let keepsHeld): appEvents.forget(upTo: position, keepsHeld: keepsHeld)
        }
    }

    private mutating func keep(_ call: CallRecord) {
        let earlier = rows.updateCall(call)
        // Only the first record of a call, or one with another callId or other users, changes the indexes.
        if let earlier, earlier.id == call.id, earlier.caller == call.caller, earlier.callee == call.callee { return }
        if let earlier { unlist(earlier) }
        lastCallNumber = max(lastCallNumber, call.number.rawValue)
        numbersByID[call.id, default: []].insert(call.number)
        // No user makes a scheduled call; its caller is a display name.
        for user in Set([call.scheduled == nil ? call.caller : call.callee, call.callee]) {
            numbersByUser[user, default: []].insert(call.number)
        }
    }

    private mutating func unlist(_ call: CallRecord) {
        numbersByID.remove(call.number, of: call.id)
        numbersByUser.remove(call.number, of: call.caller)
        numbersByUser.remove(call.number, of: call.callee)
    }

    private mutating func forget(before moment: Moment) {
        for (number, row) in rows {
            guard let call = row.call, let endedAt = call.endedAt, endedAt < moment else { continue }
            rows[number] = nil
            unlist(call)
        }
    }

    /// The calls with a stored log, with that log, in the order of their numbers.
    package var calls: [StoredCall] {
        rows.sorted { $0.key < $1.key }.compactMap { _, row in
            guard row.keepsLog, let call = row.call else { return nil }
            return StoredCall(record: call, entries: row.entries)
        }
    }

    /// The data that the next start reads.
    package var state: StoredState {
        var state = StoredState()
        for call in calls { state.append(call) }
        state.devices = devices.values.sorted { ($0.user.text, $0.id.text) < ($1.user.text, $1.id.text) }
        state.blocks = blocks.map { BlockRecord(by: $0.by, blocked: $0.blocked, at: $1) }
            .sorted { ($0.by.text, $0.blocked.text) < ($1.by.text, $1.blocked.text) }
        state.schedules = schedules.values.sorted { ($0.user.text, $0.id) < ($1.user.text, $1.id) }
        state.doNotDisturb = doNotDisturb
        state.revocations = revocations
        state.numbers = numbers.stored
        state.events = appEvents.stored
        state.lastCallNumber = lastCallNumber
        state.lastCallAt = rows.values.compactMap(\.call).max { $0.number.rawValue < $1.number.rawValue }?.startedAt
        state.uncleanStarts = uncleanStarts
        return state
    }
}

extension Tables.Row {
    /// Inserts an entry in `seq` order; it replaces a stored entry with the same `seq`.
    ///
    /// A new entry usually goes to the end.
    mutating func insert(_ entry: EntryRecord) {
        guard let last = entries.last, last.seq >= entry.seq else {
            entries.append(entry)
            return
        }
        let place = entries.firstIndex { $0.seq >= entry.seq } ?? entries.endIndex
        if entries[place].seq == entry.seq {
            entries[place] = entry
        } else {
            entries.insert(entry, at: place)
        }
    }
}

extension [CallNumber: Tables.Row] {
    /// Stores the record of a call and returns the record that it replaces.
    fileprivate mutating func updateCall(_ call: CallRecord) -> CallRecord? {
        let earlier = self[call.number]?.call
        self[call.number, default: Tables.Row()].call = call
        return earlier
    }
}

extension [CallNumber] {
    /// Inserts a number in ascending order.
    ///
    /// Numbers increase, so a new one usually goes to the end.
    fileprivate mutating func insert(_ number: CallNumber) {
        let after = lastIndex { $0.rawValue < number.rawValue }.map { $0 + 1 } ?? 0
        insert(number, at: after)
    }
}

extension Dictionary where Value == [CallNumber] {
    fileprivate mutating func remove(_ number: CallNumber, of key: Key) {
        self[key]?.removeAll { $0 == number }
        if self[key]?.isEmpty == true { self[key] = nil }
    }
}
