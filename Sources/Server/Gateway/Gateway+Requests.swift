import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Nodes
import SocketIO
import Switchboard

extension Gateway {
    /// Handles a request that was not checked yet: one of an operator or of a load balancer, or one from another node.
    func requested(_ id: RequestID, _ head: RequestHead, _ body: [UInt8]) {
        if head.listener == Self.adminListener { return respondToOperator(head, id) }
        if Self.healthPaths.contains(head.path) { return respond(id, with: healthCheck(head)) }
        switch router.checkRequest(head, body: body, as: id, now: now) {
        case .response(let response): respond(id, with: response)
        case .request(let request): requestChecked(request, id)
        }
    }

    /// Handles a request that ``RequestRouter`` has checked.
    func requestChecked(_ request: RequestRouter.Request, _ id: RequestID) {
        if node != nil, LinkNumber.link(of: id.rawValue) == 0 { requests.open.insert(id) }
        switch request {
        case .asks(let principal, let request, let origin):
            if let origin { requests.origins[id] = origin }
            markAuthenticated(for: id)
            feed(.requested(id, principal, request))
        case .socketIO(let handshake, let posted, let origin):
            if let origin { requests.origins[id] = origin }
            handshakeReceived(handshake, posted: posted, id)
        }
    }

    /// Handles a request that its client gave up.
    func abandoned(_ id: RequestID) {
        requests.open.remove(id)
        requests.origins[id] = nil
        if let session = socketIO.byRequest.removeValue(forKey: id) {
            feedSession(.abandoned(id.rawValue), session)
            return
        }
        feed(.abandoned(id))
    }

    func respond(_ reply: Reply, to id: RequestID) {
        if let tag = reply.entityTag {
            respondWithPage(reply, tag, to: id)
            return
        }
        var headers = router.commonHeaders(for: requests.origins.removeValue(forKey: id))
        // RFC 9110, section 15.5.2: a 401 response must name the authentication scheme.
        if reply.status == 401 { headers.append(.init("WWW-Authenticate", #"Bearer error="invalid_token""#)) }
        if let seconds = reply.retryAfterSeconds { headers.append(.init("Retry-After", String(seconds))) }
        respond(
            id,
            with: Response(
                status: reply.status,
                contentType: reply.isProblem ? "application/problem+json" : "application/json",
                headers: headers,
                body: reply.body
            )
        )
    }

    /// Responds with a page of the call directory, which its client may keep and ask whether it is still the newest.
    private func respondWithPage(_ reply: Reply, _ tag: String, to id: RequestID) {
        var headers: [HTTPField] = [
            .init("Cache-Control", "private, no-cache"), .init("ETag", tag), .init("Vary", "Accept-Encoding"),
        ]
        if let origin = requests.origins.removeValue(forKey: id) {
            headers += router.originPolicy.headers(for: origin)
        }
        let contentType = reply.status == 304 ? nil : "text/plain; charset=utf-8"
        respond(
            id,
            with: Response(status: reply.status, contentType: contentType, headers: headers, body: reply.body)
        )
    }
}
