import Postgres

/// A server that is one of several nodes of a database, as the table `node` tells.
package struct DatabaseNode: Equatable, Sendable {
    /// The id of this run of the node.
    package let id: String
    /// The name of the node's machine.
    package let machine: String
    /// The address at which the node accepts links of other nodes: host and port.
    package let address: String
    /// The version of the node's ringline.
    package let version: String
    /// Digests of the settings with which the node was started, by name; empty = the node tells none.
    package let settings: [String: String]
    /// How long ago the node has said that it runs, in milliseconds, by the database's clock; it does so every second.
    ///
    /// A node that was killed stays in the table for a day.
    package let seenMillisecondsAgo: Int64
    /// Whether the node owns the calls, or was killed while it owned them and no server has claimed them since.
    package let isOwner: Bool
}

extension DatabaseNode {
    /// Reads the table, the node that was seen last first.
    static func all(_ connection: Connection) throws(PostgresError) -> [DatabaseNode] {
        let rows = try connection.run(query)
        return (0..<rows.count).map { index in
            let row = rows[index]
            return DatabaseNode(
                id: row.text(0),
                machine: row.text(1),
                address: row.text(2),
                version: row.text(3),
                settings: digests(row.text(6)),
                seenMillisecondsAgo: row.int64(4),
                isOwner: row.int64(5) != 0
            )
        }
    }

    private static func digests(_ text: String) -> [String: String] {
        let lines = text.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
        return Dictionary(lines.compactMap { $0.count == 2 ? (String($0[0]), String($0[1])) : nil }) { $1 }
    }

    private static let query = SQL(
        "nodes",
        """
        SELECT n.id, machine, n.address, version,
            greatest(0, (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint),
            EXISTS (SELECT FROM owner o WHERE slot = 0 AND o.node_id = n.id AND NOT released), settings
        FROM node n ORDER BY seen_at DESC, n.id
        """
    )
}
