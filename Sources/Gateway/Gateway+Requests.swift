import CallCore
import CallWire
public import LibWebSockets
import SocketIO
import Switchboard

extension Gateway {
    /// A whole request came.
    public func requested(_ head: RequestHead, body: [UInt8], exchange: ExchangeID) {
        if head.listener == Self.adminListener {
            server?.respond(exchange, with: administer(head))
            return
        }
        guard isAllowed(origin: head.origin, host: head.host) else {
            server?.respond(exchange, with: response(to: WireError(.forbidden, "this Origin may not ask"), for: nil))
            return
        }
        if head.method == "OPTIONS" {
            server?.respond(exchange, with: preflight(head))
            return
        }
        if Self.socketIOPaths.contains(head.path) {
            requestedSocketIO(head, body: body, exchange: exchange)
            return
        }
        do throws(RoutingFault) {
            let route = try Route(method: head.method, path: head.path)
            let who: Who
            do throws(WireError) { who = try admit(request: bearer(of: head)) } catch {
                throw RoutingFault.wire(error)
            }
            let request: Switchboard.Request
            do throws(WireError) {
                request = try route.request(head, body: body, ringFor: configuration.policy.ringFor)
            } catch { throw RoutingFault.wire(error) }
            if let origin = head.origin { origins[exchange] = origin }
            feed(.requested(RequestID(rawValue: exchange.rawValue), who, request))
        } catch {
            server?.respond(exchange, with: response(to: error, for: head.origin))
        }
    }

    /// Whom a request's `Authorization` stands for: a token's bearer, or a phone that a push has just woken.
    private func admit(request authorization: String?) throws(WireError) -> Who {
        let words = authorization?.split(separator: " ", maxSplits: 1) ?? []
        guard words.count == 2, words[0].lowercased() == "ring" else { return try admit(authorization: authorization) }
        return try bouncer.admit(capability: String(words[1]), atMilliseconds: now.milliseconds)
    }

    /// The header, or what stands for it in the address where a client cannot set headers.
    func bearer(of head: RequestHead) -> String? {
        head.authorization ?? head.parameter("token").map { "Bearer \($0)" }
    }

    /// Whoever asked is gone.
    public func abandoned(_ exchange: ExchangeID) {
        origins[exchange] = nil
        if let engine = engines.byRequest.removeValue(forKey: exchange) {
            handle(.abandoned(exchange.rawValue), engine)
            return
        }
        feed(.abandoned(RequestID(rawValue: exchange.rawValue)))
    }

    func respond(_ reply: Reply, to exchange: ExchangeID) {
        var headers = commonHeaders(for: origins.removeValue(forKey: exchange))
        if let seconds = reply.retryAfterSeconds { headers.append(.init("Retry-After", String(seconds))) }
        server?.respond(
            exchange,
            with: HTTPResponse(
                status: reply.status,
                contentType: reply.isProblem ? "application/problem+json" : "application/json",
                headers: headers,
                body: reply.body
            )
        )
    }

    func response(to error: WireError, for origin: String?) -> HTTPResponse {
        response(to: .wire(error), for: origin)
    }

    private func response(to fault: RoutingFault, for origin: String?) -> HTTPResponse {
        var headers = commonHeaders(for: origin)
        let reply: Reply
        switch fault {
        case .wire(let error):
            reply = Reply(error)
            if error.code == .unauthenticated { headers.append(.init("WWW-Authenticate", "Bearer")) }
            if error.code == .tokenExpired {
                headers.append(.init("WWW-Authenticate", #"Bearer error="invalid_token""#))
            }
        case .upgradeRequired:
            reply = Reply(WireError(.upgradeRequired, "this is a WebSocket's path: Upgrade: websocket is missing"))
            // RFC 9110, section 7.8: whoever sends Upgrade says so in Connection.
            headers += [.init("Upgrade", "websocket"), .init("Connection", "Upgrade")]
        case .methodNotAllowed(let allowed):
            reply = Reply(WireError(.methodNotAllowed, "allowed here: \(allowed.joined(separator: ", "))"))
            headers.append(.init("Allow", allowed.joined(separator: ", ")))
        }
        return HTTPResponse(
            status: reply.status,
            contentType: "application/problem+json",
            headers: headers,
            body: reply.body
        )
    }

    func commonHeaders(for origin: String?) -> [HTTPResponse.Header] {
        // What is answered is one user's: no cache on the way may keep it.
        var headers = [HTTPResponse.Header("Cache-Control", "no-store")]
        if let origin {
            headers.append(.init("Access-Control-Allow-Origin", origin))
            headers.append(.init("Vary", "Origin"))
        }
        return headers
    }

    private func preflight(_ head: RequestHead) -> HTTPResponse {
        var headers = commonHeaders(for: head.origin)
        headers.append(.init("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"))
        headers.append(.init("Access-Control-Allow-Headers", "Authorization, Content-Type"))
        headers.append(.init("Access-Control-Max-Age", "600"))
        return HTTPResponse(status: 204, headers: headers)
    }
}

/// Why a request came to nothing before anybody looked at it.
enum RoutingFault: Error {
    case wire(WireError)
    case methodNotAllowed([String])
    case upgradeRequired
}
