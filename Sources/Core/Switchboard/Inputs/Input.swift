package import CallCore
package import CallPorts
package import CallWire
import JSON

extension Switchboard {
    /// The inputs of a switchboard, by source.
    package enum Input: Sendable {
        // From connections.
        /// A connection was opened by a verified user; `device` is the device that the address names.
        indirect case opened(SocketID, Principal, device: DeviceID?)
        /// A connection was opened as in ``opened(_:_:device:)``, by a client without a cursor, which must not be sent
        /// any entry twice.
        ///
        /// A connection that names no device belongs to the device that its token stands for, as a request does
        /// (``Switchboard/deviceIdentity(opening:)``). `seen` is the newest `seq` of each log that is known to have
        /// reached the device.
        indirect case joined(SocketID, Principal, device: DeviceID?, seen: [LogIdentity: UInt64])
        /// A connection that an earlier owner of the calls had opened and welcomed continues here.
        ///
        /// `device` is the device that the address named, `assigned` the id that an earlier owner has given the device
        /// of a connection that names none (``Switchboard/device(of:)``), and `openFor` the time since the connection
        /// was opened. `seen` is the newest mark of each log (``Output/marked(_:_:seq:)``): the log is replayed from
        /// behind it, and a log without a mark is replayed whole. A connection that was bound (``Output/bound(_:_:)``) must not be adopted.
        indirect case adopted(
            SocketID,
            Principal,
            device: DeviceID?,
            assigned: DeviceID?,
            openFor: Moment.Duration,
            seen: [CallNumber: UInt64]
        )
        /// A text frame was received; it is valid UTF-8.
        case received(SocketID, [UInt8])
        /// The pong to the ping of this number was received: the ping and all that was written before it have arrived.
        case ponged(SocketID, UInt64)
        /// A connection gave a sign of life that is neither a frame nor a numbered pong.
        case signOfLife(SocketID)
        /// The connection is closed; `code` = the close code, if it is known.
        case closed(SocketID, code: UInt16? = nil)
        /// The result of verifying a token that a client presented on its open connection.
        indirect case verified(SocketID, id: SignalID?, Result<Principal, WireError>)

        // From requests.
        /// A request of a verified user was received.
        indirect case requested(RequestID, Principal, Request)
        /// The client no longer waits for the response.
        case abandoned(RequestID)

        // From the adapters.
        /// A report of the store.
        case stored(StoreReport)
        /// The result of a push.
        case pushed(PushID, PushResult)
        /// The result of a delivery to the app's backend.
        case delivered(DeliveryID, DeliveryResult)
        /// The result of a question to the app's backend about an offer.
        case decided(DecisionID, DecisionResult)

        // From the operator and from time.
        /// An operator has given the server a command; ``Output/done(_:)`` follows.
        case operatorCommand(OperatorCommandID, OperatorCommand)
        /// The server shuts down.
        case drain
        /// The wall clock was set, or has become steady; all other inputs have moments of the server's clock.
        case wallClock(WallClock)
        /// The moment that ``Switchboard/deadline`` named has come.
        case deadlineReached
    }

    /// The outputs of a switchboard, which its owner carries out in order.
    package enum Output: Sendable {
        /// Send a frame; its first `Frame.headroom` bytes are left free for the transport's header.
        case send(SocketID, [UInt8])
        /// The next output sends a connection the entry `seq` of this call's log; it replaces the log's earlier mark.
        ///
        /// Such outputs come only under ``Policy/marksLogs``. The marks of a connection tell the next owner of the calls
        /// what the connection was written (``Input/adopted(_:_:device:assigned:openFor:seen:)``).
        case marked(SocketID, CallNumber, seq: UInt64)
        /// From now on a connection has state that the next owner of the calls cannot restore (`true`), or it has none
        /// any more (`false`).
        ///
        /// The state is a room, a watched user, a renewed token, or a frame whose acknowledgement is still to come
        /// although its changes are durable. Such outputs come only under ``Policy/marksLogs``.
        case bound(SocketID, Bool)
        /// Send a ping with this number, after the frames that were sent before. Only the last of a connection's pings
        /// in one turn need be sent.
        case ping(SocketID, UInt64)
        /// Close a connection; `isLost` = do not wait for its queue to be sent.
        case close(SocketID, code: UInt16, reason: String, isLost: Bool)
        /// Send the response to a request.
        case reply(RequestID, Reply)
        /// Verify a token that a client presented on its open connection; ``Input/verified(_:id:_:)`` follows.
        case verify(SocketID, id: SignalID?, token: String)
        /// Store these changes; `StoreReport.committed(upTo:)` follows.
        case commit([Change], Ticket)
        /// Send a query to the store; `StoreReport.queryResult(_:_:)` follows.
        indirect case submit(StoreQuery, StoreQueryID)
        /// Send a push; ``Input/pushed(_:_:)`` follows.
        indirect case push(OutgoingPush)
        /// Post an event to an endpoint of the app's backend; ``Input/delivered(_:_:)`` follows.
        indirect case deliver(EventRequest)
        /// Ask the app's backend about an offer; ``Input/decided(_:_:)`` follows.
        indirect case ask(DecisionRequest)
        /// Cancel a push, unless it was handed to the network already; ``Input/pushed(_:_:)`` follows in both cases.
        case cancelPush(PushID)
        /// From now on refuse the tokens of a user that were issued up to a moment, before requests and connections
        /// with such a token reach the switchboard.
        case revoked(UserID, before: Moment)
        /// An operator's command was carried out, and is durable.
        case done(OperatorCommandID)
        /// Report something to the operator.
        case note(Note)
        /// Write an event to the audit log.
        indirect case audit(AuditEvent)
        /// Write a line to the log; such outputs come only at the detail that ``Switchboard/report(_:)`` has set.
        indirect case trace(TraceNote)
    }

    /// An event that is worth a line in the log.
    package enum Note: Equatable, Sendable {
        /// A call began.
        case began(CallID, epoch: UInt32)
        /// A call ended.
        case ended(CallID, epoch: UInt32, EndReason)
        /// A push was refused, or its first attempt failed.
        indirect case pushFailed(PushFailure)
        /// The store cannot write.
        case storeStalled(String)
        /// The store can write again.
        case storeRecovered
        /// The database had lost commits that it had confirmed: `resent` of them were sent again, `lost` are gone.
        case storeBehind(resent: Int, lost: Int)
        /// The store contains an invalid value.
        indirect case damaged(DamagedValue)
        /// The record of a stored call is inconsistent; the call was left out.
        case unreadable(CallNumber)
        /// At the start: the newest stored record is so old (negative: so far in the future) that the clock may be
        /// wrong.
        case oddClock(Moment.Duration)
        /// The delivery of events to the app's backend has changed its state.
        indirect case events(EventDeliveries.Note)
        /// The app's backend did not allow an offer, or did not decide about it, after that time.
        indirect case decided(CallID, DecisionOutcome, code: String?, after: Moment.Duration)
        /// The app's backend gave a response that the protocol does not know; the text says what is wrong.
        case decisionMalformed(String)
        /// The app's backend decides nothing any more, and is not asked for a while.
        case decisionsFail
        /// The app's backend decides again.
        case decisionsSucceed
        /// So many events were deleted before they were delivered.
        case eventsLost(Int)
        /// The date was corrected, and this number of schedules is due at another time now.
        case schedulesPlanned(Int)
        /// The time zone of a user's schedule is unknown, so no new call of it can be planned.
        case unknownTimeZone(UserID)
        /// A client has sent a member with an unknown name; reported once for each name.
        case unknownName(String, UnknownNames.Place)
    }
}

/// A response to a request.
package struct Reply: Equatable, Sendable {
    /// The HTTP status.
    package var status: Int
    /// The body, JSON.
    package var body: [UInt8]
    /// The number of seconds after which the client may try again; `nil` = the response names none.
    package var retryAfterSeconds: Int?
    /// The entity tag of a page of the call directory, whose body is text and not JSON; `nil` = the response is no such
    /// page.
    package var entityTag: String?

    /// A response with the given members.
    package init(status: Int = 200, body: [UInt8], retryAfterSeconds: Int? = nil, entityTag: String? = nil) {
        self.status = status
        self.body = body
        self.retryAfterSeconds = retryAfterSeconds
        self.entityTag = entityTag
    }

    /// A refusal as `application/problem+json` (RFC 9457), with the app's own code if its backend has refused.
    ///
    /// `name`, `value`: A further member instead; the value needs no escape.
    package init(_ error: WireError, retryAfterSeconds: Int? = nil, adding name: String? = nil, _ value: String = "") {
        let member = name.map { (name: $0, value: value) } ?? error.appCode.map { (name: "appCode", value: $0) }
        self.init(
            status: error.code.status,
            body: JSONWriter.problem(
                error.code.status,
                title: error.code.title,
                code: error.code.rawValue,
                message: error.message,
                field: error.field,
                adding: member
            ),
            retryAfterSeconds: retryAfterSeconds ?? error.retryAfterSeconds
        )
    }

    /// Whether the body is a problem.
    package var isProblem: Bool { status >= 400 }
}
