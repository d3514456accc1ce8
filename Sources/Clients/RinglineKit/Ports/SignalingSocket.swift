/// A port: opens the WebSocket to the server.
///
/// ``URLSessionTransport`` implements it. `Tests/Clients/KitDevice` implements it with libwebsockets.
@MainActor
public protocol SocketOpener: AnyObject {
    /// Begins to open a socket, and returns at once; the events say whether it opens.
    ///
    /// - Parameters:
    ///   - request: the address and the credentials.
    ///   - events: takes the events of the socket, in order. ``SocketEvent/closed(_:)`` is the last one.
    /// - Returns: the socket, which may not be open yet.
    func open(
        _ request: SocketRequest,
        events: @escaping @MainActor @Sendable (SocketEvent) -> Void
    ) -> any SignalingSocket
}

/// A WebSocket that is open or being opened.
@MainActor
public protocol SignalingSocket: AnyObject {
    /// Sends a text frame. A frame that cannot be sent is dropped: the core sends the signal again by REST.
    func send(_ text: String)
    /// Sends a ping; ``SocketEvent/pong`` reports the answer.
    func ping()
    /// Closes the socket without waiting for the server's close. No event is needed afterwards.
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
    /// The close code, such as 4401 (protocol, section 3.10); `nil` = there was no close frame.
    public var code: Int?
    /// The reason in the close frame.
    public var reason: String
    /// The HTTP status with which the server refused to open the WebSocket; `nil` = it did not refuse, or is unreachable.
    ///
    /// An implementation of the port must report 401: otherwise the kit tries the refused token again and again, and does not
    /// ask for a fresh one.
    public var status: Int?

    /// Creates a closure from its parts.
    public init(code: Int? = nil, reason: String = "", status: Int? = nil) {
        self.code = code
        self.reason = reason
        self.status = status
    }

    /// Whether the server refused the token: 401 for the upgrade, or close code 4401.
    public var isUnauthenticated: Bool { code == 4401 || status == 401 }

    /// Whether another connection with the same device id has replaced this one: close code 4409.
    public var isReplaced: Bool { code == 4409 }
}
