package import CallCore
package import CallWire

/// A command on a client's socket or request; commands are carried out in the order in which they were given.
///
/// It is a plain value for the same reason as a ``SocketEvent``.
package enum SocketCommand: Equatable, Sendable {
    /// Send a message; `marks` says how far it takes its receiver in the logs of calls, if the socket is another
    /// node's.
    ///
    /// A reader that does not keep up is closed with 4408.
    case send(Frame, SocketID, marks: [LogMark])
    /// Send a ping with a number, which its pong returns.
    case ping(SocketID, UInt64)
    /// Close a connection.
    case close(SocketID, code: UInt16, reason: String, discardingQueue: Bool)
    /// From now on the owner has state for this socket that no other owner can restore: a room, a watch, a token that
    /// was renewed on the open connection, or a Socket.IO session; `false` = it has none any more.
    ///
    /// The owner gives this command before it confirms the event that made the state. So at no moment is a socket
    /// neither unconfirmed nor bound.
    case bind(SocketID, Bool)
    /// The owner has given the device of this connection, which names none, this id; the client has it in its welcome.
    case assign(SocketID, DeviceID)
    /// Respond to a request.
    indirect case respond(RequestID, Response)
    /// Record that the user of a request is known, so that its connection no longer counts as unauthenticated.
    case markAuthenticated(RequestID)
    /// Refuse the tokens of a user that were issued up to a moment, on a link of the wall clock.
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
