public import CallCore
public import CallWire

extension Switchboard {
    /// What can happen to a switchboard, by who causes it.
    public enum Input: Sendable {
        // From sockets.
        /// A session was opened by a verified user; `device` is what the address names.
        indirect case opened(SessionID, Who, device: DeviceID?)
        /// As ``opened(_:_:device:)``, for a client that keeps no place in a log and takes nothing twice.
        ///
        /// One that names no device is the phone that its token stands for, as in requests (``Switchboard/phone(opening:)``).
        /// `seen` is how far each log is known to have reached its device.
        indirect case joined(SessionID, Who, device: DeviceID?, seen: [LogName: UInt64])
        /// A text frame came, valid UTF-8.
        case received(SessionID, [UInt8])
        /// The ping of this number was answered: it and all that was written before it have arrived.
        case ponged(SessionID, UInt64)
        /// A session gave a sign of life that is neither a frame nor a pong.
        case showedLife(SessionID)
        /// The session is closed.
        case closed(SessionID)
        /// What became of a token that a session offered to go on with.
        indirect case verified(SessionID, id: SignalID?, Result<Who, WireError>)

        // From requests.
        /// A verified user asks for something.
        indirect case requested(RequestID, Who, Request)
        /// Nobody waits for the reply any more.
        case abandoned(RequestID)

        // From the adapters.
        /// The store has something to say.
        case stored(StoreReport)
        /// What became of a push.
        case pushed(PushID, PushResult)

        // From the operator and from time.
        /// An operator has the server do something; ``Output/done(_:)`` follows.
        case ordered(OrderID, Order)
        /// The server is to be shut down.
        case drain
        /// The wall clock has leapt away from the moments that inputs come with (`true`), or agrees with them again.
        case clockDoubted(Bool)
        /// The moment that ``Switchboard/deadline`` named has come.
        case deadlineReached
    }

    /// What a switchboard asks of its surroundings, in order.
    public enum Output: Sendable {
        /// Send a frame; its first bytes are `WireLimits.headroom`.
        case send(SessionID, [UInt8])
        /// Send a ping that can be told by its number: behind what was sent before; one of a session's in a turn, the last, will do.
        case ping(SessionID, UInt64)
        /// Close a session; `isLost` = its queue is not worth waiting for.
        case close(SessionID, code: UInt16, reason: String, isLost: Bool)
        /// Answer a request.
        case reply(RequestID, Reply)
        /// Check a token that a session offers; ``Input/verified(_:id:_:)`` follows.
        case verify(SessionID, id: SignalID?, token: String)
        /// Keep these changes; ``StoreReport/committed(upTo:)`` follows.
        case commit([Change], Ticket)
        /// Ask the store; ``StoreReport/answered(_:_:)`` follows.
        indirect case ask(Question, QuestionID)
        /// Send a push; ``Input/pushed(_:_:)`` follows.
        indirect case push(PushOrder)
        /// Give up a push.
        case cancelPush(PushID)
        /// Refuse a user's tokens that were issued up to a moment before they get here.
        case revoked(UserID, before: Moment)
        /// An order was carried out, and is durable.
        case done(OrderID)
        /// Tell the operator.
        case note(Note)
        /// Write into the audit log.
        indirect case audit(AuditEvent)
    }

    /// What is worth a line in the log.
    public enum Note: Equatable, Sendable {
        /// A call began.
        case began(CallID, epoch: UInt32)
        /// A call ended.
        case ended(CallID, epoch: UInt32, EndReason)
        /// A push was refused, or could not be sent.
        case pushFailed(CallID, DeviceID, status: Int, reason: String)
        /// The store cannot write.
        case storeStalled(String)
        /// The store can write again.
        case storeRecovered
        /// The store holds a value that cannot be.
        indirect case damaged(DamagedValue)
        /// A call that was kept cannot be understood, and was left out.
        case unreadable(CallNumber)
        /// At the start: the newest of what is kept is so old (negative: so far ahead) that the clock may be wrong.
        case oddClock(Moment.Span)
    }
}

/// A reply to a request.
public struct Reply: Equatable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The body, JSON.
    public var body: [UInt8]
    /// After how many seconds to try again, where that helps.
    public var retryAfterSeconds: Int?

    /// A reply of all its parts.
    public init(status: Int = 200, body: [UInt8], retryAfterSeconds: Int? = nil) {
        self.status = status
        self.body = body
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// A refusal as `application/problem+json` (RFC 9457).
    public init(_ error: WireError, retryAfterSeconds: Int? = nil) {
        var json = JSONWriter()
        json.beginObject()
        json.name("type")
        json.plain("about:blank")
        json.name("title")
        json.plain(error.code.title)
        json.name("status")
        json.value(error.code.status)
        json.write(error)
        json.endObject()
        self.init(
            status: error.code.status,
            body: json.bytes,
            retryAfterSeconds: retryAfterSeconds ?? error.retryAfterSeconds
        )
    }

    /// Whether the body is a problem.
    public var isProblem: Bool { status >= 400 }
}
