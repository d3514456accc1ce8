import CallPorts

/// What a loop passes to the gateway, in the order of occurrence.
enum LoopEvent: Sendable {
    /// An event of the loop's sockets.
    case socket(SocketEvent)
    /// A request arrived, which was checked on its loop.
    case checked(RequestID, RequestRouter.Request)
    /// A WebSocket of Engine.IO was opened, whose handshake was checked on its loop. The gateway decides whether its
    /// session accepts it.
    case checkedSocketIO(SocketID, EngineHandshake)
    /// The number of connections of a loop, requested by ``LoopCommand/count``.
    case counted(Int, loop: Int)
}

/// A command of the gateway to a loop; a loop carries out its commands in order.
enum LoopCommand: Sendable {
    /// A command on one of the loop's sockets or requests.
    case socket(SocketCommand)
    /// Close all WebSocket connections of the loop.
    case closeAll(code: UInt16, reason: String)
    /// Accept no more connections, and end those that wait for a request.
    case stopListening
    /// Report the number of connections with ``LoopEvent/counted(_:loop:)``.
    case count
}
