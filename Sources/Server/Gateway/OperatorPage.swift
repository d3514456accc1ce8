package import CallCore
package import CallPorts
import CallWire
import LibWebSockets
import ServerLog
package import Switchboard

/// The operators' page on the admin listener: its files, and the calls that it shows.
///
/// The page itself holds no data, so anybody may have its files. A request for calls needs a service's token. All
/// methods are called on the gateway's thread.
package protocol OperatorPage: Sendable {
    /// Returns the response to a request for one of the page's files; `nil` = the path names none.
    func file(for head: RequestHead) -> Response?
    /// Reads calls for a service, and then calls `respond`, on any thread.
    func read(
        _ request: OperatorRequest,
        for service: UserID,
        _ respond: @escaping @Sendable (Reply) -> Void
    )
}

/// A request for calls at the admin listener, after its path and query were parsed.
package enum OperatorRequest: Equatable, Sendable {
    /// The live calls and the newest ones that have ended, and what is wrong now.
    case overview(limit: Int)
    /// A user's calls, newest first, with numbers below `before`.
    case calls(UserID, limit: Int, before: CallNumber?)
    /// The calls under one callId, newest first.
    case namesakes(CallID, limit: Int)
    /// The newest call that fits, with its timeline.
    case timeline(CallSelector)

    /// The range of the number of calls that one request may ask for.
    ///
    /// The verdict of each call needs its timeline and its log, so the number is smaller than that of a user's history.
    private static let limits: ClosedRange<Int64> = 1...100
    private static let usualLimit: Int64 = 50

    /// The paths of the requests.
    ///
    /// A callId is a query parameter: callers choose it, and in a path `..` would lead elsewhere.
    enum Path: String {
        case overview = "/api/overview", calls = "/api/calls", namesakes = "/api/namesakes", timeline = "/api/timeline"
    }

    init(_ path: Path, _ head: RequestHead) throws(WireError) {
        switch path {
        case .overview: self = .overview(limit: try Self.limit(head))
        case .calls:
            guard let user = try head.user("user") else {
                throw WireError(.invalidField, "user: missing", field: "user")
            }
            let before = try head.number("before", in: 0...Int64.max).map { CallNumber(rawValue: $0) }
            self = .calls(user, limit: try Self.limit(head), before: before)
        case .namesakes: self = .namesakes(try Self.callID(head), limit: try Self.limit(head))
        case .timeline:
            let users = [try head.user("user"), try head.peer()].compactMap { $0 }
            self = .timeline(CallSelector(try Self.callID(head), of: users, epoch: try head.epoch()))
        }
    }

    private static func limit(_ head: RequestHead) throws(WireError) -> Int {
        Int(try head.number("limit", in: limits) ?? usualLimit)
    }

    private static func callID(_ head: RequestHead) throws(WireError) -> CallID {
        guard let text = head.parameter("callId") else { throw .invalid(.callId, "missing") }
        return try CallID(inRequest: text)
    }
}

/// Responds to the requests of the operators' page.
extension Gateway {
    /// Responds to a request at the admin listener.
    func respondToOperator(_ head: RequestHead, _ id: RequestID) {
        guard operators.hosts.admits(head.host) else {
            log.limited(
                level: .warning,
                "a request to the operators' port was refused because of its Host; see --admin-host",
                of: nil,
                [.requestHost(UntrustedText(head.host ?? ""))]
            )
            respond(id, with: AdminHosts.refusal)
            return
        }
        guard Self.mayAdminister(head), let page = configuration.operatorPage else {
            respond(id, with: administer(head))
            return
        }
        if let path = OperatorRequest.Path(rawValue: head.path) {
            read(path, head, id, from: page)
        } else {
            respond(id, with: page.file(for: head) ?? administer(head))
        }
    }

    /// Reads calls for a service; a user may not read all calls, and neither may the holder of a push's capability.
    private func read(
        _ path: OperatorRequest.Path,
        _ head: RequestHead,
        _ id: RequestID,
        from page: any OperatorPage
    ) {
        do throws(WireError) {
            let service = try router.admit(authorization: head.authorization)
            guard service.isService else { throw WireError(.forbidden, "only a service may read all calls") }
            markAuthenticated(for: id)
            let request = try OperatorRequest(path, head)
            page.read(request, for: service.user) { [weak self] reply in
                self?.post { gateway in gateway.respond(reply, to: id) }
            }
        } catch {
            router.logRefused(head, as: id, .wire(error))
            respond(id, with: router.response(to: error, for: nil))
        }
    }
}
