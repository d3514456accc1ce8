import CallPorts
import CallWire
import LibWebSockets
import ServerLog
import SocketIO
import Threads

/// The log lines about upgrades and requests that were refused before they reached the switchboard.
extension RequestRouter {
    /// Logs why an upgrade was refused.
    func logRefused(_ upgrade: RequestHead, as socket: SocketID, _ error: WireError) {
        logRefused(upgrade, as: socket, code: ServerText(error.code), why: ServerText(error.message))
    }

    /// Logs why an upgrade to Engine.IO was refused.
    func logRefused(_ upgrade: RequestHead, as socket: SocketID, _ refusal: EngineRefusal) {
        logRefused(upgrade, as: socket, code: ServerText("\(refusal)"), why: ServerText(refusal.message))
    }

    func logRefused(_ upgrade: RequestHead, as socket: SocketID, code: ServerText, why: ServerText) {
        log.debug(
            "an upgrade was refused",
            [
                .connection(ConnectionNumber(socket.rawValue)), .path(RequestPath(upgrade.path)), .refusal(code),
                .why(why),
            ]
        )
    }

    /// Logs why a request was refused.
    func logRefused(_ head: RequestHead, as request: RequestID, _ fault: RoutingFault) {
        switch fault {
        case .wire(let error):
            logRefused(head, as: request, code: ServerText(error.code), why: ServerText(error.message))
        case .methodNotAllowed:
            logRefused(head, as: request, code: ServerText(WireCode.methodNotAllowed), why: ServerText("method"))
        case .upgradeRequired:
            logRefused(
                head,
                as: request,
                code: ServerText(WireCode.upgradeRequired),
                why: ServerText("no Upgrade header")
            )
        }
    }

    /// Logs why a request of Engine.IO was refused.
    func logRefused(_ head: RequestHead, as request: RequestID, _ refusal: EngineRefusal) {
        logRefused(head, as: request, code: ServerText("\(refusal)"), why: ServerText(refusal.message))
    }

    private func logRefused(_ head: RequestHead, as request: RequestID, code: ServerText, why: ServerText) {
        log.debug(
            "a request was refused",
            [
                .request(RequestNumber(request.rawValue)), .method(RequestMethod(head.method)),
                .path(RequestPath(head.path)), .refusal(code), .why(why),
            ]
        )
    }

    /// Counts and logs a request or an upgrade that is refused because of its `Origin`.
    ///
    /// A page sees only that its connection is closed, so that the operator must see why: usually, an Origin is missing
    /// in `--allow-origin`.
    func noteRefusedOrigin(of head: RequestHead) {
        refusedOrigins.withLock { $0 += 1 }
        log.limited(
            level: .warning,
            "a page was refused because of its Origin; see --allow-origin",
            of: nil,
            [.origin(UntrustedText(head.origin ?? "")), .requestHost(UntrustedText(head.host ?? ""))]
        )
    }

    /// Logs why a Socket.IO session was refused.
    func logRefusedSession(_ refusal: EngineRefusal) {
        log.debug(
            "a Socket.IO session was refused",
            [.refusal(ServerText("\(refusal)")), .why(ServerText(refusal.message))]
        )
    }

    /// Logs why a Socket.IO session was refused.
    func logRefusedSession(_ error: WireError) {
        log.debug(
            "a Socket.IO session was refused",
            [.refusal(ServerText(error.code)), .why(ServerText(error.message))]
        )
    }
}

extension SocketLoop {
    func refused(
        _ head: RequestHead,
        isUpgrade: Bool,
        on socket: SocketID,
        _ problem: Response.Problem
    ) {
        router.refusedRequests.count(problem.code)
        let fields: [LogField] = [
            .connection(ConnectionNumber(socket.rawValue)), .path(RequestPath(head.path)),
            .refusal(ServerText(problem.code)), .why(ServerText(problem.message)),
        ]
        log.debug(isUpgrade ? "an upgrade was refused" : "a request was refused", fields)
    }

    func refusalHeaders(for head: RequestHead) -> [HTTPField] {
        // No page is meant to read what the operators' listener sends.
        head.listener == Gateway.adminListener ? [] : router.refusalHeaders(for: head)
    }

    func dropped(_ socket: SocketID, _ reason: DroppedUnauthenticated.Reason) {
        log.debug(
            "a connection was dropped to make room: it had not authenticated",
            [.connection(ConnectionNumber(socket.rawValue)), .refusal(ServerText(reason))]
        )
    }

    /// Logs that a connection is closed because too much waits for its reader.
    func logTooSlow(_ socket: SocketID) {
        log.debug(
            "a connection reads too slowly and is closed",
            [.connection(ConnectionNumber(socket.rawValue)), .bytes(server.queuedBytes(on: socket))]
        )
    }
}
