import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Nodes
import SocketIO
import Switchboard

extension Gateway {
    /// Handles a request that was not checked yet: one of an operator or of a load balancer, or one from another node.
    func requested(_ exchange: RequestID, _ head: RequestHead, _ body: [UInt8]) {
        if head.listener == Self.adminListener { return respondToOperator(head, exchange) }
        if Self.healthPaths.contains(head.path) { return respond(exchange, with: healthCheck(head)) }
        switch router.checkRequest(head, body: body, as: exchange, now: now) {
        case .response(let response): respond(exchange, with: response)
        case .request(let request): take(request, exchange)
        }
    }

    /// Handles a request that ``RequestRouter`` has checked.
    func take(_ request: RequestRouter.Request, _ exchange: RequestID) {
        if node != nil, LinkNumber.link(of: exchange.rawValue) == 0 { requests.open.insert(exchange) }
        switch request {
        case .asks(let principal, let request, let origin):
            if let origin { requests.origins[exchange] = origin }
            markAuthenticated(for: exchange)
            feed(.requested(exchange, principal, request))
        case .socketIO(let handshake, let posted, let origin):
            if let origin { requests.origins[exchange] = origin }
            take(handshake, posted: posted, exchange)
        }
    }

    /// Handles a request that its client gave up.
    func abandoned(_ exchange: RequestID) {
        requests.open.remove(exchange)
        requests.origins[exchange] = nil
        if let session = socketIO.byRequest.removeValue(forKey: exchange) {
            handle(.abandoned(exchange.rawValue), session)
            return
        }
        feed(.abandoned(exchange))
    }

    func respond(_ reply: Reply, to exchange: RequestID) {
        if let tag = reply.entityTag {
            respondWithPage(reply, tag, to: exchange)
            return
        }
        var headers = router.commonHeaders(for: requests.origins.removeValue(forKey: exchange))
        // RFC 9110, section 15.5.2: a 401 response must name the authentication scheme.
        if reply.status == 401 { headers.append(.init("WWW-Authenticate", #"Bearer error="invalid_token""#)) }
        if let seconds = reply.retryAfterSeconds { headers.append(.init("Retry-After", String(seconds))) }
        respond(
            exchange,
            with: Response(
                status: reply.status,
                contentType: reply.isProblem ? "application/problem+json" : "application/json",
                headers: headers,
                body: reply.body
            )
        )
    }

    /// Responds with a page of the call directory, which its client may keep and ask whether it is still the newest.
    private func respondWithPage(_ reply: Reply, _ tag: String, to exchange: RequestID) {
        var headers: [HTTPField] = [
            .init("Cache-Control", "private, no-cache"), .init("ETag", tag), .init("Vary", "Accept-Encoding"),
        ]
        if let origin = requests.origins.removeValue(forKey: exchange) {
            headers += router.originPolicy.headers(for: origin)
        }
        let contentType = reply.status == 304 ? nil : "text/plain; charset=utf-8"
        respond(
            exchange,
            with: Response(status: reply.status, contentType: contentType, headers: headers, body: reply.body)
        )
    }
}
