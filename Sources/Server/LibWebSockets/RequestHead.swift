/// The head of one HTTP request or WebSocket upgrade, copied out of the library's header pool.
package struct RequestHead: Sendable {
    /// `GET`, `POST`, `PUT`, `DELETE`, `PATCH`, `OPTIONS` or `HEAD`.
    package var method: String
    /// The path as the client wrote it, with its escapes: nothing is decoded or folded; begins with `/`, and no part of
    /// it is `.` or `..`.
    ///
    /// It is empty if it could not be read: the server itself refuses such a request, except for `OPTIONS`, which asks
    /// about no path.
    ///
    /// ``decoded(_:)`` decodes a part of it.
    package var path: String
    /// The query's parameters in order, decoded (`+` is no blank); a name without `=` has an empty value.
    package var query: [(name: String, value: String)]
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
    /// The subprotocols offered in `Sec-WebSocket-Protocol`, in order.
    package var protocols: [String]
    /// Whether the request came over TLS.
    package var isTLS: Bool
    /// The id of the listener at which the request arrived: 0 is the configured listener, and other ids were given to
    /// ``Server/addListener(host:port:id:)``.
    package var listener: Int
    /// The peer's numeric address, without the port; an IPv4 peer of a dual-stack listener is in IPv4 form.
    package var peerAddress: String
    /// The network to which the limits attribute the request before authentication: the network of the peer or, if the
    /// peer is a trusted proxy, the network of the proxy's client.
    package var clientNetwork: ClientNetwork

    /// Returns a part of a path with its escapes resolved.
    package static func decoded(_ part: some StringProtocol) -> String {
        // The escapes were checked when the head was read; a head that was made by hand may have any text.
        RequestTarget.decoded(part.utf8).map { String(decoding: $0, as: UTF8.self) } ?? String(part)
    }

    /// Returns the first query parameter of this name.
    package func parameter(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// Creates a head by hand, for tests of the layers above the sockets.
    package init(
        method: String = "GET",
        path: String,
        query: [(name: String, value: String)] = [],
        authorization: String? = nil,
        origin: String? = nil,
        host: String? = nil,
        contentType: String? = nil,
        protocols: [String] = [],
        isTLS: Bool = false,
        listener: Int = 0,
        peerAddress: String = "127.0.0.1"
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
        clientNetwork = ClientNetwork(PeerAddress(peerAddress) ?? PeerAddress())
    }
}
