public import CallCore
public import CallWire

/// One client's Socket.IO session, over whichever transports: Engine.IO below, the app's events above.
///
///     awaitingConnect ──CONNECT──▶ joined ──▶ over
///            │ CONNECT, where anybody is believed   ▲
///            └──────────▶ awaitingRegister ──────────┤ register
///                                └──────────────────▶ over
///
/// It does no I/O and reads no clock. An event becomes the frame that a client of `/ws` would have sent, and a frame
/// becomes an event; about calls nothing is decided here.
public struct SocketSession: Sendable {
    /// How far a client has come.
    public enum Standing: Equatable, Sendable {
        /// It has not said who it is. Leads to `joined`, `awaitingRegister`, `over`.
        case awaitingConnect
        /// It is let in, and believed in who it will say it is. Leads to `joined`, `over`.
        case awaitingRegister
        /// It is a session of this user. Leads to `over`.
        case joined(Identity)
        /// Nothing more comes of it.
        case over
    }

    /// Who a client is, and how its ids are to be written.
    public struct Identity: Equatable, Sendable {
        /// The user.
        public var user: UserID
        /// Whether ids are written as integers.
        public var isInteger: Bool

        /// A user, and how ids are written for it.
        public init(user: UserID, isInteger: Bool) {
            self.user = user
            self.isInteger = isInteger
        }
    }

    /// What the handshake's address and headers said about who it is.
    public enum Credential: Equatable, Sendable {
        /// Nothing.
        case none
        /// There was a token, of this user.
        case valid(Identity)
        /// There was a token, and this is wrong with it.
        case refused(WireError)
    }

    /// By what it comes.
    enum Transport: Equatable {
        /// Requests; the number is that of the one that waits for something to say.
        case polling(waiting: UInt64?)
        /// A WebSocket.
        case socket
    }

    /// A WebSocket that is to take over from polling.
    enum Candidate: Equatable {
        case none
        /// It is open. Leads to `probed`, `none`.
        case opened(at: Moment)
        /// It has proved to work; requests that wait are freed. Leads to `none`, with the transport changed.
        case probed(since: Moment)
    }

    /// The session's name: whoever knows it may poll, so only its client does.
    public let sid: String
    /// The name that the client is told on CONNECT; a secret of nothing.
    let socketID: String
    /// What its signals' ids begin with; other clients see it.
    let tag: String
    let version: EngineVersion
    let credential: Credential
    /// Whether a client without a token is believed in who it says it is.
    let trustsRegister: Bool
    let openedAt: Moment

    /// How far it has come.
    public internal(set) var standing = Standing.awaitingConnect
    /// Whether it is over because its client read too slowly.
    public internal(set) var wasTooSlow = false
    var transport: Transport
    var candidate = Candidate.none
    /// What waits for a client that polls.
    var queue: [[UInt8]] = []
    var queuedBytes = 0
    /// How many packets have been queued, and how many of them went out.
    var queuedPackets: UInt64 = 0
    var sentPackets: UInt64 { queuedPackets - UInt64(queue.count) }
    /// When anything last came from it.
    var heardAt: Moment
    /// What was sent that shows, when it is answered, that all before it has arrived; oldest first.
    var pings: [Ping] = []
    var lastPing: UInt64 = 0
    /// How far each call's log was sent since the newest of them.
    var unconfirmed: [LogName: UInt64] = [:]
    /// Events whose answer is awaited, by the id of their frame.
    var pending: [String: [PendingEvent]] = [:]
    var peers = PeerCalls()
    /// Whom it has just made an offer, and with whom it has just ended a call: that is not answered yet.
    var offering: Set<UserID> = []
    var ending: Set<UserID> = []
    var lastSignal: UInt64 = 0
    /// The device that CONNECT named.
    var device: DeviceID?
    /// Refused packets from a client that nobody knows.
    var strangersPackets = 0
    /// What it was sent before it joined, in bytes.
    var bytesBeforeJoining = 0
    /// It was told that nothing more comes of it, and is over as soon as it has been sent that: the close code, and why.
    var leaving: Leaving?

    struct Leaving: Equatable {
        let code: UInt16
        let reason: String
    }

    var outputs: [Output] = []

    /// A session that a client has just asked for; ``Input/began`` comes next.
    ///
    /// - Parameters:
    ///   - names: The session's secret name, its public one, and what its signals' ids begin with (8 characters or so).
    ///   - version: The protocol that it speaks.
    ///   - isSocket: Whether it begins with a WebSocket.
    ///   - credential: What the handshake said about who it is.
    ///   - trustsRegister: Whether it is believed in who it says it is, if it has no token.
    ///   - now: The moment.
    public init(
        names: (sid: String, socketID: String, tag: String),
        version: EngineVersion,
        isSocket: Bool,
        credential: Credential,
        trustsRegister: Bool,
        at now: Moment
    ) {
        (sid, socketID, tag) = names
        self.version = version
        self.credential = credential
        self.trustsRegister = trustsRegister
        transport = isSocket ? .socket : .polling(waiting: nil)
        openedAt = now
        heardAt = now
    }

    /// Takes one input; what is to be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment) -> [Output] {
        guard standing != .over else { return lateAnswer(to: input) }
        switch input {
        case .began: begin(at: now)
        case .polled(let request): polled(request, at: now)
        case .abandoned(let request): if transport == .polling(waiting: request) { finish() }
        case .posted(let request, let body): posted(body, by: request, at: now)
        case .socketOpened: socketOpened(at: now)
        case .socketReceived(let text): socketReceived(text, at: now)
        case .socketPonged(let number):
            heardAt = now
            socketPonged(number)
        case .socketClosed: socketClosed()
        case .verified(let result): verified(result)
        case .frame(let frame): relay(frame)
        case .ping(let number): ping(asked: number, at: now)
        case .dismissed(let code, let reason): dismiss(code, reason)
        case .turned: turned(at: now)
        case .deadlineReached: deadlineReached(at: now)
        }
        defer { outputs = [] }
        return outputs
    }

    /// The moment at which ``Input/deadlineReached`` is due.
    public var deadline: Moment? {
        if standing == .over { return nil }
        var next: Moment
        switch (version, pings.first { $0.answer == .pong }) {
        case (.v4, let ping?): next = ping.sentAt + .milliseconds(Int64(SocketIOLimits.pingTimeoutMilliseconds))
        case (.v4, nil), (.v3, _):
            next =
                heardAt
                + .milliseconds(Int64(SocketIOLimits.pingIntervalMilliseconds + SocketIOLimits.pingTimeoutMilliseconds))
        }
        if standing == .awaitingConnect || standing == .awaitingRegister {
            next = min(next, openedAt + .milliseconds(Int64(SocketIOLimits.connectMilliseconds)))
        }
        switch candidate {
        case .none: return next
        case .opened(let at), .probed(let at):
            return min(next, at + .milliseconds(Int64(SocketIOLimits.upgradeMilliseconds)))
        }
    }

    private mutating func deadlineReached(at now: Moment) {
        guard let deadline, now >= deadline else { return }
        switch candidate {
        case .opened(let at), .probed(let at):
            if now >= at + .milliseconds(Int64(SocketIOLimits.upgradeMilliseconds)) {
                candidate = .none
                outputs.append(.closeSocket(code: 1000, reason: "the upgrade took too long"))
            }
        case .none: break
        }
        if let deadline = self.deadline, now >= deadline { finish(code: 1001, "nothing was heard for too long") }
    }

    /// It is over: whoever still asks is told so.
    private func lateAnswer(to input: Input) -> [Output] {
        switch input {
        case .polled(let request), .posted(let request, _): [.refuse(request, .sessionUnknown)]
        case .began, .abandoned, .socketOpened, .socketReceived, .socketPonged, .socketClosed, .verified, .frame,
            .ping, .dismissed, .turned, .deadlineReached:
            []
        }
    }
}
