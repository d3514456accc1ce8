package import CallPorts
package import Postgres
package import Storing

/// Reads a database, whether a server owns it or not; for `ringline explain` and similar commands.
///
/// A reader claims nothing, and each of its transactions is read-only. It reads from the primary or from a standby,
/// which may lag behind. A query is given up after 60 s. Use it from one thread only.
package final class DatabaseReader: SQLReader {
    /// See `SQLReader.queries`.
    package let queries: QueryRunner<Connection>
    private let options: StoreOptions

    /// Connects to a database for reading.
    /// - Throws: `StoreFailure` if the database cannot be reached, or if this version cannot read its tables.
    package init(_ options: StoreOptions) throws(StoreFailure) {
        var options = options
        options.settings = options.settings.acceptingStandbys
        let connection = try Connection.open(options, for: .operators)
        try Schema.requireReadable(connection, options)
        self.options = options
        queries = QueryRunner(connection, damages: DamageLog())
    }

    /// Returns the failure of a query; see `SQLReader.failure(_:)`.
    package func failure(_ error: PostgresError) -> StoreFailure { StoreFailure(error, options) }

    /// Returns the server that owns the database, or has owned it last; `nil` if there was none.
    package func owner() throws(StoreFailure) -> DatabaseOwner? {
        try reading { queries throws(PostgresError) in try DatabaseOwner.read(queries.session) }
    }
}
