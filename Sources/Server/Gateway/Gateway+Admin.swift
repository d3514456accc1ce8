import CallCore
import CallPorts
import CallWire
import JSON
import LibWebSockets
import Nodes
import SocketIO
import Switchboard
import Threads

/// Responds to the operators' requests on the admin listener.
extension Gateway {
    func administer(_ head: RequestHead) -> Response {
        guard Self.mayAdminister(head) else { return Self.noSuchAdminMethod }
        switch head.path {
        case "/healthz": return health(isReady: true)
        case "/readyz": return health(isReady: notReadyReason == nil)
        case "/metrics":
            guard let server, switchboard != nil || node != nil else { return health(isReady: false) }
            let connections = server.connectionCountOfAllLoops
            let page = MetricsPage(
                switchboard?.metrics(at: now) ?? Metrics(),
                calls: switchboard?.countCalls() ?? [:],
                .init(
                    version: configuration.version,
                    connections: connections,
                    commitsUnderWay: switchboard?.commitsUnderWay ?? 0,
                    certificateExpiry: configuration.certificateExpiry(),
                    queueDrops: counts.queueDrops,
                    connectsRefused: router.connects.refused,
                    unjoinedRefused: router.connects.unjoined,
                    unauthenticatedDropped: unauthenticatedDroppedByReason(server.dropped),
                    requestsRefused: router.refusedRequests.all,
                    originsRefused: router.refusedOrigins.withLock { $0 },
                    packetsRefused: PacketRefusal.allCases.map { ($0.rawValue, counts.packetsRefused[$0] ?? 0) },
                    process: ProcessFigures(counts.startFigures, connections: connections),
                    logLines: configuration.logLines(),
                    keySet: configuration.keySet(),
                    outbound: configuration.outbound(),
                    auditLines: configuration.auditLines(),
                    refusedTokens: configuration.refusedTokens(),
                    clockLeaps: configuration.clock.leaps,
                    clockDifference: configuration.clock.difference,
                    node: node?.figures
                )
            )
            return Response(
                status: 200,
                contentType: "text/plain; version=0.0.4; charset=utf-8",
                body: Array(page.text.utf8)
            )
        default: return Self.noSuchAdminPath
        }
    }

    /// The paths of the health checks, which the clients' listener serves too.
    static let healthPaths: Set<String> = ["/healthz", "/readyz"]

    /// Responds to a load balancer's check of the clients' port, with any `Host` and `Origin` and without a body.
    ///
    /// Anybody may ask, so the response says no more than whether the port should get traffic.
    func healthCheck(_ head: RequestHead) -> Response {
        guard Self.mayAdminister(head) else { return Self.noSuchAdminMethod }
        let isWell = head.path == "/healthz" || notReadyReason == nil
        return Response(status: isWell ? 200 : 503, headers: [.init("Cache-Control", "no-store")])
    }

    /// Whether the operators' listener serves the method of a request.
    static func mayAdminister(_ head: RequestHead) -> Bool { head.method == "GET" || head.method == "HEAD" }

    /// The response to a method that the operators' listener does not serve.
    static let noSuchAdminMethod = Response.problem(
        405,
        code: "method_not_allowed",
        message: "allowed methods: GET, HEAD",
        headers: [.init("Allow", "GET, HEAD")]
    )

    /// The response to a path that the operators' listener does not serve.
    static let noSuchAdminPath = Response.problem(
        404,
        code: "not_found",
        message: "unknown path; known: /healthz, /readyz, /metrics"
    )

    private func unauthenticatedDroppedByReason(_ connections: DroppedUnauthenticated) -> [(String, UInt64)] {
        DroppedUnauthenticated.Reason.allCases.map { ($0.rawValue, connections[$0]) }
            + DroppedUnauthenticatedSession.allCases.map { ($0.rawValue, counts.unauthenticatedDropped[$0] ?? 0) }
    }

    /// The reason why the server should get no traffic; `nil` if it is ready.
    var notReadyReason: String? {
        if isDraining { return "draining" }
        if let reason = node?.machine.notReadyReason { return reason }
        // Only one node of several may serve without a switchboard: as an edge.
        guard switchboard != nil || node != nil, switchboard?.metrics.isStalled != true else {
            return "store unavailable"
        }
        if let keySet = configuration.keySet(), keySet.keys == 0 { return "keys unavailable" }
        return nil
    }

    private func health(isReady: Bool) -> Response {
        Self.health(isReady ? nil : notReadyReason ?? "starting", version: configuration.version)
    }

    /// Returns the response of a server that is not ready for a reason, or ready.
    static func health(_ notReadyReason: String?, version: String) -> Response {
        var json = JSONWriter()
        json.beginObject()
        json.name("status")
        json.plain(notReadyReason ?? "ok")
        json.name("version")
        json.value(version)
        json.endObject()
        let status = notReadyReason == nil ? 200 : 503
        return Response(status: status, contentType: "application/json", body: json.bytes)
    }
}
