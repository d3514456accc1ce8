/// The limits of Engine.IO and Socket.IO in this server, each with its reason.
package enum SocketIOLimits {
    /// The interval between pings, in milliseconds, whichever side sends them.
    ///
    /// It is both Socket.IO's own default and the default of the switchboard's heartbeat.
    package static let pingIntervalMilliseconds = 25_000
    /// The longest time that a pong may take, in milliseconds: Socket.IO's own default.
    package static let pingTimeoutMilliseconds = 20_000
    /// The longest time from the handshake to CONNECT, in milliseconds: Socket.IO's own `connectTimeout`.
    ///
    /// Where clients without a token are trusted, it is the longest time from the handshake to `register`.
    package static let connectMilliseconds = 45_000
    /// The longest time that an upgrade to WebSocket may take, in milliseconds: Engine.IO's own `upgradeTimeout`.
    package static let upgradeMilliseconds = 10_000
    /// The number of sessions that may be unauthenticated.
    ///
    /// Each costs some hundred bytes, and no user's limit applies to it. One session more replaces the oldest session
    /// of the network that has the most unauthenticated sessions.
    package static let unauthenticated = 4_096
    /// The time that a session has to authenticate while more than half of the ``unauthenticated`` places are taken, in
    /// milliseconds.
    package static let shortConnectMilliseconds = 10_000
    /// The largest number of one user's sessions that have a valid token and have not joined.
    ///
    /// It equals the default limit on the user's open connections.
    package static let unjoined = 16
    /// The bytes that may be sent to a client that has not joined.
    ///
    /// A client that follows the protocol is sent some 150 bytes by then.
    package static let bytesBeforeJoining = 4_096
    /// The bytes that may be queued for a client that polls: the same as for a slow reader on `/ws`.
    package static let queueBytes = 1 << 20
    /// The largest number of packets in one response to a poll.
    ///
    /// The client of python-socketio refuses a larger payload as an attack.
    package static let packetsInAPayload = 16
    /// The largest number of packets in one POST.
    ///
    /// A client that polls sends all packets that it has in one POST, and a call has some 40 signals.
    package static let packetsPerPost = 512
    /// The largest number of a session's events that await their ack; one event more is refused with `rate_limited`.
    ///
    /// An ack waits for the store, which commits within milliseconds unless it stalls.
    package static let awaitedAcks = 1_024
    /// The number of refused packets after which the session of an unauthenticated client is closed.
    package static let unauthenticatedPackets = 10
    /// The number of calls for which a device's cursors are remembered.
    ///
    /// No device is in so many calls at a time; the cost is 16 × 200 bytes.
    package static let rememberedLogs = 16
}
