public import CallCore
public import CallWire

extension SocketSession {
    /// What can happen to a session, by who causes it.
    public enum Input: Sendable {
        /// The session is made: the server speaks first.
        case began

        // From the client.
        /// A GET came, of this number.
        case polled(UInt64)
        /// Whoever sent that GET is gone.
        case abandoned(UInt64)
        /// A POST came.
        case posted(UInt64, [UInt8])
        /// Its WebSocket is open: the one it begins with, or one to take over from polling.
        case socketOpened
        /// A text message came on its WebSocket.
        case socketReceived([UInt8])
        /// A WebSocket's own pong came; the number if it answers an ``Output/pingSocket(_:)``.
        case socketPonged(UInt64?)
        /// Its WebSocket is gone.
        case socketClosed

        // From the gateway.
        /// What ``Output/verify(token:)`` asked for.
        case verified(Result<Identity, WireError>)
        /// The switchboard has something to say: a frame behind its headroom.
        case frame([UInt8])
        /// The switchboard wants a sign of life, the answer to its ping of this number.
        case ping(UInt64)
        /// The switchboard is done with it: a close code of `/ws`, and why.
        case dismissed(code: UInt16, reason: String)
        /// All that came together has been handed in.
        case turned

        // From time.
        /// The moment that ``SocketSession/deadline`` named has come.
        case deadlineReached
    }

    /// What a session asks of its surroundings, in order.
    public enum Output: Equatable, Sendable {
        /// Answer a GET with this payload.
        case respond(UInt64, [UInt8])
        /// Answer a POST: it was taken.
        case accept(UInt64)
        /// Refuse a request.
        case refuse(UInt64, EngineRefusal)
        /// Send on its WebSocket; the first bytes are `WireLimits.headroom`.
        case send([UInt8])
        /// Send a WebSocket's own ping, of this number.
        case pingSocket(UInt64)
        /// Close its WebSocket.
        case closeSocket(code: UInt16, reason: String)
        /// Find out whose token this is; ``Input/verified(_:)`` follows.
        case verify(token: String)
        /// From now on it is a session of this user: the bearer of the token that was verified last, or, if `isTrusted`,
        /// whoever it says it is.
        case join(Identity, device: DeviceID?, isTrusted: Bool)
        /// Hand the switchboard a frame.
        case received([UInt8])
        /// Tell the switchboard that it gave a sign of life.
        case showedLife
        /// Tell the switchboard that its ping of this number was answered.
        case ponged(UInt64)
        /// So far the logs of these calls have arrived.
        case seen([LogName: UInt64])
        /// It needs ``Input/turned`` when all that came together has been handed in.
        case needsTurn
        /// A packet was refused here, before anybody else saw it.
        case refusedPacket(PacketRefusal)
        /// It is over.
        case over
    }

    /// Something that shows, when it is answered, that all that was sent before it has arrived.
    struct Ping: Equatable {
        /// How it is answered.
        enum Answer { case pong, nextPoll }

        /// The session's own number for it.
        let number: UInt64
        /// The switchboard's; `nil` if the session itself wants to know.
        let asked: UInt64?
        let answer: Answer
        let sentAt: Moment
        /// How far each call's log was sent before it.
        let seen: [LogName: UInt64]
        /// How many packets were queued before it; for one that the next poll answers.
        let behind: UInt64
        /// Whether the response that carries them is with the client.
        var isOut = false
    }

    /// An event whose frame the switchboard has not answered yet.
    struct PendingEvent: Equatable {
        let event: String
        /// Under which number the client wants the answer.
        let number: UInt64?
        /// Whom the call is with that it begins or ends.
        let peer: UserID?
    }
}
