package import CallCore

/// An event of a client's sockets and requests, in the order of occurrence.
///
/// It is a plain value, because the sockets may belong to a loop on another thread, or to another node. Requests are as
/// they arrived: whoever decides parses and checks them with the settings that it has.
package enum SocketEvent: Equatable, Sendable {
    /// A connection was opened by a user that its loop admitted; `device` is the device that the address names.
    ///
    /// On a link the moments of the principal are of the wall clock, because each node's own clock differs.
    indirect case opened(SocketID, Principal, device: DeviceID?)
    /// A WebSocket of Engine.IO was opened; who decides says whether its session accepts it.
    indirect case openedSocketIO(SocketID, RequestHead)
    /// A complete text message arrived; it is valid UTF-8.
    case received(SocketID, [UInt8])
    /// A pong arrived, with the number of its ping.
    case ponged(SocketID, UInt64)
    /// A ping arrived, or a pong without the number of a ping of this server.
    case signOfLife(SocketID)
    /// A connection was closed with 4408, because too much waited for its reader; its end is reported as well.
    case tooSlow(SocketID)
    /// A connection ended, or an admitted connection never opened; `code` = its close code, `nil` if the connection
    /// broke.
    case closed(SocketID, code: UInt16?)
    /// A request arrived.
    indirect case requested(RequestID, RequestHead, body: [UInt8])
    /// The client of a request gave it up.
    case abandoned(RequestID)
}
