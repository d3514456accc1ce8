extension MetricsPage {
    /// The values that do not come from the switchboard.
    struct ServerFigures {
        let version: String
        let connections: Int
        /// The number of commits that are not durable yet.
        let commitsUnderWay: Int
        /// When the served certificate expires, in seconds since 1970; `nil` without TLS.
        let certificateExpiry: Int64?
        /// The number of connections that were closed because they read too slowly.
        let queueDrops: UInt64
        /// The number of connects that were refused because their user connected too often.
        let connectsRefused: UInt64
        /// The number of Socket.IO sessions that were refused because their user had too many other sessions that had
        /// not joined.
        let unjoinedRefused: UInt64
        /// The number of unauthenticated connections and sessions that were closed, by reason.
        let unauthenticatedDropped: [(String, UInt64)]
        /// The number of requests and upgrades that were refused before their path was looked at, by code.
        let requestsRefused: [(String, UInt64)]
        /// The number of requests and upgrades that were refused because of their `Origin`.
        let originsRefused: UInt64
        /// The number of packets that Socket.IO sessions refused themselves, by reason.
        let packetsRefused: [(String, UInt64)]
        let process: ProcessFigures
        let logLines: LineFigures
        /// The state of the issuer's published keys; `nil` where none are fetched.
        let keySet: (ageSeconds: Int64, failures: UInt64, keys: Int)?
        /// The figures of each service to which the server sends requests.
        let outbound: [OutboundFigures]
        let auditLines: LineFigures
        /// The number of refused tokens, by cause.
        let refusedTokens: [(cause: String, count: UInt64)]
        /// The number of leaps of the wall clock.
        let clockLeaps: UInt64
        /// How far the wall clock is ahead of the server's clock, in milliseconds.
        let clockDifference: Int64
        /// The figures of one node of several; `nil` if the server owns its store alone.
        var node: NodeFigures?
    }

    /// The figures of a server that is one node of several.
    struct NodeFigures {
        /// Whether this node owns the calls.
        let isOwner: Bool
        /// Whether this node serves clients, as `/readyz` says.
        let isReady: Bool
        /// The number of the newest ownership that this node knows of; 0 = it knows of none yet.
        let epoch: UInt64
        /// How often this node has claimed the calls since its start.
        let takeovers: UInt64
        /// The established links: on the owner one for each other node, on any other node one to the owner.
        let links: Int
        /// The events that this node has sent to the owner and that the owner has not confirmed.
        let unconfirmedEvents: Int
        /// How many connections this node has closed, and how many requests it has refused, because too much waited for
        /// an owner.
        let waitingRefused: UInt64
        /// The bytes of events that wait at this node for an owner.
        let waitingBytes: Int
    }
}
