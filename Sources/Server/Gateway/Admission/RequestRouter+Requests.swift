import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

extension RequestRouter {
    /// The result of the checks that a loop can make without the switchboard: a response to send at once, or the
    /// checked request.
    enum Routing {
        case response(Response)
        case request(Request)
    }

    /// A request to which the gateway has to respond.
    enum Request: Sendable {
        /// A request to the switchboard, with the user who sent it.
        case asks(Principal, Switchboard.Request, origin: String?)
        /// One of Engine.IO's requests: a poll, or a POST with its body.
        case socketIO(EngineHandshake, posted: [UInt8]?, origin: String?)
    }

    /// Checks a request that arrived on any loop; `now` is the time against which a push's capability is checked.
    func checkRequest(_ head: RequestHead, body: [UInt8], as id: RequestID, now: Moment) -> Routing {
        guard originPolicy.isAllowed(origin: head.origin, host: head.host) else {
            let error = WireError(.forbidden, "this Origin is not allowed")
            noteRefusedOrigin(of: head)
            logRefused(head, as: id, .wire(error))
            return .response(response(to: error, for: nil))
        }
        if head.method == "OPTIONS" { return .response(preflight(head)) }
        if let page, let response = page(head) { return .response(response) }
        if page == nil, head.path == FrontPage.path { return .response(frontPageResponse(to: head)) }
        if Gateway.socketIOPaths.contains(head.path) {
            do throws(EngineRefusal) {
                let handshake = try handshake(head, transport: "polling")
                if let refusal = connectRefusal(of: handshake) {
                    logRefused(head, as: id, .wire(refusal))
                    return .response(response(to: refusal, for: head.origin, isSocketIO: true))
                }
                return .request(.socketIO(handshake, posted: head.method == "GET" ? nil : body, origin: head.origin))
            } catch {
                logRefused(head, as: id, error)
                return .response(response(to: error, for: head.origin))
            }
        }
        do throws(RoutingFault) {
            let route = try Route(method: head.method, path: head.path)
            let principal: Principal
            do throws(WireError) { principal = try admit(request: head.bearer, now: now) } catch {
                throw RoutingFault.wire(error)
            }
            do throws(WireError) {
                // The body, which may be the lines of an update, is read only if its sender may make the request.
                try route.operation.checkBearer(principal)
                let request = try route.request(head, body: body, ringTimeout: ringTimeout)
                return .request(.asks(principal, request, origin: head.origin))
            } catch { throw RoutingFault.wire(error) }
        } catch {
            logRefused(head, as: id, error)
            return .response(response(to: error, for: head.origin))
        }
    }

    /// Decides about a request whose body is above the general limit, before the body is read.
    ///
    /// Only a service may send one, and only to change the call directory: otherwise anybody could make the server hold
    /// many large bodies.
    func largeBody(of head: RequestHead) -> LargeBodyDecision? {
        // Any other request is refused with 413, whatever its path is.
        guard let route = try? Route(method: head.method, path: head.path), route.operation.bearer == .service else {
            return nil
        }
        do throws(WireError) {
            let principal = try admit(authorization: head.bearer)
            try route.operation.checkBearer(principal)
            return .limit(NumberUpdate.mostBytes)
        } catch { return .refusal(response(to: error, for: head.origin)) }
    }

    /// Returns the identity that a request's `Authorization` proves.
    ///
    /// The header contains a bearer token (JWT), or the capability that the push gave to the device.
    private func admit(request authorization: String?, now: Moment) throws(WireError) -> Principal {
        let words = authorization?.split(separator: " ", maxSplits: 1) ?? []
        guard words.count == 2, words[0].lowercased() == "ring" else { return try admit(authorization: authorization) }
        do throws(AuthenticationError) {
            return try authenticator.authenticate(capability: String(words[1]), atMilliseconds: now.milliseconds)
        } catch { throw WireError(error) }
    }
}

/// The reason why a request is refused before it reaches the switchboard.
enum RoutingFault: Error {
    case wire(WireError)
    case methodNotAllowed([String])
    case upgradeRequired
}
