/// The reason why a statement or the connection to PostgreSQL failed.
///
/// It contains no password. Of the server's error it contains the primary message but not the details, which may quote
/// the values of a row.
package struct PostgresError: Error, Equatable, Sendable {
    /// The server's code; ``State/connection`` if the connection failed, so that there is none.
    package let state: State
    /// The message of the server or of libpq, in one line, in the server's language.
    package let message: String
    /// The name of the statement that failed (``SQL/name``), or of the operation, such as `connect`.
    package let statement: String

    /// Creates an error from its parts.
    package init(state: State, message: String, statement: String) {
        self.state = state
        self.message = message
        self.statement = statement
    }

    /// Whether the connection is lost or the server closes it, so that a new connection is needed.
    package var endsConnection: Bool {
        state == .connection || state.rawValue.hasPrefix("08") || state.rawValue.hasPrefix("57P")
    }

    /// A SQLSTATE (<https://www.postgresql.org/docs/15/errcodes-appendix.html>); the codes that callers need to
    /// distinguish have names.
    package struct State: RawRepresentable, Hashable, Sendable {
        /// The five characters.
        package let rawValue: String

        /// Creates the state with these characters.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The connection failed, and the server has sent no code.
        package static let connection = State(rawValue: "08000")
        /// The wait for a response was ended (``ResponseWait``), so the connection can no longer be used.
        package static let givenUp = State(rawValue: "08RLW")
        /// The password is wrong or missing.
        package static let invalidPassword = State(rawValue: "28P01")
        /// The role may not connect (`pg_hba.conf`) or does not exist, or its authentication failed in another way.
        package static let invalidAuthorization = State(rawValue: "28000")
        /// The database does not exist.
        package static let unknownDatabase = State(rawValue: "3D000")
        /// The role may not run the statement.
        package static let insufficientPrivilege = State(rawValue: "42501")
        /// The server is read-only: a standby, or `default_transaction_read_only`.
        package static let readOnly = State(rawValue: "25006")
        /// A lock was not obtained within `lock_timeout`.
        package static let lockNotAvailable = State(rawValue: "55P03")
        /// A statement took longer than `statement_timeout`, or somebody cancelled it.
        package static let cancelled = State(rawValue: "57014")
        /// The disk of the server is full.
        package static let diskFull = State(rawValue: "53100")
        /// The server has too many connections.
        package static let tooManyConnections = State(rawValue: "53300")
        /// The table does not exist.
        package static let unknownTable = State(rawValue: "42P01")
        /// No schema exists in which tables could be created.
        package static let unknownSchema = State(rawValue: "3F000")
        /// A row violates a unique constraint.
        package static let uniqueViolation = State(rawValue: "23505")
    }
}

extension PostgresError: CustomStringConvertible {
    /// The statement's name, the message, and the code.
    package var description: String { "\(statement): \(message) (SQLSTATE \(state.rawValue))" }
}
