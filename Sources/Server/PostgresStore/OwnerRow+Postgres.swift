import CallCore
import CallPorts
import Postgres

extension OwnerRow {
    /// Reads the row `owner`.
    static func read(_ connection: Connection) throws(PostgresError) -> OwnerRow {
        guard let row = try connection.run(query).first else {
            throw PostgresError(
                state: .unknownTable,
                message: "the row of the table owner is missing",
                statement: query.name
            )
        }
        return OwnerRow(
            epoch: OwnerEpoch(rawValue: UInt64(max(0, row.int64(0)))),
            node: NodeID(row.text(1)),
            address: row.text(2),
            lease: .milliseconds(row.int64(3)),
            isReleased: row.int64(4) != 0,
            heir: NodeID(row.text(5))
        )
    }

    private static let query = SQL(
        "owner row",
        """
        SELECT epoch, node_id, address, ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint,
            released, heir
        FROM owner WHERE slot = 0
        """
    )
}
