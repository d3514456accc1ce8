import CallCore
import CallPorts
import MemoryStore

@testable import Switchboard

/// The contents of a fake store, as far as these tests need them.
struct Kept {
    private var initial = StoredState()
    private var calls: [CallNumber: StoredCall] = [:]
    private var devices: [DeviceRecord] = []
    private var blocks: [BlockRecord] = []
    private(set) var schedules: [ScheduleRecord] = []
    private var doNotDisturb: [UserID: Moment] = [:]
    private var revocations: [UserID: Moment] = [:]
    var numbers = KeptNumbers()
    /// The events for the app's backend, and the calls that they are about.
    private var tables = Tables()
    private(set) var hasForgottenUncleanStarts = false
    private var forgotten: Set<CallNumber> = []
    private var events: [CallNumber: [TimelineRecord]] = [:]

    /// The contents that a start has read as `state`; `earlier` has the calls of which a start does not read everything.
    init(_ state: StoredState = StoredState(), after earlier: Kept? = nil) {
        initial = state
        calls = (earlier?.calls ?? [:]).filter { $0.key.rawValue <= state.lastCallNumber }
        for call in state.calls { calls[call.record.number] = call }
        let withLog = state.calls.map(\.record.number) + state.ended.map(\.identity.number)
        forgotten = Set(calls.keys).subtracting(withLog)
        devices = state.devices
        blocks = state.blocks
        schedules = state.schedules
        doNotDisturb = state.doNotDisturb
        revocations = state.revocations
        numbers.state = state.numbers.state
        tables = earlier?.tables ?? Tables()
    }

    mutating func apply(_ batch: [Change]) {
        for change in batch {
            tables.keep(change)
            switch change {
            case .call(let record):
                if calls[record.number] == nil { calls[record.number] = StoredCall(record: record, entries: []) }
                calls[record.number]?.record = record
            case .entry(let number, let entry): calls[number]?.entries.append(entry)
            case .event(let number, let event): events[number, default: []].append(event)
            case .logForgotten(let number): forgotten.insert(number)
            case .historyForgotten: break
            case .uncleanStartsForgotten: hasForgottenUncleanStarts = true
            case .device(let device):
                devices.removeAll { $0.user == device.user && $0.id == device.id }
                devices.append(device)
            case .deviceRemoved(let user, let id): devices.removeAll { $0.user == user && $0.id == id }
            case .blocked(let user, let by, let at): blocks.append(BlockRecord(by: by, blocked: user, at: at))
            case .unblocked(let user, let by): blocks.removeAll { $0.by == by && $0.blocked == user }
            case .doNotDisturb(let user, let until): doNotDisturb[user] = until
            case .schedule(let record):
                schedules.removeAll { $0.user == record.user && $0.id == record.id }
                schedules.append(record)
            case .scheduleRemoved(let user, let id): schedules.removeAll { $0.user == user && $0.id == id }
            case .revoked(let user, let moment): revocations[user] = moment
            case .numbers(let change): numbers.apply(change)
            case .removalsForgotten(let moment): numbers.forgottenBefore = moment
            case .appEvent, .eventEndpoint, .eventEndpointRemoved, .eventHeld, .eventReleased, .eventsForgotten: break
            }
        }
    }

    func state(uncleanStarts: Int) -> StoredState {
        var state = StoredState()
        for call in calls.values.sorted(by: { $0.record.number < $1.record.number })
        where !forgotten.contains(call.record.number) { state.append(call) }
        state.devices = devices
        state.blocks = blocks
        state.schedules = schedules
        state.doNotDisturb = doNotDisturb
        state.revocations = revocations
        state.numbers = numbers.stored
        state.events = tables.state.events
        state.lastCallNumber = max(initial.lastCallNumber, calls.keys.map(\.rawValue).max() ?? 0)
        state.uncleanStarts = uncleanStarts
        return state
    }

    func run(_ query: StoreQuery) -> StoreResult {
        let all = calls.values.map(\.record).sorted { $1.number < $0.number }
        switch query {
        case .history(let user, let limit, let before):
            let own = all.filter { call in
                let isWanted = user.map { call.belongs(to: $0) } ?? (call.hidden != .refusedOffer)
                return isWanted && before.map(call.number.isBelow) ?? true
            }
            return .history(Array(own.prefix(limit)))
        case .peers(let user, let limit):
            let own = all.filter { $0.belongs(to: user) && $0.scheduled == nil }.prefix(limit)
            var found: [UserID] = []
            for peer in own.map({ $0.caller == user ? $0.callee : $0.caller }) where !found.contains(peer) {
                found.append(peer)
            }
            return .peers(found)
        case .timeline(let choice):
            let call = all.first(where: choice.matches)
            return .timeline(call, call.flatMap { events[$0.number] } ?? [])
        case .log(let number): return .log(forgotten.contains(number) ? nil : calls[number])
        case .epoch(let key): return .epoch(all.filter { $0.session.key == key }.map(\.epoch).max())
        case .numbers(let read): return .numbers(numbers.page(read))
        case .events, .heldEvents, .eventExcess: return tables.run(query)
        case .numberChanges(let owner, let rows): return .numberChanges(numbers.compare(rows, owner))
        }
    }
}

extension CallRecord {
    /// Whether the call is in a user's history.
    fileprivate func belongs(to user: UserID) -> Bool {
        hidden != .refusedOffer && (caller == user && scheduled == nil || callee == user)
    }
}

extension CallNumber {
    fileprivate func isBelow(_ other: CallNumber) -> Bool { self < other }
}
