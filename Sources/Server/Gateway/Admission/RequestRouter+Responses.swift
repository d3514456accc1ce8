import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

extension RequestRouter {
    func response(to error: WireError, for origin: String?, isSocketIO: Bool = false) -> Response {
        response(to: .wire(error), for: origin, isSocketIO: isSocketIO)
    }

    func response(to fault: RoutingFault, for origin: String?, isSocketIO: Bool = false) -> Response {
        var headers = commonHeaders(for: origin, isSocketIO: isSocketIO)
        let reply: Reply
        switch fault {
        case .wire(let error):
            reply = Reply(error)
            if let seconds = reply.retryAfterSeconds { headers.append(.init("Retry-After", String(seconds))) }
            if error.code == .unauthenticated { headers.append(.init("WWW-Authenticate", "Bearer")) }
            if error.code == .tokenExpired {
                headers.append(.init("WWW-Authenticate", #"Bearer error="invalid_token""#))
            }
        case .upgradeRequired:
            reply = Reply(
                WireError(.upgradeRequired, "this path is a WebSocket: the header Upgrade: websocket is missing")
            )
            // RFC 9110, section 7.8: a message with Upgrade must also name it in Connection.
            headers += [.init("Upgrade", "websocket"), .init("Connection", "Upgrade")]
        case .methodNotAllowed(let allowed):
            reply = Reply(WireError(.methodNotAllowed, "allowed methods: \(allowed.joined(separator: ", "))"))
            headers.append(.init("Allow", allowed.joined(separator: ", ")))
        }
        return Response(
            status: reply.status,
            contentType: "application/problem+json",
            headers: headers,
            body: reply.body
        )
    }

    /// Returns a refusal in Engine.IO's own format.
    func response(to refusal: EngineRefusal, for origin: String?) -> Response {
        Response(
            status: refusal.status,
            contentType: "application/json",
            headers: commonHeaders(for: origin, isSocketIO: true),
            body: refusal.body
        )
    }

    /// Returns the refusal of a new Socket.IO session, or `nil` if it may begin.
    ///
    /// `unjoined`: The number of the user's other sessions that have not joined.
    func refusal(whenDraining isDraining: Bool, unjoined: Int, for origin: String?) -> Response? {
        if isDraining {
            let error = WireError(.draining, "the server is shutting down")
            logRefusedSession(error)
            return response(to: error, for: origin, isSocketIO: true)
        }
        guard unjoined >= SocketIOLimits.unjoined else { return nil }
        connects.noteUnjoined()
        let error = WireError(.rateLimited, "at most \(SocketIOLimits.unjoined) sessions that have not sent CONNECT")
        logRefusedSession(error)
        return response(to: error, for: origin, isSocketIO: true)
    }

    func commonHeaders(for origin: String?, isSocketIO: Bool = false) -> [HTTPField] {
        // A response is for one user, so no cache between the server and the client may keep it.
        var headers = [HTTPField("Cache-Control", "no-store")]
        if let origin { headers += originPolicy.headers(for: origin, isSocketIO: isSocketIO) }
        return headers
    }

    /// Returns the headers of a refusal before the request is routed: those of every other response to its origin.
    ///
    /// Without them, a page would see no more than that the network failed.
    func refusalHeaders(for head: RequestHead) -> [HTTPField] {
        let isAllowed = originPolicy.isAllowed(origin: head.origin, host: head.host)
        let isSocketIO = Gateway.socketIOPaths.contains(head.path)
        return commonHeaders(for: isAllowed ? head.origin : nil, isSocketIO: isSocketIO)
    }

    /// Returns the response to a person who opens the server's address.
    func frontPageResponse(to head: RequestHead) -> Response {
        guard head.method == "GET" || head.method == "HEAD" else {
            return response(to: .methodNotAllowed(["GET", "HEAD"]), for: head.origin)
        }
        return frontPage.response(commonHeaders(for: head.origin))
    }

    func preflight(_ head: RequestHead) -> Response {
        let isSocketIO = Gateway.socketIOPaths.contains(head.path)
        return Response(
            status: 204,
            headers: commonHeaders(for: nil) + originPolicy.preflightHeaders(for: head, isSocketIO: isSocketIO)
        )
    }
}
