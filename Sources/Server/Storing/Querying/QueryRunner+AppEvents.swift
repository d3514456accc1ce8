import CallCore
import CallPorts

/// Reads events for the app's backend.
extension QueryRunner {
    private var appEvents: AppEventStatements { statements.appEvents }

    /// Returns a page of events.
    func events(_ read: EventRead) throws(Failure) -> EventPage {
        try inSnapshot { oldest, newest throws(Failure) in
            let last = min(read.upTo ?? newest, newest)
            var end: EventPosition?
            guard read.pageSize > 0, read.after < last else {
                return read.page([], endedAt: read.pageSize > 0 ? nil : read.after, oldest: oldest, newest: newest)
            }
            var events: [AppEvent] = []
            var rowCount = 0
            func take(_ row: any StoredRow) {
                rowCount += 1
                end = EventPosition(rawValue: row.int64(0))
                if let event = reader.appEvent(row) { events.append(event) }
            }
            let bounds: [SQLValue] = [.integer(read.after.rawValue), .integer(last.rawValue)]
            let size = SQLValue.integer(Int64(read.pageSize))
            let types = read.types.map { types in "|" + types.map(\.rawValue).joined(separator: "|") + "|" }
            if let id = read.callID {
                let spellings = id.storedSpellings
                let ids = [SQLValue.word(spellings?.lower ?? id.text), .word(spellings?.upper ?? id.text)]
                if let found = try self.events(ofCallsWith: ids, read, upTo: last) {
                    end = found.count == read.pageSize ? found.last?.position : nil
                    return read.page(found, endedAt: end, oldest: oldest, newest: newest)
                }
                try session.read(appEvents.reads.searchedOfID, bounds + [size, .word(types)] + ids, take)
            } else if let types {
                try session.read(appEvents.reads.rangeOfTypes, bounds + [size, .word(types)], take)
            } else {
                try session.read(appEvents.reads.range, bounds + [size], take)
            }
            if rowCount < read.pageSize {
                end = nil
                if read.types != nil || read.callID != nil {
                    try session.read(appEvents.reads.searchEnd, bounds) { end = EventPosition(rawValue: $0.int64(0)) }
                }
            }
            return read.page(events, endedAt: end, oldest: oldest, newest: newest)
        }
    }

    /// Returns the first events of all calls with a callId; `nil` if the calls are too many to search one by one.
    ///
    /// A call has few events, so that those of all these calls are fewer than a search may look at.
    private func events(
        ofCallsWith ids: [SQLValue],
        _ read: EventRead,
        upTo last: EventPosition
    ) throws(Failure) -> [AppEvent]? {
        let calls = try self.read(appEvents.reads.callsOfID, ids) { $0.int64(0) }
        guard calls.count <= AppEventStatements.callsAtOnce else { return nil }
        var events: [AppEvent] = []
        for call in calls {
            try session.read(appEvents.reads.ofCall, [.integer(call)]) { row in
                guard let event = reader.appEvent(row), read.types?.contains(event.type) ?? true,
                    event.position > read.after, event.position <= last
                else { return }
                events.append(event)
            }
        }
        return Array(events.sorted { $0.position < $1.position }.prefix(read.pageSize))
    }

    /// Returns held events of an endpoint, with their contents.
    func heldEvents(_ read: HeldRead) throws(Failure) -> [HeldContent] {
        let (url, size) = (SQLValue.word(read.url), SQLValue.integer(Int64(read.pageSize)))
        switch read.choice {
        case .retries: return try heldEvents(appEvents.heldReads.retries, [url, size])
        case .ofCall(let call, let position):
            let values: [SQLValue] = [url, .integer(call.rawValue), .integer(position.rawValue), size]
            return try heldEvents(appEvents.heldReads.ofCall, values)
        case .after(let position):
            return try heldEvents(appEvents.heldReads.after, [url, .integer(position.rawValue), size])
        case .parked(let position):
            return try heldEvents(appEvents.heldReads.parked, [url, .integer(position.rawValue), size])
        case .ofCalls(let calls):
            let steps = Set(calls).sorted().prefix(EventRead.limit).map { call in
                SQLStep(appEvents.heldReads.firstOfCall, [url, .integer(call.rawValue)])
            }
            var found: [HeldContent] = []
            try session.readSnapshot(steps) { if let held = content($1) { found.append(held) } }
            return Array(found.sorted { $0.held.position < $1.held.position }.prefix(read.pageSize))
        }
    }

    private func heldEvents(_ sql: SQLText, _ values: [SQLValue]) throws(Failure) -> [HeldContent] {
        try inSnapshot { _, _ throws(Failure) in try read(sql, values, content) }
    }

    /// Returns the held event in a row of its columns and those of its content.
    private func content(_ row: any StoredRow) -> HeldContent? {
        guard let held = reader.record(Tables.heldEvents, row) else { return nil }
        let first = Int32(Tables.heldEvents.columns.count)
        return HeldContent(held: held, event: row.isNull(first) ? nil : reader.appEvent(row, from: first))
    }

    /// Returns what the bounds on stored events demand.
    func excess(_ bounds: EventBounds) throws(Failure) -> EventExcess {
        try inSnapshot { _, newest throws(Failure) in
            var sums = EventSums(bytes: 0, newest: newest, settled: [], thinnedUpTo: .start)
            try session.read(appEvents.bounds.sums, []) {
                let (bytes, isImpossible) = $0.int64(1).subtractingReportingOverflow($0.int64(2))
                sums.bytes = isImpossible ? 0 : bytes
                sums.thinnedUpTo = EventPosition(rawValue: max(0, $0.int64(3)))
            }
            sums.settled = try read(appEvents.bounds.settled, []) { EventPosition(rawValue: $0.int64(0)) }
            return try bounds.excess(sums) { after, upTo throws(Failure) in
                try read(appEvents.bounds.portion, [.integer(after.rawValue), .integer(upTo.rawValue)]) {
                    EventRow(
                        position: EventPosition(rawValue: $0.int64(0)),
                        at: $0.int64(1),
                        bytes: $0.int64(2),
                        isHeld: $0.int64(3) != 0
                    )
                }
            }
        }
    }

    /// Runs a body whose statements see one state of the database, with the positions of the oldest and the newest event.
    private func inSnapshot<Value>(
        _ body: (_ oldest: EventPosition?, _ newest: EventPosition) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(Failure) {
            var (oldest, newest) = (EventPosition?.none, EventPosition.start)
            try session.beginSnapshot(appEvents.reads.ends) {
                if !$0.isNull(0) { oldest = EventPosition(rawValue: $0.int64(0)) }
                newest = EventPosition(rawValue: max(0, $0.int64(1)))
            }
            let value = try body(oldest, newest)
            try session.endSnapshot(nil) { _ in }
            return value
        } catch {
            session.abandonSnapshot()
            throw error
        }
    }
}
