import LibWebSockets

/// What a further loop tells the owner, in the order in which it happened there.
enum LoopNews: Sendable {
    /// A session of somebody who was let in there.
    case opened(ConnectionID, Admission)
    /// A WebSocket of Engine.IO's: whether its session takes it, the owner knows.
    case openedEngine(ConnectionID, EngineKnock)
    case received(ConnectionID, [UInt8])
    case ponged(ConnectionID, UInt64?)
    case closed(ConnectionID)
    /// A request that was looked at there and not answered.
    case requested(ExchangeID, Doorkeeper.Request)
    case abandoned(ExchangeID)
    /// How many connections there are, asked for by ``LoopOrder/count``.
    case counted(Int)
}

/// What the owner has a further loop do, in the order in which it was decided.
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
