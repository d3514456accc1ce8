import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Switchboard

/// The operation that a request's method and path name, with the parts of that path.
struct Route {
    let operation: Operation
    private let parts: [String]

    /// All operations by the number of their path's parts, and those of one path together.
    ///
    /// The first path that fits counts: `signal` in `/api/calls/signal` is no callId. So the words stand before the
    /// variables.
    private static let paths: [Int: [[Operation]]] = {
        let all =
            Operation.signals + Operation.calls + Operation.devices + Operation.blocks + Operation.directory
            + Operation.schedules + Operation.credentials + Operation.events + Operation.service
        var paths: [Int: [[Operation]]] = [:]
        for operation in all {
            var known = paths[operation.path.count] ?? []
            if let place = known.firstIndex(where: { $0[0].path == operation.path }) {
                known[place].append(operation)
            } else {
                known.append([operation])
            }
            paths[operation.path.count] = known
        }
        return paths
    }()

    init(method: String, path: String) throws(RoutingFault) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        guard parts != ["ws"] else { throw .upgradeRequired }
        guard let operations = Self.paths[parts.count]?.first(where: { $0[0].path.matches(parts) }) else {
            throw .wire(WireError(.notFound, "unknown path"))
        }
        // RFC 9110, section 9.3.2: HEAD is handled as GET, and the server leaves out the body of its response.
        let meant = method == "HEAD" ? "GET" : method
        guard let operation = operations.first(where: { $0.method == meant }) else {
            throw .methodNotAllowed(operations.flatMap { $0.method == "GET" ? ["GET", "HEAD"] : [$0.method] })
        }
        self.operation = operation
        self.parts = parts
    }

    /// Returns the switchboard's request, from the path, the query and the body.
    func request(
        _ head: RequestHead,
        body: [UInt8],
        ringTimeout: Moment.Duration
    ) throws(WireError) -> Switchboard.Request {
        try operation.request(head, parts, body: body, ringTimeout: ringTimeout)
    }
}
