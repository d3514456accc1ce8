package import CallCore
import Postgres

/// The server that owns a database, or has owned it last, as the row `owner` tells.
package struct DatabaseOwner: Equatable, Sendable {
    /// The state of an ownership.
    package enum State: Equatable, Sendable {
        /// The lease has not run out.
        case owning
        /// The server has stopped in good order.
        case released
        /// The lease has run out at this moment: the server was killed, or is cut off from the database.
        case expired(Moment)
    }

    /// The name of the server's machine.
    package let node: String
    /// The number of the server's process on that machine.
    package let process: Int64
    /// The beginning of the server's connection, by the database's clock.
    ///
    /// It is later than the claim if the connection was lost and made again.
    package let connectedAt: Moment
    /// The state of the ownership, by the database's clock.
    package let state: State
    /// When a claim has found that the database had lost claims, last: a backup was restored, or a standby without the
    /// newest commits had taken over; `nil` = never.
    package let claimsLostAt: Moment?

    /// Whether a server owns the database at the moment.
    package var isOwning: Bool { state == .owning }
}

extension DatabaseOwner {
    /// Reads the row; returns `nil` if no server has ever owned the database.
    static func read(_ connection: Connection) throws(PostgresError) -> DatabaseOwner? {
        guard let row = try connection.run(query).first, row.int64(0) > 0 else { return nil }
        let until = Moment(milliseconds: row.int64(4))
        return DatabaseOwner(
            node: row.text(1),
            process: row.int64(2),
            connectedAt: Moment(milliseconds: row.int64(3)),
            state: row.int64(5) != 0 ? .released : row.int64(6) != 0 ? .owning : .expired(until),
            claimsLostAt: row.optionalInt64(7).map(Moment.init(milliseconds:))
        )
    }

    private static let query = SQL(
        "owner",
        """
        SELECT epoch, node, process, (extract(epoch FROM backend_start) * 1000)::bigint,
            (extract(epoch FROM until) * 1000)::bigint, released, until > clock_timestamp(),
            (SELECT value FROM meta WHERE name = 'claims_lost_at')
        FROM owner WHERE slot = 0
        """
    )
}
