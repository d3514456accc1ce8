import LibWebSockets

/// An event of a further loop, sent to the owner in the order of occurrence.
enum LoopNews: Sendable {
    /// A connection was opened by a user that was admitted on that loop.
    case opened(ConnectionID, Admission)
    /// A WebSocket of Engine.IO was opened. The owner decides whether its session accepts it.
    case openedEngine(ConnectionID, EngineKnock)
    case received(ConnectionID, [UInt8])
    case ponged(ConnectionID, UInt64?)
    case closed(ConnectionID)
    /// A request was checked on that loop and not answered.
    case requested(ExchangeID, Doorkeeper.Request)
    case abandoned(ExchangeID)
    /// The number of connections, requested by ``LoopOrder/count``.
    case counted(Int)
}

/// An order of the owner to a further loop, sent in the order of decision.
enum LoopOrder: Sendable {
    case send([UInt8], ConnectionID)
    case ping(ConnectionID, UInt64)
    case close(ConnectionID, code: UInt16, reason: String, discardingQueue: Bool)
    case respond(ExchangeID, HTTPResponse)
    case vouch(ExchangeID)
    case stopListening
    case count
    case serve(ServerCertificate)
}
