import CallCore
package import CallPorts
import Postgres
import Storing

/// Brings the contents of another store into an empty database, all or nothing.
package struct DatabaseImport {
    /// See `StoredState.uncleanStarts`, of the other store.
    package let uncleanStarts: Int
    /// The highest call number that the other store has ever used.
    package let lastCallNumber: Int64
    /// The incarnation of the other store.
    package let incarnation: EventIncarnation
    /// Passes the records to a closure, as changes in an order in which they can be committed.
    package typealias Source = ((Change) throws(StoreFailure) -> Void) throws(StoreFailure) -> Void

    /// An import with the counters that guard numbers after a crash.
    package init(uncleanStarts: Int, lastCallNumber: Int64, incarnation: EventIncarnation = .first) {
        self.incarnation = incarnation
        self.uncleanStarts = uncleanStarts
        self.lastCallNumber = lastCallNumber
    }

    /// The lease, in milliseconds: ten minutes, because the row stays locked during the transaction, so that nobody can
    /// renew the lease.
    private static let leaseMilliseconds: Int64 = 600_000

    /// Claims a database, brings everything in with one transaction, and releases the database.
    /// - Parameters:
    ///   - options: The database.
    ///   - source: Is called once, within the transaction.
    /// - Throws: `StoreFailure` if the database cannot be claimed or is not empty, or the failure of `source`. Nothing
    ///   was brought in then, unless the message says that this is not known.
    package func run(into options: StoreOptions, from source: Source) throws(StoreFailure) {
        var options = options
        options.leaseMilliseconds = Self.leaseMilliseconds
        let connection = try Connection.open(options, for: .commits)
        let ownerTable = OwnerTable(options: options)
        try Schema.prepare(connection, options, unless: options.ownerWait.isOver)
        let (claim, _) = try ownerTable.claim(on: connection, unless: options.ownerWait.isOver)
        let fence = ownerTable.fence(claim, ticket: nil)
        // If the release fails, the lease runs out by itself. A server on this machine does not wait for that.
        defer { _ = try? ownerTable.release(claim, on: connection) }
        try Schema.requireKnown(connection, options)
        do throws(StoreFailure) {
            try fill(connection, options, after: fence, source)
        } catch {
            // The transaction ended already if a statement of it failed.
            _ = try? connection.run(SQL("end import", "ROLLBACK"))
            throw error
        }
    }

    private func fill(
        _ connection: Connection,
        _ options: StoreOptions,
        after fence: Connection.Step,
        _ source: Source
    ) throws(StoreFailure) {
        do throws(PostgresError) {
            let rows = try connection.run([Connection.Step(OwnerTable.begin), fence, Connection.Step(Self.contents)])
            if let kind = rows[2].first?.text(0), !kind.isEmpty {
                throw PostgresError(state: Self.notEmpty, message: kind, statement: "")
            }
        } catch  where error.state == Self.notEmpty {
            throw StoreFailure(
                """
                The database \(options.settings.shown) has \(error.message) already, and nothing was brought in; name \
                an empty database.
                """
            )
        } catch { throw StoreFailure(error, options) }
        var pending: [Change] = []
        var rows = 0
        try source { change throws(StoreFailure) in
            pending.append(change)
            if case .numbers(let numbers) = change { rows += numbers.rows.count }
            if max(pending.count, rows) >= Self.batchSize {
                rows = 0
                try Self.write(&pending, connection, options)
            }
        }
        try Self.write(&pending, connection, options)
        do throws(PostgresError) {
            let starts = options.parameters { $0.add(Int64(uncleanStarts)) }
            let last = options.parameters { $0.add(lastCallNumber) }
            let number = options.parameters { $0.add(Int64(incarnation.rawValue)) }
            try connection.run([
                Connection.Step(Self.addStarts, starts), Connection.Step(Self.raiseNumber, last),
                Connection.Step(Self.setIncarnation, number),
            ])
        } catch { throw StoreFailure(error, options) }
        do throws(PostgresError) { _ = try connection.run(OwnerTable.commit) } catch {
            let failure = StoreFailure(error, options)
            guard error.endsConnection else { throw failure }
            throw StoreFailure(
                """
                It is not known whether everything was brought in; run the same command again: if everything was, it \
                says that the database has calls or devices already. \(failure.message)
                """
            )
        }
    }

    private static func write(
        _ changes: inout [Change],
        _ connection: Connection,
        _ options: StoreOptions
    ) throws(StoreFailure) {
        var batch = ChangeBatch()
        for change in changes { batch.append(change) }
        changes.removeAll(keepingCapacity: true)
        let steps = batch.finish()
        guard !steps.isEmpty else { return }
        do throws(PostgresError) { try connection.run(steps) } catch { throw StoreFailure(error, options) }
    }

    /// The number of changes that are sent together.
    private static let batchSize = 2_000

    private static let notEmpty = PostgresError.State(rawValue: "RLFUL")

    /// The kind of records that the database has already; empty if it has none.
    private static let contents = SQL(
        "contents",
        """
        SELECT CASE
            WHEN EXISTS (SELECT FROM call) THEN 'calls' WHEN EXISTS (SELECT FROM device) THEN 'devices'
            WHEN EXISTS (SELECT FROM block) THEN 'blocks' WHEN EXISTS (SELECT FROM revocation) THEN 'revocations'
            WHEN EXISTS (SELECT FROM schedule) THEN 'schedules'
            WHEN EXISTS (SELECT FROM app_event) THEN 'events for the app''s backend'
            WHEN EXISTS (SELECT FROM event_endpoint) THEN 'endpoints of the app''s backend'
            WHEN EXISTS (SELECT FROM directory) THEN 'numbers of a call directory'
            WHEN EXISTS (SELECT FROM do_not_disturb) THEN 'users with do-not-disturb' ELSE '' END
        """
    )

    /// The claim of the import itself is counted too, until the release.
    private static let addStarts = SQL(
        "add unclean starts",
        """
        UPDATE meta SET value = least(value + $1, \(StorableRange.counts.upperBound)) WHERE name = 'crashes'
        """
    )
    private static let setIncarnation = SQL(
        "set the incarnation",
        """
        INSERT INTO meta (name, value) VALUES ('event_incarnation', $1)
        ON CONFLICT (name) DO UPDATE SET value = greatest(meta.value, excluded.value)
        """
    )
    private static let raiseNumber = SQL(
        "raise the last number",
        "UPDATE meta SET value = greatest(value, $1) WHERE name = 'last_call_number'"
    )
}
