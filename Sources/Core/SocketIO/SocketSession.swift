package import CallCore
package import CallWire

/// One client's Socket.IO session over any of its transports: Engine.IO below, the app's events above.
///
///     awaitingConnect ──CONNECT──────────────────▶ joined ──▶ over
///            │                                       ▲
///            │ CONNECT without a token,              │ register
///            │ where such clients are trusted        │
///            └──────────▶ awaitingRegister ──────────┘
///
/// Every phase can also lead directly to `over`.
///
/// The session does no I/O and reads no clock. It converts an event of the app into the frame that a client of `/ws`
/// would have sent, and a frame of the switchboard into an event. It makes no decisions about calls.
package struct SocketSession: Sendable {
    /// How far a client has been admitted.
    package enum Phase: Equatable, Sendable {
        /// The client has not identified itself. Leads to `joined`, `awaitingRegister`, `over`.
        case awaitingConnect
        /// The client was admitted without a token, and may name any user in `register`. Leads to `joined`, `over`.
        case awaitingRegister
        /// The session belongs to this user. Leads to `over`.
        case joined(Identity)
        /// The session has ended.
        case over
    }

    /// A client's user, and whether the client gets user ids as strings or as integers.
    package struct Identity: Equatable, Sendable {
        /// The client's user.
        package var user: UserID
        /// Whether user ids are sent to the client as JSON integers.
        package var isInteger: Bool

        /// Creates an identity.
        package init(user: UserID, isInteger: Bool) {
            self.user = user
            self.isInteger = isInteger
        }
    }

    /// The credential in the handshake's URL and headers.
    package enum Credential: Equatable, Sendable {
        /// There is no credential.
        case none
        /// A valid token of this user.
        case valid(Identity)
        /// A token that is refused for this reason.
        case refused(WireError)
    }

    /// The transport in use.
    enum Transport: Equatable {
        /// The client polls by HTTP requests. The number is that of the poll that waits for packets; `nil` if no poll
        /// waits.
        case polling(waiting: UInt64?)
        /// A WebSocket.
        case socket
    }

    /// The WebSocket of an upgrade from polling.
    enum UpgradingSocket: Equatable {
        case none
        /// The WebSocket is open. Leads to `probed`, `none`.
        case opened(at: Moment)
        /// The client has tested the WebSocket by a ping, and waiting polls are released. Leads to `none`; if the
        /// upgrade completes, the session's transport becomes `socket`.
        case probed(since: Moment)
    }

    /// The secret Engine.IO session id.
    ///
    /// Any client that knows it may poll, so only the session's own client is sent it.
    package let sid: String
    /// The socket id that the client is sent on CONNECT.
    ///
    /// It is not a secret.
    let socketID: String
    /// The prefix of the ids of the session's signals.
    ///
    /// Other clients see it.
    let tag: String
    let version: EngineVersion
    let credential: Credential
    /// Whether a client without a token may name its user itself.
    let trustsUnverifiedSocketIOUsers: Bool
    let openedAt: Moment

    /// How far the client has been admitted.
    package internal(set) var phase = Phase.awaitingConnect
    /// Whether the session ended because its client read too slowly.
    package internal(set) var wasTooSlow = false
    var transport: Transport
    var upgradingSocket = UpgradingSocket.none
    /// The packets that wait for a client that polls.
    var queue: [[UInt8]] = []
    var queuedBytes = 0
    /// The number of packets ever queued; `sentPackets` is the number of those that were sent.
    var queuedPackets: UInt64 = 0
    var sentPackets: UInt64 { queuedPackets - UInt64(queue.count) }
    /// The moment at which anything was last received from the client.
    var heardAt: Moment
    /// The pings that the client has not confirmed yet, oldest first.
    ///
    /// The confirmation of a ping shows that everything sent before the ping has arrived.
    var pings: [Ping] = []
    var lastPing: UInt64 = 0
    /// The last entry of each call's log that was sent since the newest of these pings, by sequence number.
    var unconfirmed: [LogIdentity: UInt64] = [:]
    /// The events that the switchboard has neither acknowledged nor refused yet, by the id of their frame.
    var pending: [String: [PendingEvent]] = [:]
    /// The number of events in ``pending``.
    var awaitedAcks = 0
    var peers = PeerCalls()
    var unacknowledgedOffers = UnacknowledgedEvents()
    /// The `call-end` events, except those whose call's end this session has received.
    var unacknowledgedEnds = UnacknowledgedEvents()
    var lastSignal: UInt64 = 0
    /// The device that CONNECT named.
    var device: DeviceID?
    /// The number of refused packets before the client joined.
    var unauthenticatedPackets = 0
    /// The number of bytes sent to the client before it joined.
    var bytesBeforeJoining = 0
    /// The close code and reason of a session that has been sent its last packet and ends once the queue is empty.
    var pendingEnd: PendingEnd?

    struct PendingEnd: Equatable {
        let code: UInt16
        let reason: String
    }

    var outputs: [Output] = []

    /// Creates the session for a client's handshake; ``Input/began`` must follow.
    ///
    /// - Parameters:
    ///   - names: The secret session id, the public socket id, and the prefix of the ids of the session's signals
    ///     (about 8 characters).
    ///   - version: The version of the protocol.
    ///   - isSocket: Whether the session begins with a WebSocket.
    ///   - credential: The credential in the handshake.
    ///   - trustsUnverifiedSocketIOUsers: Whether a client without a token may name its user itself.
    ///   - now: The current moment.
    package init(
        names: (sid: String, socketID: String, tag: String),
        version: EngineVersion,
        isSocket: Bool,
        credential: Credential,
        trustsUnverifiedSocketIOUsers: Bool,
        at now: Moment
    ) {
        (sid, socketID, tag) = names
        self.version = version
        self.credential = credential
        self.trustsUnverifiedSocketIOUsers = trustsUnverifiedSocketIOUsers
        transport = isSocket ? .socket : .polling(waiting: nil)
        openedAt = now
        heardAt = now
    }

    /// Handles one input and returns the outputs, to be carried out in order.
    package mutating func handle(_ input: Input, at now: Moment) -> [Output] {
        guard phase != .over else { return outputsAfterEnd(to: input) }
        switch input {
        case .began: sessionBegan(at: now)
        case .polled(let request): polled(request, at: now)
        case .abandoned(let request): if transport == .polling(waiting: request) { end() }
        case .posted(let request, let body): posted(body, by: request, at: now)
        case .socketOpened: socketOpened(at: now)
        case .socketReceived(let text): socketReceived(text, at: now)
        case .socketPonged(let number):
            heardAt = now
            socketPonged(number)
        case .socketClosed: socketClosed()
        case .verified(let result): verified(result)
        case .frame(let frame): relay(frame)
        case .ping(let number): ping(requestNumber: number, at: now)
        case .closedByServer(let code, let reason): closeForServer(code, reason)
        case .turnEnded: turnEnded(at: now)
        case .deadlineReached: deadlineReached(at: now)
        }
        defer { outputs = [] }
        return outputs
    }

    /// The moment at which ``Input/deadlineReached`` is due; `nil` once the session is over.
    package var deadline: Moment? {
        if phase == .over { return nil }
        var next: Moment
        switch (version, pings.first { $0.confirmation == .pong }) {
        case (.v4, let ping?): next = ping.sentAt + .milliseconds(Int64(SocketIOLimits.pingTimeoutMilliseconds))
        case (.v4, nil), (.v3, _):
            next =
                heardAt
                + .milliseconds(Int64(SocketIOLimits.pingIntervalMilliseconds + SocketIOLimits.pingTimeoutMilliseconds))
        }
        if phase == .awaitingConnect || phase == .awaitingRegister {
            next = min(next, openedAt + .milliseconds(Int64(SocketIOLimits.connectMilliseconds)))
        }
        switch upgradingSocket {
        case .none: return next
        case .opened(let at), .probed(let at):
            return min(next, at + .milliseconds(Int64(SocketIOLimits.upgradeMilliseconds)))
        }
    }

    private mutating func deadlineReached(at now: Moment) {
        guard let deadline, now >= deadline else { return }
        switch upgradingSocket {
        case .opened(let at), .probed(let at):
            if now >= at + .milliseconds(Int64(SocketIOLimits.upgradeMilliseconds)) {
                upgradingSocket = .none
                outputs.append(.closeSocket(code: 1000, reason: "the upgrade took too long"))
            }
        case .none: break
        }
        if let deadline = self.deadline, now >= deadline { end(code: 1001, "nothing was received for too long") }
    }

    /// Returns the outputs for an input of a session that is over: a request is refused like a request to an unknown
    /// session.
    private func outputsAfterEnd(to input: Input) -> [Output] {
        switch input {
        case .polled(let request), .posted(let request, _): [.refuse(request, .sessionUnknown)]
        case .began, .abandoned, .socketOpened, .socketReceived, .socketPonged, .socketClosed, .verified, .frame,
            .ping, .closedByServer, .turnEnded, .deadlineReached:
            []
        }
    }
}
