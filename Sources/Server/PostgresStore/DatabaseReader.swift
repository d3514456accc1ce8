package import CallCore
package import CallPorts
import Postgres
import Storing

/// Reads a database, whether a server owns it or not; for `ringline explain` and similar commands.
///
/// A reader claims nothing, and each of its transactions is read-only. It reads from the primary or from a standby,
/// which may lag behind. A query is given up after 60 s. Use it from one thread only.
package final class DatabaseReader: StoreReader {
    private let options: StoreOptions
    private let queries: QueryRunner

    /// Connects to a database for reading.
    /// - Throws: `StoreFailure` if the database cannot be reached, or if this version cannot read its tables.
    package init(_ options: StoreOptions) throws(StoreFailure) {
        var options = options
        options.settings = options.settings.acceptingStandbys
        let connection = try Connection.open(options, for: .operators)
        try Schema.requireReadable(connection, options)
        self.options = options
        queries = QueryRunner(connection: connection, damages: DamageLog())
    }

    /// Returns the calls that have not ended; see `StoreReader.liveCalls(limit:)`.
    package func liveCalls(limit: Int) throws(StoreFailure) -> [CallRecord] {
        try reading { () throws(PostgresError) in try queries.liveCalls(limit: limit) }
    }

    /// Returns the calls that have ended; see `StoreReader.endedCalls(limit:)`.
    package func endedCalls(limit: Int) throws(StoreFailure) -> [CallRecord] {
        try reading { () throws(PostgresError) in try queries.endedCalls(limit: limit) }
    }

    /// Returns a user's calls; see `StoreReader.history(of:limit:before:)`.
    package func history(of user: UserID, limit: Int, before: CallNumber?) throws(StoreFailure) -> [CallRecord] {
        try reading { () throws(PostgresError) in try queries.history(of: user, limit: limit, before: before) }
    }

    /// Returns the calls that a selector chooses; see `StoreReader.calls(_:limit:)`.
    package func calls(_ choice: CallSelector, limit: Int) throws(StoreFailure) -> [CallRecord] {
        try reading { () throws(PostgresError) in try queries.calls(choice, limit: limit) }
    }

    /// Returns the timeline of a call; see `StoreReader.timeline(of:)`.
    package func timeline(of number: CallNumber) throws(StoreFailure) -> [TimelineRecord] {
        try reading { () throws(PostgresError) in try queries.events(of: number) }
    }

    /// Returns the stored log of a call; see `StoreReader.log(of:)`.
    package func log(of number: CallNumber) throws(StoreFailure) -> [EntryRecord] {
        try reading { () throws(PostgresError) in try queries.log(of: number) }
    }

    /// Returns a user's registered devices; see `StoreReader.devices(of:)`.
    package func devices(of user: UserID) throws(StoreFailure) -> [DeviceRecord] {
        try reading { () throws(PostgresError) in try queries.devices(of: user) }
    }

    /// Returns the bundle ids of the apps on all registered devices; see `StoreReader.bundleIDs(limit:)`.
    package func bundleIDs(limit: Int) throws(StoreFailure) -> [String] {
        try reading { () throws(PostgresError) in try queries.bundleIDs(limit: limit) }
    }

    /// Returns the kinds of push for which a device has a token; see `StoreReader.registeredKinds()`.
    package func registeredKinds() throws(StoreFailure) -> Set<PushKind> {
        try reading { () throws(PostgresError) in try queries.registeredKinds() }
    }

    /// Returns the invalid values that were read so far; see `StoreReader.takeDamages()`.
    package func takeDamages() -> [DamagedValue] { queries.damages.take() }

    /// Returns the server that owns the database, or has owned it last; `nil` if there was none.
    package func owner() throws(StoreFailure) -> DatabaseOwner? {
        try reading { () throws(PostgresError) in try DatabaseOwner.read(queries.connection) }
    }

    private func reading<Value>(_ body: () throws(PostgresError) -> Value) throws(StoreFailure) -> Value {
        do throws(PostgresError) { return try body() } catch { throw StoreFailure(error, options) }
    }
}
