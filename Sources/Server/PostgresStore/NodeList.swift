import CallPorts
import Postgres

/// The tables `node` and `secret`, with which the nodes of one database find and recognize each other.
enum NodeList {
    /// A node's row in the list.
    struct Entry: Sendable {
        let id: NodeID
        let machine: String
        let address: String
        let version: String
        /// Returns the digests of the node's settings, one `name digest` per line.
        let settings: @Sendable (_ secret: [UInt8]) -> String
    }

    /// Returns the steps that enter a node into the list, or say that it still runs, and that delete the nodes that
    /// nobody has seen for a day; `settings` = the digests of the node's settings.
    static func enter(_ entry: Entry, settings: String) -> [Connection.Step] {
        var parameters = Parameters()
        for text in [entry.id.text, entry.machine, entry.address, entry.version, settings] { parameters.add(text) }
        return [Connection.Step(enter, parameters), Connection.Step(forget)]
    }

    /// Returns the step that removes a node from the list.
    static func remove(_ node: NodeID) -> Connection.Step { Connection.Step(remove, of(node)) }

    /// Returns the other nodes than `node` that were seen in the last 5 s.
    static func others(than node: NodeID, on connection: Connection) throws(PostgresError) -> Set<NodeID> {
        let rows = try connection.run(others, of(node))
        return Set((0..<rows.count).compactMap { NodeID(rows[$0].text(0)) })
    }

    /// The number of bytes of the secret.
    private static let secretBytes = 32

    /// Returns the secret that all nodes share; makes it if there is none.
    static func secret(on connection: Connection, _ options: StoreOptions) throws(StoreFailure) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let new = (0..<secretBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let rows: [Rows]
        do throws(PostgresError) {
            let make = Connection.Step(makeSecret, options.parameters { $0.add(bytes: new) })
            rows = try connection.run([make, Connection.Step(readSecret)])
        } catch { throw StoreFailure(error, options) }
        let secret = rows[1].first?.bytes(0) ?? []
        guard secret.count == secretBytes else {
            throw StoreFailure(
                """
                The secret of the nodes in the database \(options.settings.shown) has \(secret.count) bytes instead of \
                \(secretBytes); stop all nodes, delete the row 'nodes' of the table secret, and start them.
                """
            )
        }
        return secret
    }

    private static func of(_ node: NodeID) -> Parameters {
        var parameters = Parameters()
        parameters.add(node.text)
        return parameters
    }

    private static let enter = SQL(
        "enter node",
        """
        INSERT INTO node (id, machine, address, version, settings, seen_at)
        VALUES ($1, $2, $3, $4, $5, clock_timestamp())
        ON CONFLICT (id) DO UPDATE
        SET machine = $2, address = $3, version = $4, settings = $5, seen_at = clock_timestamp()
        """
    )

    private static let forget = SQL(
        "forget nodes",
        "DELETE FROM node WHERE seen_at < clock_timestamp() - interval '1 day'"
    )

    private static let remove = SQL("remove node", "DELETE FROM node WHERE id = $1")

    private static let others = SQL(
        "other nodes",
        "SELECT id FROM node WHERE id <> $1 AND seen_at > clock_timestamp() - interval '5 s'"
    )

    private static let makeSecret = SQL(
        "make secret",
        "INSERT INTO secret (name, value) VALUES ('nodes', $1) ON CONFLICT (name) DO NOTHING"
    )

    private static let readSecret = SQL("read secret", "SELECT value FROM secret WHERE name = 'nodes'")
}
