package import CallCore
package import CallPorts

/// Runs the queries of a store on a connection.
package struct QueryRunner<Session: SQLSession> {
    /// The database's error.
    package typealias Failure = Session.Failure

    /// The connection.
    package let session: Session
    /// The log of the impossible values that were found.
    package let damages: DamageLog

    /// Runs queries on a connection, and records impossible values in a log.
    package init(_ session: Session, damages: DamageLog) {
        self.session = session
        self.damages = damages
    }

    /// The reader of rows.
    package var reader: RowReader { RowReader(damages: damages) }

    var statements: StoreStatements { Session.statements }

    /// Returns the result of a query.
    package func run(_ query: StoreQuery) throws(Failure) -> StoreResult {
        switch query {
        case .history(let user, let limit, let before):
            return .history(try history(of: user, limit: limit, before: before))
        case .timeline(let choice):
            guard let call = try calls(choice, limit: 1).first else { return .timeline(nil, []) }
            return .timeline(call, try timeline(of: call.number))
        case .peers(let user, let limit):
            return .peers(
                try read(statements.peers, [.word(user.text), .integer(Int64(limit))]) { UserID($0.text(0)) }
            )
        case .log(let number): return .log(try call(number))
        case .epoch(let key): return .epoch(try session.newestEpoch(of: key))
        case .numbers(let read): return .numbers(try page(read))
        case .numberChanges(let owner, let rows):
            let (stored, count) = try session.names(of: owner, among: rows, reader)
            return .numberChanges(NumberComparison(of: rows, with: stored, count: count))
        case .events(let read): return .events(try events(read))
        case .heldEvents(let read): return .heldEvents(try heldEvents(read))
        case .eventExcess(let bounds): return .eventExcess(try excess(bounds))
        }
    }

    /// Returns a user's calls as caller or callee, newest first, at most `limit`, with numbers below `before`.
    func history(of user: UserID?, limit: Int, before: CallNumber?) throws(Failure) -> [CallRecord] {
        guard limit > 0, before?.rawValue != .min else { return [] }
        // The highest number to return. Impossible numbers, which would come before all others, are above it.
        let last = min(before?.rawValue ?? .max, StorableRange.numbers.upperBound + 1) - 1
        guard let user else {
            return try read(statements.historyOfAll, [.integer(last), .integer(Int64(limit))], reader.call)
        }
        return try read(statements.history, [.word(user.text), .integer(last), .integer(Int64(limit))], reader.call)
    }

    /// Returns the calls that a selector chooses, newest first.
    func calls(_ choice: CallSelector, limit: Int) throws(Failure) -> [CallRecord] {
        let spellings = choice.id.storedSpellings
        var values: [SQLValue] = [
            .word(spellings?.lower ?? choice.id.text), .word(choice.users.first?.text), .word(choice.users.last?.text),
            .integer(choice.epoch.map { Int64($0) }), .integer(Int64(limit)), .word(choice.viewer?.text),
        ]
        if let spellings { values.append(.word(spellings.upper)) }
        return try read(spellings == nil ? statements.calls : statements.callsByUUID, values, reader.call)
    }

    /// Returns a call with its log; `nil` if there is no such call, or if its log was deleted.
    private func call(_ number: CallNumber) throws(Failure) -> StoredCall? {
        var stored: StoredCall?
        // In one snapshot, because the writer may delete the log between the two statements.
        let values = [SQLValue.integer(number.rawValue)]
        try session.readSnapshot([(statements.call, values), (statements.entries, values)]) { index, row in
            if index == 0 {
                stored = reader.call(row).map { StoredCall(record: $0, entries: []) }
            } else if stored != nil, let entry = reader.entry(row) {
                stored?.entries.append(entry)
            }
        }
        return stored
    }

    /// Returns the timeline of a call, in the order of its events.
    func timeline(of number: CallNumber) throws(Failure) -> [TimelineRecord] {
        try read(statements.events, [.integer(number.rawValue)], reader.event)
    }

    /// Returns the stored log of a call.
    package func log(of number: CallNumber) throws(Failure) -> [EntryRecord] {
        try read(statements.entries, [.integer(number.rawValue)], reader.entry)
    }

    /// Returns what a statement's rows contain, without the rows that are left out.
    func read<Value>(
        _ sql: SQLText,
        _ values: [SQLValue],
        _ make: (any StoredRow) -> Value?
    ) throws(Failure) -> [Value] {
        var found: [Value] = []
        try session.read(sql, values) { if let value = make($0) { found.append(value) } }
        return found
    }
}

/// A reader for operators whose queries a `QueryRunner` runs.
package protocol SQLReader: StoreReader {
    /// The connection's type.
    associatedtype Session: SQLSession

    /// The queries.
    var queries: QueryRunner<Session> { get }

    /// Returns the failure, in one sentence, of a query that has failed.
    func failure(_ error: Session.Failure) -> StoreFailure
}

extension SQLReader {
    /// Runs a query, and turns its error into a failure of one sentence.
    package func reading<Value>(
        _ body: (QueryRunner<Session>) throws(Session.Failure) -> Value
    ) throws(StoreFailure) -> Value {
        do throws(Session.Failure) { return try body(queries) } catch { throw failure(error) }
    }

    private func read<Value>(
        _ sql: SQLText,
        _ values: [SQLValue],
        _ make: (any StoredRow) -> Value?
    ) throws(StoreFailure) -> [Value] {
        try reading { queries throws(Session.Failure) in try queries.read(sql, values, make) }
    }

    /// Returns the calls that have not ended; see `StoreReader.liveCalls(limit:)`.
    package func liveCalls(limit: Int) throws(StoreFailure) -> [CallRecord] {
        try read(Session.statements.newestLive, [.integer(Int64(limit))], queries.reader.call)
    }

    /// Returns the calls that have ended; see `StoreReader.endedCalls(limit:)`.
    package func endedCalls(limit: Int) throws(StoreFailure) -> [CallRecord] {
        try read(Session.statements.newestEnded, [.integer(Int64(limit))], queries.reader.call)
    }

    /// Returns a user's calls; see `StoreReader.history(of:limit:before:)`.
    package func history(of user: UserID, limit: Int, before: CallNumber?) throws(StoreFailure) -> [CallRecord] {
        try reading { queries throws(Session.Failure) in
            try queries.history(of: user, limit: limit, before: before)
        }
    }

    /// Returns the calls that a selector chooses; see `StoreReader.calls(_:limit:)`.
    package func calls(_ choice: CallSelector, limit: Int) throws(StoreFailure) -> [CallRecord] {
        try reading { queries throws(Session.Failure) in try queries.calls(choice, limit: limit) }
    }

    /// Returns the timeline of a call; see `StoreReader.timeline(of:)`.
    package func timeline(of number: CallNumber) throws(StoreFailure) -> [TimelineRecord] {
        try reading { queries throws(Session.Failure) in try queries.timeline(of: number) }
    }

    /// Returns the stored log of a call; see `StoreReader.log(of:)`.
    package func log(of number: CallNumber) throws(StoreFailure) -> [EntryRecord] {
        try reading { queries throws(Session.Failure) in try queries.log(of: number) }
    }

    /// Returns a user's registered devices; see `StoreReader.devices(of:)`.
    package func devices(of user: UserID) throws(StoreFailure) -> [DeviceRecord] {
        try read(Session.statements.cold.devices.ofOwner, [.word(user.text)]) {
            queries.reader.record(Tables.devices, $0)
        }
    }

    /// Returns the bundle ids of the apps on all registered devices; see `StoreReader.bundleIDs(limit:)`.
    package func bundleIDs(limit: Int) throws(StoreFailure) -> [String] {
        try read(Session.statements.bundleIDs, [.integer(Int64(limit))]) { $0.text(0) }
    }

    /// Returns the kinds of push for which a device has a token; see `StoreReader.registeredKinds()`.
    package func registeredKinds() throws(StoreFailure) -> Set<PushKind> {
        try read(Session.statements.registeredKinds, []) { RowReader.kinds($0) }.first ?? []
    }

    /// Returns what a start needs of the events; see `StoreReader.storedEvents()`.
    package func storedEvents() throws(StoreFailure) -> StoredEvents {
        try reading { queries throws(Session.Failure) in try queries.storedEvents() }
    }

    /// Returns a page of events; see `StoreReader.events(_:)`.
    package func events(_ read: EventRead) throws(StoreFailure) -> EventPage {
        try reading { queries throws(Session.Failure) in try queries.events(read) }
    }

    /// Returns held events; see `StoreReader.heldEvents(_:)`.
    package func heldEvents(_ read: HeldRead) throws(StoreFailure) -> [HeldContent] {
        try reading { queries throws(Session.Failure) in try queries.heldEvents(read) }
    }

    /// Returns the invalid values that were read so far; see `StoreReader.takeDamages()`.
    package func takeDamages() -> [DamagedValue] { queries.damages.take() }
}
