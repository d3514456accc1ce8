package import CallCore
package import CallWire

extension SocketSession {
    /// An input of the session, grouped by its source.
    package enum Input: Sendable {
        /// The session was created. The server sends first.
        case began

        // Inputs from the client.
        /// A GET with this request number arrived.
        case polled(UInt64)
        /// The client of this GET is gone.
        case abandoned(UInt64)
        /// A POST with this request number and body arrived.
        case posted(UInt64, [UInt8])
        /// The session's WebSocket is open: either its first transport, or an upgrade of polling.
        case socketOpened
        /// A text message arrived on the session's WebSocket.
        case socketReceived([UInt8])
        /// A WebSocket pong frame arrived. The number is set if the pong answers an ``Output/pingSocket(_:)``.
        case socketPonged(UInt64?)
        /// The session's WebSocket is gone.
        case socketClosed

        // Inputs from the gateway.
        /// The result of ``Output/verify(token:)``.
        case verified(Result<Identity, WireError>)
        /// A frame of the switchboard, with its headroom in front.
        case frame([UInt8])
        /// The switchboard's ping with this number, to be answered by ``Output/ponged(_:)``.
        case ping(UInt64)
        /// The switchboard or the gateway closes the session: a close code of `/ws`, and the reason.
        case closedByServer(code: UInt16, reason: String)
        /// All inputs that arrived together have been handled.
        case turnEnded

        // The input from the clock.
        /// The moment that ``SocketSession/deadline`` names has come.
        case deadlineReached
    }

    /// An effect for the gateway to carry out.
    ///
    /// Outputs must be carried out in order.
    package enum Output: Equatable, Sendable {
        /// Respond to a GET with this payload.
        case respond(UInt64, [UInt8])
        /// Respond to a POST that was accepted.
        case accept(UInt64)
        /// Refuse a request.
        case refuse(UInt64, EngineRefusal)
        /// Send on the session's WebSocket. The first `Frame.headroom` bytes are headroom.
        case send([UInt8])
        /// Send a WebSocket ping frame with this number.
        case pingSocket(UInt64)
        /// Close the session's WebSocket.
        case closeSocket(code: UInt16, reason: String)
        /// Verify this token; ``Input/verified(_:)`` follows.
        case verify(token: String)
        /// Register this session with the switchboard as a connection of this user.
        ///
        /// If `isSelfNamed`, the client named the user itself, and no token proves it; otherwise the token that was
        /// verified last names the user.
        case join(Identity, device: DeviceID?, isSelfNamed: Bool)
        /// Pass a frame to the switchboard.
        case received([UInt8])
        /// Report a sign of life to the switchboard.
        case signOfLife
        /// Report to the switchboard that its ping with this number was answered.
        case ponged(UInt64)
        /// Store these cursors: the client has received the log of each of these calls up to this sequence number.
        case seen([LogIdentity: UInt64])
        /// Send ``Input/turnEnded`` when all inputs that arrived together have been handled.
        case needsTurnEnd
        /// Count a packet that the session refused before it reached the switchboard.
        case refusedPacket(PacketRefusal)
        /// Remove the session: it is over.
        case over
    }

    /// A ping, or the client's next poll where it takes the place of a ping
    /// (``SocketSession/ping(requestNumber:at:)``).
    ///
    /// Its confirmation shows that everything sent before it has arrived.
    struct Ping: Equatable {
        /// The way in which the client confirms a ping.
        enum Confirmation { case pong, nextPoll }

        /// The session's own number for the ping.
        let number: UInt64
        /// The switchboard's number for the ping; `nil` if the session sent it of its own accord.
        let requestNumber: UInt64?
        let confirmation: Confirmation
        let sentAt: Moment
        /// For each call, the sequence number of the last entry that was sent between the previous ping and this ping.
        let seen: [LogIdentity: UInt64]
        /// The value of ``SocketSession/queuedPackets`` at the ping: every packet up to this number was queued before
        /// it.
        ///
        /// Used if the client confirms the ping by its next poll.
        let packetsBefore: UInt64
        /// Whether the switchboard asked for the ping, and no poll was responded to since: the client cannot know of
        /// it.
        var awaitsResponse: Bool
        /// Whether all of those packets have been sent.
        var isSent = false
    }

    /// An event that the switchboard has neither acknowledged nor refused yet.
    struct PendingEvent: Equatable {
        let event: String
        /// The number under which the client wants the ack; `nil` if it wants none.
        let number: UInt64?
        /// The peer of the call that the event begins or ends; `nil` for any other event.
        let peer: UserID?
    }
}
