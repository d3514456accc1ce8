/// Every limit of Engine.IO and Socket.IO here, with its reason.
public enum SocketIOLimits {
    /// How often a client is pinged, or pings, in milliseconds: Socket.IO's own default, and the switchboard's heartbeat.
    public static let pingIntervalMilliseconds = 25_000
    /// How long a pong may take, in milliseconds: Socket.IO's own default.
    public static let pingTimeoutMilliseconds = 20_000
    /// How long a client may take from the handshake to CONNECT, or, where it is trusted, to `register`: Socket.IO's own
    /// `connectTimeout`.
    public static let connectMilliseconds = 45_000
    /// How long an upgrade to WebSocket may take: Engine.IO's own `upgradeTimeout`.
    public static let upgradeMilliseconds = 10_000
    /// Sessions that have not said yet who they are: each costs some hundred bytes, and nobody vouches for them.
    ///
    /// One more takes the place of the oldest of the address that has the most.
    public static let strangers = 4_096
    /// How long one of them may take to say who it is when half of the places are taken, in milliseconds.
    public static let hurriedConnectMilliseconds = 10_000
    /// Sessions of one user whose token is known, and that have not sent CONNECT: as many as may be joined.
    public static let unjoined = 16
    /// Bytes that may be queued for a client that has not joined; an honest one is sent some 150 by then.
    public static let bytesBeforeJoining = 4_096
    /// What may wait for a client that polls, in bytes: as much as for a slow reader on `/ws`.
    public static let queueBytes = 1 << 20
    /// Packets in one answer to a client that polls: python-socketio's refuses more as an attack.
    public static let packetsInAPayload = 16
    /// Packets in one request: a client that polls puts what it has into one, and a call has some 40 signals.
    public static let packetsPerPost = 512
    /// Events that may wait for their acknowledgement: the store answers within milliseconds, unless it stalls.
    public static let awaitedAcks = 1_024
    /// Packets that are refused, from a client that nobody knows yet, after which its session is closed.
    public static let strangersPackets = 10
    /// Calls of which a device's place is remembered: more than anybody is in, and 16 × 200 bytes.
    public static let rememberedLogs = 16
}
