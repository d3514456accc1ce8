import CallCore
package import CallPorts

/// The results of queries, from the data in memory.
extension Tables {
    /// Returns the result of a query.
    package func run(_ query: StoreQuery) -> StoreResult {
        switch query {
        case .history(let user, let limit, let before): .history(history(of: user, limit: limit, before: before))
        case .timeline(let choice): timeline(of: choice)
        case .peers(let user, let limit): .peers(peers(of: user, limit: limit))
        case .log(let number): .log(stored(number))
        case .epoch(let key): .epoch(newestEpoch(of: key))
        case .numbers(let read): .numbers(numbers.page(read))
        case .numberChanges(let owner, let rows): .numberChanges(numbers.compare(rows, owner))
        case .events(let read): .events(appEvents.page(read) { rows[$0]?.call?.id })
        case .heldEvents(let read): .heldEvents(appEvents.held(read))
        case .eventExcess(let bounds): .eventExcess(appEvents.excess(bounds))
        }
    }

    private func history(of user: UserID?, limit: Int, before: CallNumber?) -> [CallRecord] {
        guard limit > 0 else { return [] }
        let numbers = (user.map { numbersByUser[$0] ?? [] } ?? rows.keys.sorted()).reversed().lazy
        return numbers.drop { number in before.map { number.rawValue >= $0.rawValue } ?? false }
            .compactMap { rows[$0]?.call }
            .filter { $0.hidden != .refusedOffer }
            .prefix(limit)
            .map(\.self)
    }

    private func peers(of user: UserID, limit: Int) -> [UserID] {
        var found: [UserID] = []
        var left = (begun: limit, received: limit)
        for call in (numbersByUser[user] ?? []).reversed().lazy.compactMap({ rows[$0]?.call })
        where call.caller != call.callee && call.scheduled == nil && call.hidden != .refusedOffer {
            let isBegun = call.caller == user
            guard (isBegun ? left.begun : left.received) > 0 else { continue }
            if isBegun { left.begun -= 1 } else { left.received -= 1 }
            let peer = isBegun ? call.callee : call.caller
            if !found.contains(peer) { found.append(peer) }
        }
        return found
    }

    private func stored(_ number: CallNumber) -> StoredCall? {
        guard let row = rows[number], row.keepsLog, let call = row.call else { return nil }
        return StoredCall(record: call, entries: row.entries)
    }

    private func newestEpoch(of key: CallKey) -> UInt32? {
        let newest = (numbersByID[key.id] ?? []).last { rows[$0]?.call?.session.key == key }
        return newest.flatMap { rows[$0]?.call?.epoch }
    }

    private func timeline(of choice: CallSelector) -> StoreResult {
        for number in (numbersByID[choice.id] ?? []).reversed() {
            guard let row = rows[number], let call = row.call, choice.matches(call) else { continue }
            return .timeline(call, row.events)
        }
        return .timeline(nil, [])
    }
}
