/// The steps that bring a database from one version of its schema to the next; `PRAGMA user_version` holds the version.
package struct Migrations: Sendable {
    private let steps: [SQL]

    /// Creates a list of steps: step `i` (from 0) leads from version `i` to `i + 1`; published steps must never be
    /// changed.
    package init(_ steps: [SQL]) { self.steps = steps }

    /// The version that all steps lead to.
    package var version: Int { steps.count }

    /// The reasons why a migration can fail.
    package enum Failure: Error, Equatable, Sendable {
        /// The database was written by a newer program.
        case newer(found: Int, known: Int)
        /// SQLite failed; the database is as it was before the step.
        case sqlite(SQLiteError)
    }

    /// Returns the version of a database, which may be one that was attached under a name.
    /// - Throws: ``Failure/newer(found:known:)`` when the database's version is above ``version``.
    package func versionFound(in connection: Connection, _ database: String = "main") throws(Failure) -> Int {
        let found: Int
        do { found = Int(try connection.pragma("\(database).user_version") ?? "0") ?? 0 } catch { throw .sqlite(error) }
        guard found <= version else { throw .newer(found: found, known: version) }
        return found
    }

    /// Runs the missing steps, each in one transaction with the change of the version number, up to a version; by
    /// default up to the last one.
    package func run(on connection: Connection, upTo last: Int? = nil) throws(Failure) {
        for next in try versionFound(in: connection)..<(last ?? version) {
            do {
                try connection.transaction { () throws(SQLiteError) in
                    try connection.execute(steps[next])
                    try connection.pragma("user_version", "\(next + 1)")
                }
            } catch { throw .sqlite(error) }
        }
    }
}
