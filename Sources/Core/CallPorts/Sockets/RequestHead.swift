/// The head of one HTTP request or WebSocket upgrade.
///
/// On a link between nodes it travels without the parts that only the edge needs: ``acceptEncoding``, ``ifNoneMatch``,
/// ``requestedHeaders``, ``idempotencyKey``, ``furtherHeaders``, ``listener`` and ``peerAddress``.
package struct RequestHead: Equatable, Sendable {
    /// `GET`, `POST`, `PUT`, `DELETE`, `PATCH`, `OPTIONS` or `HEAD`.
    package var method: String
    /// The path as the client wrote it, with its escapes: nothing is decoded or folded; begins with `/`, and no part of
    /// it is `.` or `..`.
    ///
    /// It is empty if it could not be read: the server itself refuses such a request, except for `OPTIONS`, which asks
    /// about no path.
    ///
    /// `decoded(_:)` decodes a part of it.
    package var path: String
    /// The query's parameters in order, decoded (`+` is no blank); a name without `=` has an empty value.
    package var query: [HTTPField]
    /// `Authorization`.
    package var authorization: String?
    /// `Origin`.
    package var origin: String?
    /// `Host`.
    package var host: String?
    /// `Content-Type`.
    package var contentType: String?
    /// `Accept-Encoding`.
    package var acceptEncoding: String?
    /// `If-None-Match`.
    package var ifNoneMatch: String?
    /// The header names in `Access-Control-Request-Headers`, which only a browser's preflight request has.
    package var requestedHeaders: [String] = []
    /// `Idempotency-Key`.
    package var idempotencyKey: String?
    /// The headers that the server was told to read besides these.
    package var furtherHeaders: [HTTPField] = []
    /// The subprotocols offered in `Sec-WebSocket-Protocol`, in order.
    package var protocols: [String]
    /// Whether the request came over TLS.
    package var isTLS: Bool
    /// The id of the listener at which the request arrived: 0 is that of clients, also for a request that another node
    /// received.
    package var listener: Int
    /// The peer's numeric address, without the port; an IPv4 peer of a dual-stack listener is in IPv4 form.
    package var peerAddress: String
    /// The network to which the limits attribute the request before authentication: the network of the peer or, if the
    /// peer is a trusted proxy, the network of the proxy's client.
    package var clientNetwork: ClientNetwork

    /// Returns the first query parameter of this name.
    package func parameter(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// Returns the first of ``furtherHeaders`` of this name, which is in lower case.
    package func furtherHeader(_ name: String) -> String? {
        furtherHeaders.first { $0.name == name }?.value
    }

    /// Creates a head of these parts.
    package init(
        method: String = "GET",
        path: String,
        query: [HTTPField] = [],
        authorization: String? = nil,
        origin: String? = nil,
        host: String? = nil,
        contentType: String? = nil,
        protocols: [String] = [],
        isTLS: Bool = false,
        listener: Int = 0,
        peerAddress: String = "127.0.0.1",
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
        self.listener = listener
        self.peerAddress = peerAddress
        self.clientNetwork = clientNetwork
    }
}

/// A name and its value: a header line, or a parameter of a query.
package struct HTTPField: Equatable, Sendable {
    /// The name; that of a header line is spelled as it is sent.
    package var name: String
    /// The value.
    package var value: String

    /// Creates a field of a name and a value.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The network to which the limits attribute an unauthenticated connection.
///
/// It is an IPv4 address, or the first 64 bits of an IPv6 address, because one customer of a provider usually has such
/// a network alone.
package struct ClientNetwork: Hashable, Sendable {
    /// The first 64 bits of the network's address.
    package let high: UInt64
    /// The other 64 bits; 0 for an IPv6 network.
    package let low: UInt64

    /// Creates a network of the bits that another node has sent.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}
