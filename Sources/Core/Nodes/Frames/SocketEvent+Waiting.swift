import CallCore
package import CallPorts

extension SocketEvent {
    /// The socket that the event is about; `nil` for a request.
    package var socket: SocketID? {
        switch self {
        case .opened(let socket, _, _), .openedSocketIO(let socket, _), .received(let socket, _): socket
        case .ponged(let socket, _), .signOfLife(let socket), .tooSlow(let socket), .closed(let socket, _): socket
        case .requested, .abandoned: nil
        }
    }

    /// Whether a client relies on the event, so that it must not be lost without the client noticing.
    ///
    /// A pong or a sign of life is lost without harm: a new owner asks again.
    package var needsConfirmation: Bool {
        switch self {
        case .opened, .openedSocketIO, .received: true
        case .ponged, .signOfLife, .tooSlow, .closed, .requested, .abandoned: false
        }
    }

    /// The bytes that the event counts for while it waits.
    package var size: Int {
        switch self {
        case .received(_, let bytes): bytes.count + NodeLimits.eventOverhead
        case .requested(_, let head, let body): head.size + body.count + NodeLimits.eventOverhead
        case .openedSocketIO(_, let head): head.size + NodeLimits.eventOverhead
        case .opened(_, let principal, _): principal.size + NodeLimits.eventOverhead
        case .ponged, .signOfLife, .tooSlow, .closed, .abandoned: NodeLimits.eventOverhead
        }
    }
}

extension Principal {
    /// The bytes of its long texts, about.
    fileprivate var size: Int {
        user.text.utf8.count + (name?.utf8.count ?? 0) + rooms.reduce(0) { $0 + $1.utf8.count + 16 }
    }
}

extension RequestHead {
    /// The bytes of all texts.
    fileprivate var size: Int {
        var size = method.utf8.count + path.utf8.count
        for field in query { size += field.name.utf8.count + field.value.utf8.count }
        for text in protocols { size += text.utf8.count }
        for text in [authorization, origin, host, contentType] { size += text?.utf8.count ?? 0 }
        return size
    }
}
