import CallPorts
import Postgres

extension StoreFailure {
    /// The claim of a ``NodeClaim`` lost: a newer epoch exists.
    static let claimLost = StoreFailure("Another node has claimed the calls.")

    /// The failure of an owner whose commit was refused, because another server owns the database.
    static func deposed(_ options: StoreOptions) -> StoreFailure {
        let database = options.settings.shown
        let cause = """
            stood still, or was cut off from the database, for longer than its lease (--lease), or the database was \
            restored to an earlier state.
            """
        guard options.nodeClaim == nil else {
            return StoreFailure(
                """
                Another node has taken over the calls in the database \(database). This node \(cause)
                """
            )
        }
        return StoreFailure(
            """
            Another ringline has taken over the database \(database), so this one ends. This one \(cause) Servers that run \
            at the same time need a database each, or must all be nodes (--node-listen).
            """
        )
    }

    /// Creates a failure that explains an error of PostgreSQL, or of the connection to it, to the operator.
    init(_ error: PostgresError, _ options: StoreOptions) {
        let settings = options.settings
        let database = settings.shown
        let user = settings.user ?? "the system's user name"
        let explanation =
            switch error.state {
            case .invalidPassword:
                "The database \(database) refuses the password of the user \(user); check the user and the password."
            case .invalidAuthorization:
                "The database \(database) does not let the user \(user) in; create the role, or list it in pg_hba.conf."
            case .unknownDatabase:
                """
                The database \(database) does not exist; create it with: createdb --encoding=UTF8 \
                \(settings.database ?? user)
                """
            case .readOnly:
                """
                The database \(database) is read-only: it is a standby, or it was made read-only; name the primary, or \
                all hosts, separated by commas.
                """
            case .insufficientPrivilege:
                """
                The user \(user) may not do this in the database \(database); make the user the owner of the schema \
                \(options.schema): CREATE SCHEMA \(options.schema) AUTHORIZATION \(user).
                """
            case .tooManyConnections:
                """
                The database \(database) has no free connection, and ringline needs two, or three as one of several \
                nodes; raise max_connections, or close other connections.
                """
            case .diskFull: "The disk of the database \(database) is full; free some space on it."
            case .lockNotAvailable:
                "Another session holds a lock in the database \(database); end that session."
            case .cancelled:
                "The database \(database) has not answered a query in time; it is busy, or somebody cancelled the query."
            case .givenUp: "The database \(database) has not responded, and its response is no longer awaited."
            case .connection where error.message.contains("could not translate host name"):
                "The host of the database \(database) cannot be resolved; check its name, and the DNS."
            case .connection:
                "The database \(database) cannot be reached; check that it runs, its address, and the network."
            default:
                error.endsConnection
                    ? "The database \(database) has closed the connection; it stops or restarts, or an operator did so."
                    : "The database \(database) cannot be used."
            }
        self.init("\(explanation) (\(error.statement): \(error.message), SQLSTATE \(error.state.rawValue))")
    }
}
