import CallPorts
import CallWire
import LibWebSockets

/// An event of a loop's sockets, passed to the gateway in the order of occurrence.
///
/// It is a plain value that refers to connections and requests by number, so the gateway may run on any thread.
enum LoopEvent: Sendable {
    /// A connection was opened by a user that its loop admitted.
    case opened(SocketID, Admission)
    /// A WebSocket of Engine.IO was opened. The gateway decides whether its session accepts it.
    case openedSocketIO(SocketID, EngineHandshake)
    /// A complete text message arrived.
    case received(SocketID, [UInt8])
    /// A pong arrived, with the number of its ping.
    case ponged(SocketID, UInt64)
    /// A ping arrived, or a pong without the number of a ping of this server.
    case signOfLife(SocketID)
    /// A connection was closed with 4408, because too much waited for its reader. The connection's end is reported as
    /// well.
    case tooSlow(SocketID)
    /// A connection ended, or an admitted connection never opened; `code` = its close code, nil if the connection
    /// broke.
    case closed(SocketID, code: UInt16?)
    /// A request was checked on its loop, and the gateway must respond to it.
    case requested(ExchangeID, RequestRouter.Request)
    /// A request was checked on its loop, while this node did not own the calls. The owner checks it again.
    case forwarded(ExchangeID, RequestHead, [UInt8])
    /// A WebSocket of Engine.IO was opened while this node did not own the calls.
    case forwardedSocketIO(SocketID, RequestHead)
    /// A request arrived at the operators' listener, which only the gateway's own loop has.
    case requestedByOperator(ExchangeID, RequestHead)
    /// A health check arrived at the clients' listener.
    case healthRequested(ExchangeID, RequestHead)
    /// The client of a request gave it up.
    case abandoned(ExchangeID)
    /// The number of connections of a loop, requested by ``LoopCommand/count``.
    case counted(Int, loop: Int)
}

/// A command of the gateway to a loop.
///
/// Commands are carried out in the order in which the gateway gave them.
///
/// It is a plain value for the same reason as a ``LoopEvent``.
enum LoopCommand: Sendable {
    /// Send a frame. A reader that does not keep up is closed with 4408.
    case send(Frame, SocketID)
    /// Send a ping with a number, which its pong returns.
    case ping(SocketID, UInt64)
    /// Close a connection.
    case close(SocketID, code: UInt16, reason: String, discardingQueue: Bool)
    /// Respond to a request.
    case respond(ExchangeID, HTTPResponse)
    /// Record that the user of a request is known, so that its connection no longer counts as unauthenticated.
    case markAuthenticated(ExchangeID)
    /// Close all WebSocket connections of the loop.
    case closeAll(code: UInt16, reason: String)
    /// Accept no more connections, and end those that wait for a request.
    case stopListening
    /// Report the number of connections with ``LoopEvent/counted(_:loop:)``.
    case count
}
