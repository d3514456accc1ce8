package import CallCore
package import CallPorts
package import CallWire

/// A command of the owner to an edge; an edge carries commands out in the order in which the owner gave them.
package enum OwnerCommand: Equatable, Sendable {
    /// Send a message; `marks` says how far it takes its receiver in the logs of calls.
    ///
    /// A reader that does not keep up is closed with 4408.
    case send(Frame, EdgeSocketID, marks: [LogMark])
    /// Send a ping with a number, which its pong returns.
    case ping(EdgeSocketID, UInt64)
    /// Close a connection.
    case close(EdgeSocketID, code: UInt16, reason: String, discardingQueue: Bool)
    /// From now on the owner has state for this socket that no other owner can restore: a room, a watch, a token that
    /// was renewed on the open connection, or a Socket.IO session; `false` = it has none any more.
    ///
    /// The owner gives this command before it confirms the event that made the state. So at no moment is a socket
    /// neither unconfirmed nor bound.
    case bind(EdgeSocketID, Bool)
    /// The owner has given the device of this connection, which names none, this id; the client has it in its welcome.
    case assign(EdgeSocketID, DeviceID)
    /// Respond to a request.
    indirect case respond(EdgeExchangeID, EdgeResponse)
    /// Record that the user of a request is known, so that its connection no longer counts as unauthenticated.
    case markAuthenticated(EdgeExchangeID)
    /// Refuse the tokens of a user that were issued up to a moment of the wall clock.
    case revoke(UserID, upTo: Moment)
}

/// How far a message takes its receiver in the log of a call.
package struct LogMark: Equatable, Sendable {
    /// The call.
    ///
    /// The number identifies it for a later owner too: an entry is shown only when it is durable, and then the number
    /// of its call is durable as well.
    package var call: CallNumber
    /// The newest `seq` in the message.
    package var seq: UInt64

    /// Creates a mark.
    @inlinable
    package init(_ call: CallNumber, seq: UInt64) {
        self.call = call
        self.seq = seq
    }
}

/// The response to a request, as an edge sends it.
package struct EdgeResponse: Equatable, Sendable {
    /// The status, 200–599.
    package var status: UInt16
    /// `Content-Type`; `nil` leaves the line out.
    package var contentType: String?
    /// Further header lines, in order.
    package var headers: [EdgeRequestHead.Field]
    /// The body.
    package var body: [UInt8]
    /// The problem that the body reports, for the edge's log; `nil` if it reports none.
    package var problem: Problem?

    /// A problem as the owner describes it.
    package struct Problem: Equatable, Sendable {
        /// The code for programs.
        package var code: String
        /// The sentence for people.
        package var message: String

        /// Creates a problem.
        package init(code: String, message: String) {
            self.code = code
            self.message = message
        }
    }

    /// Creates a response of these parts.
    package init(
        status: UInt16,
        contentType: String? = nil,
        headers: [EdgeRequestHead.Field] = [],
        body: [UInt8] = [],
        problem: Problem? = nil
    ) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = body
        self.problem = problem
    }
}

/// A socket that an edge brings to a new owner.
///
/// The new owner sends it no welcome, and replays live calls from behind `seen`.
package struct AdoptedSocket: Equatable, Sendable {
    /// The socket.
    package var socket: EdgeSocketID
    /// The user that its edge admitted.
    package var principal: Principal
    /// The device that the address of the upgrade names.
    package var device: DeviceID?
    /// The id that an earlier owner has given the device of a connection that names none.
    package var assigned: DeviceID?
    /// The time for which the socket has been open.
    package var openFor: Moment.Duration
    /// The newest `seq` of each call that was written to the socket, by call number.
    package var seen: [LogMark]

    /// The marks by call; of two for one call, the higher one.
    package var seenByCall: [CallNumber: UInt64] {
        Dictionary(seen.map { ($0.call, $0.seq) }) { max($0, $1) }
    }

    /// Creates an adopted socket.
    package init(
        _ socket: EdgeSocketID,
        _ principal: Principal,
        device: DeviceID?,
        assigned: DeviceID? = nil,
        openFor: Moment.Duration,
        seen: [LogMark]
    ) {
        self.socket = socket
        self.principal = principal
        self.device = device
        self.assigned = assigned
        self.openFor = openFor
        self.seen = seen
    }
}
