package import CallPorts

/// The callbacks of a ``Server``.
///
/// Every method is called on the event loop's thread, during a turn of the loop or while ``Server/run()`` shuts down.
/// Within any of them every method of the server may be called, for any connection, including the one concerned.
package protocol ServerDelegate: AnyObject {
    /// Decides on a well-formed WebSocket upgrade on one of the configured paths.
    func admit(_ upgrade: RequestHead, as socket: SocketID) -> UpgradeDecision
    /// Reports that the handshake is complete and frames may be sent.
    func opened(_ socket: SocketID)
    /// Reports one whole text message: reassembled, valid UTF-8, within the size limit.
    ///
    /// The bytes belong to the library: copy what you keep.
    func messageReceived(_ message: RawSpan, on socket: SocketID)
    /// Reports a pong, solicited or not.
    ///
    /// The payload has 1–125 bytes, which belong to the library: copy what you keep.
    func receivedPong(_ payload: RawSpan, on socket: SocketID)
    /// Reports a ping that is being answered; several pings that arrive together may be reported as one.
    func receivedPing(on socket: SocketID)
    /// Reports the end of an admitted connection, exactly once for each.
    ///
    /// The call comes when the server has passed its close frame to the library, when the peer's close frame arrives,
    /// or when the connection breaks. It comes even if the connection was never reported as opened.
    ///
    /// - Parameters:
    ///   - socket: The connection that ended.
    ///   - code: The peer's close code, or else the code with which the server closed the connection; nil if the
    ///     connection broke.
    func closed(_ socket: SocketID, code: UInt16?)

    /// Reports one HTTP request with its whole body.
    ///
    /// Respond to it with ``Server/respond(_:with:)``, now or later.
    func requested(_ head: RequestHead, body: [UInt8], as request: RequestID)
    /// Decides about a request whose body is larger than ``ServerConfiguration/maxBodyBytes``, before the body is read;
    /// `nil` = it is refused with 413.
    func largeBody(of head: RequestHead) -> LargeBodyDecision?
    /// Reports that the peer went away before the response; no response is expected any more.
    func abandoned(_ request: RequestID)

    /// Reports that the server itself refused a request or an upgrade, without asking the delegate.
    ///
    /// The report is for the log only: the server sends the response itself.
    ///
    /// - Parameters:
    ///   - head: The request, as far as it could be read; its path may be empty.
    ///   - isUpgrade: Whether the request asked for an upgrade.
    ///   - socket: The connection on which the request arrived.
    ///   - problem: The reason.
    func refused(_ head: RequestHead, isUpgrade: Bool, on socket: SocketID, _ problem: Response.Problem)
    /// Returns the headers of a response with which the server itself refuses a request, such as those that let a page
    /// read it.
    func refusalHeaders(for head: RequestHead) -> [HTTPField]
    /// Reports that an unauthenticated connection was dropped to make room, for the log.
    func dropped(_ socket: SocketID, _ reason: DroppedUnauthenticated.Reason)

    /// Reports that the time set with ``Server/setTimer(afterMilliseconds:)`` has come.
    func timerFired()
    /// Reports the end of a turn in which another of these methods was called or posted work ran.
    ///
    /// This is the place for work that is done once for many events.
    func loopTurned()
}

extension ServerDelegate {
    /// Does nothing.
    package func receivedPing(on socket: SocketID) {}
    /// Does nothing.
    package func refused(
        _ head: RequestHead,
        isUpgrade: Bool,
        on socket: SocketID,
        _ problem: Response.Problem
    ) {}
    /// Returns none.
    package func refusalHeaders(for head: RequestHead) -> [HTTPField] { [] }
    /// Does nothing.
    package func dropped(_ socket: SocketID, _ reason: DroppedUnauthenticated.Reason) {}
    /// Allows no body above the general limit.
    package func largeBody(of head: RequestHead) -> LargeBodyDecision? { nil }
    /// Does nothing.
    package func timerFired() {}
    /// Does nothing.
    package func loopTurned() {}
}

/// The decision on a request with a large body.
package enum LargeBodyDecision: Sendable {
    /// The body may have this many bytes.
    case limit(Int)
    /// Send this response without reading the body, which is discarded.
    case refusal(Response)
}

/// The decision on a WebSocket upgrade.
package enum UpgradeDecision: Sendable {
    /// Respond with 101 and this subprotocol from the client's list; nil sends no subprotocol.
    case accept(subprotocol: String?)
    /// Send this response instead, then end the connection.
    case refuse(Response)
    /// Respond with 101, then immediately send a close frame.
    ///
    /// A browser's script can read a close code but no HTTP status. Neither ``ServerDelegate/opened(_:)`` nor
    /// ``ServerDelegate/closed(_:code:)`` is called for this connection.
    case acceptThenClose(code: UInt16, reason: String, subprotocol: String?)
}

/// The result of ``Server/send(_:to:)``.
package enum SendOutcome: Sendable, Equatable {
    /// No other frame waits, so the frame goes out at the end of this turn.
    case written
    /// The frame waits in the queue, after other frames.
    case queued
    /// The frame was dropped, because the queue would exceed ``ServerConfiguration/maxQueueBytes``; close this
    /// connection.
    case overflow
    /// The connection is closing, is closed, or never existed.
    case gone
}
