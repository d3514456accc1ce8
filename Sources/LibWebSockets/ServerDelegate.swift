/// What a ``Server`` tells its owner; every method runs on the loop thread, between two turns of the loop never.
///
/// From within any of them every method of the server may be called, for any connection, the one concerned included.
public protocol ServerDelegate: AnyObject {
    /// A WebSocket upgrade that is well-formed, on one of the paths: let it in?
    func admit(_ upgrade: RequestHead, as connection: ConnectionID) -> UpgradeDecision
    /// The handshake is done; frames may be sent.
    func opened(_ connection: ConnectionID)
    /// One whole text message, reassembled, valid UTF-8, within the limit. The bytes are the library's: copy what is kept.
    func received(_ message: RawSpan, on connection: ConnectionID)
    /// A pong arrived, asked for or not. The payload, 1–125 bytes, is the library's: copy what is kept.
    func receivedPong(_ payload: RawSpan, on connection: ConnectionID)
    /// A ping arrived and is being answered; of several at once this may be said of one.
    func receivedPing(on connection: ConnectionID)
    /// A connection that was admitted is over; called once for each, when its close frame is with the library or the peer's
    /// came, or it broke, be it before it was open.
    ///
    /// - Parameters:
    ///   - connection: Which.
    ///   - code: The peer's close code, else the one it was closed with here; nil if it just broke.
    func closed(_ connection: ConnectionID, code: UInt16?)

    /// One HTTP request with its whole body; answer it by ``Server/respond(_:with:)``, now or later.
    func requested(_ head: RequestHead, body: [UInt8], exchange: ExchangeID)
    /// The peer went away before the response; nothing is expected any more.
    func abandoned(_ exchange: ExchangeID)

    /// The time set by ``Server/setTimer(afterMilliseconds:)`` has come.
    func timerFired()
    /// After every batch of ready events in which one of the other methods was called or posted work ran: the place to
    /// do once what many events asked for.
    func loopTurned()
}

extension ServerDelegate {
    /// Nothing.
    public func receivedPing(on connection: ConnectionID) {}
    /// Nothing.
    public func timerFired() {}
    /// Nothing.
    public func loopTurned() {}
}

/// What becomes of a WebSocket upgrade.
public enum UpgradeDecision: Sendable {
    /// 101, with the subprotocol chosen from the client's list; nil names none.
    case accept(subprotocol: String?)
    /// This response instead, then the connection ends.
    case refuse(HTTPResponse)
    /// 101, then at once a close frame: a browser's script sees a close code, but no status. Neither
    /// ``ServerDelegate/opened(_:)`` nor ``ServerDelegate/closed(_:code:)`` is called for it.
    case acceptThenClose(code: UInt16, reason: String, subprotocol: String?)
}

/// What became of a frame given to ``Server/send(_:to:)``.
public enum SendOutcome: Sendable, Equatable {
    /// Nothing is before it: it goes out at the end of this turn.
    case written
    /// It waits behind others.
    case queued
    /// It would take the queue over ``ServerConfiguration/maxQueueBytes`` and was dropped: close this connection.
    case overflow
    /// The connection is closing, closed or never was.
    case gone
}
