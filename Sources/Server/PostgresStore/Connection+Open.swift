import CallPorts
import Postgres

extension Connection {
    /// The purpose of a connection, on which its timeouts depend.
    enum Purpose {
        /// Commits. PostgreSQL must never cancel one: if a commit is cancelled while it waits for the standby, its
        /// changes are visible although a fail-over may lose them. So the timeouts of statements and of idle
        /// transactions are off, whatever the role's settings are.
        case commits
        /// Queries of a server, each of which may take 10 s.
        case queries
        /// Queries of an operator's command, also to a standby; each may take 60 s.
        case operators
        /// The list of nodes, and reading who owns the calls. A lost update of the list does no harm, so its commits
        /// wait neither for the disk nor for a standby, and each statement may take 1 s.
        case register
    }

    /// Connects, checks that the store can use the server and the database, and makes the settings on which it relies.
    ///
    /// `wait` says how the connection waits for responses, also for those to these settings.
    /// - Throws: `StoreFailure`, which explains to the operator why there is no usable connection.
    static func open(
        _ options: StoreOptions,
        for purpose: Purpose,
        waiting wait: ResponseWait? = nil
    ) throws(StoreFailure) -> Connection {
        do throws(PostgresError) { return try connect(options, for: purpose, waiting: wait) } catch {
            throw StoreFailure(connecting: error, options)
        }
    }

    /// Connects as ``open(_:for:waiting:)`` does, and throws the error itself; `StoreFailure.init(connecting:_:)`
    /// explains it.
    static func connect(
        _ options: StoreOptions,
        for purpose: Purpose,
        waiting wait: ResponseWait?
    ) throws(PostgresError) -> Connection {
        let connection = try Connection(options.settings)
        connection.responseWait = wait
        if let reason = connection.reasonToRefuse(options) {
            throw PostgresError(state: .refused, message: reason, statement: "")
        }
        try connection.execute(SQL("session settings", settings(options, purpose)))
        return connection
    }

    /// Returns why the store cannot use the server or the database; `nil` if it can.
    private func reasonToRefuse(_ options: StoreOptions) -> String? {
        if serverVersion < 130_000 {
            let version = "\(serverVersion / 10_000).\(serverVersion % 10_000)"
            return "The database \(options.settings.shown) is PostgreSQL \(version); ringline needs 13 or later."
        }
        if let encoding = reportedSetting("server_encoding"), encoding != "UTF8" {
            return """
                The database \(options.settings.shown) has the encoding \(encoding); create one with \
                createdb --encoding=UTF8 --template=template0.
                """
        }
        return nil
    }

    /// Returns the SQL that makes the settings of a connection.
    private static func settings(_ options: StoreOptions, _ purpose: Purpose) -> String {
        let timeouts =
            switch purpose {
            case .commits: "SET statement_timeout = 0; SET lock_timeout = '2s'"
            case .queries: "SET statement_timeout = '10s'; SET default_transaction_read_only = on"
            case .operators: "SET statement_timeout = '60s'; SET default_transaction_read_only = on"
            case .register: "SET statement_timeout = '1s'"
            }
        // With `off`, a crash of the database could lose confirmed commits; with `local`, a fail-over to a synchronous
        // standby could. Every other value stays.
        let durability =
            switch purpose {
            case .register: "SET synchronous_commit = off"
            case .commits, .queries, .operators:
                """
                SELECT set_config('synchronous_commit', 'on', false)
                WHERE current_setting('synchronous_commit') IN ('off', 'local')
                """
            }
        // Only PostgreSQL 14 and later have `idle_session_timeout`, and 17 and later `transaction_timeout`.
        return """
            SET search_path TO \(options.quotedSchema); \(timeouts);
            SET idle_in_transaction_session_timeout = 0; SET default_transaction_isolation = 'read committed';
            SET jit = off;
            SELECT set_config(name, '0', false) FROM pg_settings
            WHERE name IN ('idle_session_timeout', 'transaction_timeout');
            \(durability)
            """
    }
}

extension StoreFailure {
    /// Creates a failure that explains to the operator why there is no usable connection.
    init(connecting error: PostgresError, _ options: StoreOptions) {
        if error.state == .refused { self.init(error.message) } else { self.init(error, options) }
    }
}

extension PostgresError.State {
    /// PostgreSQL was reached, but the store cannot use it.
    fileprivate static let refused = Self(rawValue: "RLUNF")
    /// The fence has failed because another server owns the database.
    static let deposed = Self(rawValue: "RL001")
    /// The fence has failed because the ticket is committed already.
    static let repeated = Self(rawValue: "RL002")
}
