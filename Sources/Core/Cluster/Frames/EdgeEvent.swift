package import CallCore
package import CallPorts

/// An event of an edge's sockets, passed to the owner in the order of occurrence.
///
/// It contains what a `LoopEvent` of the gateway contains, as plain values. Requests travel as they arrived, because
/// the owner parses and checks them with the settings that it has.
package enum EdgeEvent: Equatable, Sendable {
    /// A connection was opened by a user that the edge admitted; `device` is the device that the address names.
    ///
    /// On a link the moments of the principal are of the wall clock, because each node's own clock differs.
    indirect case opened(EdgeSocketID, Principal, device: DeviceID?)
    /// A WebSocket of Engine.IO was opened; the owner decides whether its session accepts it.
    indirect case openedSocketIO(EdgeSocketID, EdgeRequestHead)
    /// A complete text message arrived.
    case received(EdgeSocketID, [UInt8])
    /// A pong arrived, with the number of its ping.
    case ponged(EdgeSocketID, UInt64)
    /// A ping arrived, or a pong without the number of a ping of the owner.
    case signOfLife(EdgeSocketID)
    /// A connection was closed with 4408, because too much waited for its reader; its end is reported as well.
    case tooSlow(EdgeSocketID)
    /// A connection ended; `code` = its close code, `nil` if the connection broke.
    case closed(EdgeSocketID, code: UInt16?)
    /// A request arrived.
    indirect case requested(EdgeExchangeID, EdgeRequestHead, body: [UInt8])
    /// The client of a request gave it up.
    case abandoned(EdgeExchangeID)

    /// The socket that the event is about; `nil` for a request.
    package var socket: EdgeSocketID? {
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
        case .received(_, let bytes): bytes.count + ClusterLimits.eventOverhead
        case .requested(_, let head, let body): head.size + body.count + ClusterLimits.eventOverhead
        case .openedSocketIO(_, let head): head.size + ClusterLimits.eventOverhead
        case .opened(_, let principal, _): principal.size + ClusterLimits.eventOverhead
        case .ponged, .signOfLife, .tooSlow, .closed, .abandoned: ClusterLimits.eventOverhead
        }
    }
}

extension Principal {
    /// The bytes of its long texts, about.
    fileprivate var size: Int {
        user.text.utf8.count + (name?.utf8.count ?? 0) + rooms.reduce(0) { $0 + $1.utf8.count + 16 }
    }
}

/// The head of a request or an upgrade, as an edge received it.
package struct EdgeRequestHead: Equatable, Sendable {
    /// A name and its value: a parameter of the query, or a header line.
    package struct Field: Equatable, Sendable {
        /// The name.
        package var name: String
        /// The value.
        package var value: String

        /// Creates a field.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The method, in upper case.
    package var method: String
    /// The decoded path.
    package var path: String
    /// The decoded parameters of the query, in order.
    package var query: [Field]
    /// `Authorization`.
    package var authorization: String?
    /// `Origin`.
    package var origin: String?
    /// `Host`.
    package var host: String?
    /// `Content-Type`.
    package var contentType: String?
    /// The subprotocols that the client offers, in order.
    package var protocols: [String]
    /// Whether the request came over TLS.
    package var isTLS: Bool
    /// The network to which the limits attribute the request before authentication.
    package var clientNetwork: ClientNetwork

    /// The two halves of a network's address, as the edge compares them.
    package struct ClientNetwork: Hashable, Sendable {
        /// The first half.
        package var high: UInt64
        /// The second half.
        package var low: UInt64

        /// Creates the network with these halves.
        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }
    }

    /// Creates a head of these parts.
    package init(
        method: String = "GET",
        path: String,
        query: [Field] = [],
        authorization: String? = nil,
        origin: String? = nil,
        host: String? = nil,
        contentType: String? = nil,
        protocols: [String] = [],
        isTLS: Bool = false,
        clientNetwork: ClientNetwork = ClientNetwork(high: 0, low: 0)
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.authorization = authorization
        self.origin = origin
        self.host = host
        self.contentType = contentType
        self.protocols = protocols
        self.isTLS = isTLS
        self.clientNetwork = clientNetwork
    }

    /// The bytes of all texts.
    var size: Int {
        var size = method.utf8.count + path.utf8.count
        for field in query { size += field.name.utf8.count + field.value.utf8.count }
        for text in protocols { size += text.utf8.count }
        for text in [authorization, origin, host, contentType] { size += text?.utf8.count ?? 0 }
        return size
    }
}
