/// A port: opens the WebSocket to the server.
///
/// ``URLSessionTransport`` implements it. `Tests/KitDevice` implements it with libwebsockets.
@MainActor
public protocol SocketOpener: AnyObject {
    /// Opens a socket, and returns it at once; whether it opens, the events tell.
    ///
    /// - Parameters:
    ///   - request: the address and the credentials.
    ///   - events: takes what happens on the socket, in order. After ``SocketEvent/closed(_:)`` comes nothing more.
    /// - Returns: the socket, which may not be open yet.
    func open(
        _ request: SocketRequest,
        events: @escaping @MainActor @Sendable (SocketEvent) -> Void
    ) -> any SignalingSocket
}

/// A WebSocket that is open or being opened.
@MainActor
public protocol SignalingSocket: AnyObject {
    /// Sends a text frame; a frame that cannot be sent is lost, and the core sends it again by request.
    func send(_ text: String)
    /// Sends a ping, whose pong is ``SocketEvent/pong``.
    func ping()
    /// Closes the socket without waiting for the server's close; no event need come afterwards.
    func close()
}

/// The address of a WebSocket, and the credentials.
public struct SocketRequest: Equatable, Sendable {
    /// The address, `ws://` or `wss://`, with the device's id in its query (protocol, section 3.1).
    public var url: String
    /// The value of the header `Authorization`.
    public var authorization: String

    /// Creates a request from its parts.
    public init(url: String, authorization: String) {
        self.url = url
        self.authorization = authorization
    }
}

/// An event of a socket.
public enum SocketEvent: Equatable, Sendable {
    /// A text frame arrived.
    case text(String)
    /// The pong of a ping arrived.
    case pong
    /// The socket was closed, or never opened.
    case closed(SocketClosure)
}

/// Why a socket was closed, as far as that is known.
public struct SocketClosure: Equatable, Sendable {
    /// The close code (protocol, section 3.10); `nil` = there was no close frame.
    public var code: Int?
    /// The reason in the close frame.
    public var reason: String
    /// The HTTP status with which the server refused the upgrade; `nil` = it did not.
    public var status: Int?

    /// Creates a closure from its parts.
    public init(code: Int? = nil, reason: String = "", status: Int? = nil) {
        self.code = code
        self.reason = reason
        self.status = status
    }

    /// Whether the server refused the token: 401 for the upgrade, or close code 4401.
    public var isUnauthenticated: Bool { code == 4401 || status == 401 }
}
