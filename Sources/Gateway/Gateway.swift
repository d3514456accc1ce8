import CallCore
public import CallPorts
import CallWire
import DequeModule
import LibWebSockets
public import ServerLog
import SocketIO
public import Switchboard
package import Threads

/// The translation between sockets and the switchboard.
///
/// It makes no decisions. The gateway, to which all calls and connections belong, is called the owner. With `--loops`,
/// further event loops run on other threads (`WorkerLoop`) and pass their events to the owner.
///
/// Everything here runs on the server's loop thread, except the methods that are documented with "from any thread".
///
/// @unchecked: a method that any thread may call posts to the loop, or uses an object that is safe on any thread. All
/// other state is confined to the loop thread.
public final class Gateway: @unchecked Sendable {
    let configuration: GatewayConfiguration
    let router: RequestRouter
    let log: ServerLog
    /// Set once by ``open(store:push:capabilities:turnCredentials:)``, before the loop runs.
    private(set) var server: Server?
    private(set) var switchboard: SwitchboardBox?
    private var store: (any CallStore)?
    private var push: (any PushSender)?

    /// The connections to be pinged at the end of the turn, each with the number of its ping.
    var pingsDue: [ConnectionID: UInt64] = [:]
    /// The Socket.IO sessions.
    var socketIO = SocketIOSessions()
    /// The loop on the gateway's own thread; set together with ``server``.
    private(set) var ownLoop: WorkerLoop?
    /// The loops on other threads, in order.
    var workers: [WorkerLoopHandle] = []
    private var pendingInputs = Deque<Switchboard.Input>()
    private var outputs: [Switchboard.Output] = []
    private var isBusy = false
    private var timerAt: Moment?
    /// When changes were last passed to a store that commits asynchronously.
    private var lastCommit: Moment?
    /// How much the switchboard reports for the log.
    private var detail = Switchboard.Detail.none
    /// The deadline of a shutdown.
    private var drainBy: Moment?
    /// The second in which the connections that are still open were last logged.
    var drainLoggedAt: Int64 = 0
    var isDraining: Bool { drainBy != nil }
    /// The number of connections that were closed because they read too slowly.
    var queueDrops: UInt64 = 0
    /// The number of unauthenticated Socket.IO sessions that were closed, by reason.
    var unauthenticatedDropped: [DroppedUnauthenticatedSession: UInt64] = [:]
    /// The number of packets that Socket.IO sessions refused themselves, by reason.
    var packetsRefused: [PacketRefusal: UInt64] = [:]
    /// The process figures that are read once, at the start.
    private(set) var startFigures = ProcessFigures.StartFigures()
    /// The `Origin` headers of the requests that have no response yet; the CORS headers of the response need them.
    var origins: [ExchangeID: String] = [:]
    /// The operator's commands that are not durable yet, each with its completion handler.
    private var operatorCommands: [OperatorCommandID: @Sendable () -> Void] = [:]
    private var lastOperatorCommand: UInt64 = 0

    /// Creates a gateway that is not open yet.
    public init(configuration: GatewayConfiguration, authenticator: any Authenticator, log: ServerLog) {
        self.configuration = configuration
        router = RequestRouter(
            configuration,
            authenticator: configuration.trustsUnverifiedSocketIOUsers
                ? TrustingAuthenticator(strict: authenticator) : authenticator,
            log: log
        )
        self.log = log
    }

    /// Opens the store, loads its state, and listens; nothing is served before ``run()``.
    ///
    /// - Throws: `StoreFailure` or `ServerError`, each with a message of one sentence.
    public func open(
        store: any CallStore,
        push: any PushSender,
        capabilities: any CapabilityIssuer,
        turnCredentials: (any TURNCredentialIssuer)? = nil
    ) throws {
        // The port comes first: a second server on the same port must not touch the first one's store.
        let server = try Server(configuration: configuration.server)
        if let admin = configuration.admin {
            _ = try server.addListener(host: admin.host, port: admin.port, id: Self.adminListener).asAdminPort(of: self)
        }
        try makeWorkers(beside: server)
        let now = self.now
        let stored = try store.open(at: now)
        if stored.uncleanStarts > 0 {
            log.notice("the last run did not shut down cleanly; continuing with the committed data")
        }
        for (user, moment) in stored.revocations { router.revocations.note(user, before: moment) }
        startFigures.ownDescriptors = ProcessFigures.countDescriptors()
        self.server = server
        ownLoop = WorkerLoop(server, router: router, sessions: socketIO.index, sink: .owner(.passUnretained(self)))
        self.store = store
        self.push = push
        switchboard = SwitchboardBox(
            Switchboard(
                policy: configuration.policy,
                stored: stored,
                capabilities: capabilities,
                turnCredentials: turnCredentials,
                random: SystemRandomNumberGenerator(),
                at: now
            )
        )
        try startWorkers()
    }

    static let adminListener = 1
    /// The admin listener's port; `nil` before it is open.
    public internal(set) var adminPort: Int?
    /// The client listener's port; 0 before it is open.
    public var port: Int { server?.port ?? 0 }

    /// Serves on the calling thread until ``drain()`` has completed, and then closes the store.
    public func run() {
        guard let server, let ownLoop else { return }
        server.post { [self] in turn() }
        ownLoop.run()
        endWorkers()
        store?.close()
    }

    /// Runs a closure on the loop thread; from any thread.
    func post(_ body: @escaping @Sendable (Gateway) -> Void) {
        server?.post { [self] in body(self) }
    }

    /// Handles a report of the store; from any thread.
    public func take(_ report: StoreReport) {
        server?.post { [self] in
            feed(.stored(report))
            if case .deposed(let failure) = report {
                storeFailure = failure
                drain()
            }
        }
    }

    /// The failure for which the server ended: another server has taken over the database; `nil` if there was none.
    public private(set) var storeFailure: StoreFailure?

    /// Handles an event of the wall clock; from any thread.
    package func take(_ event: ServerTime.Event) {
        server?.post { [self] in note(event) }
    }

    /// Handles the result of a push; from any thread.
    public func take(_ id: PushID, _ result: PushResult) {
        server?.post { [self] in feed(.pushed(id, result)) }
    }

    /// Carries out an operator's command, and calls `done` on the loop when the command is durable.
    ///
    /// Call this method from any thread, once the gateway is open.
    public func carryOut(_ command: Switchboard.OperatorCommand, done: @escaping @Sendable () -> Void) {
        server?.post { [self] in
            lastOperatorCommand += 1
            let id = OperatorCommandID(rawValue: lastOperatorCommand)
            operatorCommands[id] = done
            feed(.operatorCommand(id, command))
        }
    }

    /// Stops accepting, closes every connection with 1001, and lets ``run()`` return when all are gone; from any
    /// thread.
    public func drain() {
        server?.post { [self] in
            guard drainBy == nil else { return }
            log.notice("shutting down")
            configuration.audit(.stopping)
            drainBy = now + .milliseconds(configuration.drainMilliseconds)
            socketIO.index.drain()
            stopListening()
            feed(.drain)
            drainSocketIO()
        }
    }

    var now: Moment { Moment(milliseconds: configuration.clock.now()) }

    /// Passes an input to the switchboard and performs its outputs.
    ///
    /// Inputs that arrive meanwhile wait in `pendingInputs`.
    func feed(_ input: Switchboard.Input) {
        guard !isBusy, pendingInputs.isEmpty, let switchboard else {
            pendingInputs.append(input)
            handlePendingInputs()
            return
        }
        isBusy = true
        updateDetail(switchboard)
        switchboard.handle(input, at: now, into: &outputs)
        perform()
        isBusy = false
        // Handle the inputs that the outputs have caused.
        handlePendingInputs()
    }

    /// Makes the switchboard report as much as the log's level asks for; the operator may have changed that level.
    @inline(__always)
    private func updateDetail(_ switchboard: SwitchboardBox) {
        let wanted = wantedDetail
        guard wanted != detail else { return }
        detail = wanted
        switchboard.report(wanted)
    }

    private func handlePendingInputs() {
        guard !isBusy, !pendingInputs.isEmpty, let switchboard else { return }
        isBusy = true
        while let next = pendingInputs.popFirst() {
            switchboard.handle(next, at: now, into: &outputs)
            perform()
        }
        isBusy = false
    }

    /// Ends a turn of the loop: makes one commit of all its changes, and sets the timer for the next deadline.
    ///
    /// There is no commit after each input. A commit wakes the store's thread, and waking it costs more than the
    /// changes do.
    func turn() {
        guard !isBusy, let switchboard else { return }
        repeat {
            // Inputs that the commit has caused are part of this turn.
            handlePendingInputs()
            sendPings()
            endSocketIOTurns()
            guard switchboard.hasChanges else { continue }
            let now = self.now
            if let commitDue, commitDue > now { continue }
            isBusy = true
            switchboard.flush(at: now, into: &outputs)
            perform()
            isBusy = false
        } while !pendingInputs.isEmpty || !pingsDue.isEmpty || !socketIO.needingTurnEnd.isEmpty
        flushWorkers()
        setTimer()
    }

    /// When to commit the pending changes; `nil` to commit immediately, or when nothing has changed.
    ///
    /// The first commit after a quiet time is immediate. Later commits are spaced apart, so that all changes in between
    /// cost one `fsync`, one wake-up of the store's thread, and one of this thread. An ack waits for its commit.
    private var commitDue: Moment? {
        guard let switchboard, let lastCommit, switchboard.hasChanges, !isDraining else { return nil }
        return lastCommit + .milliseconds(configuration.commitSpacingMilliseconds)
    }

    private func setTimer() {
        guard let switchboard, let server else { return }
        // The deadlines are compared one by one: an array of them would be allocated after every turn.
        var next = switchboard.deadline
        if let check = socketIO.nextCheck { next = next.map { min($0, check) } ?? check }
        if let commitDue { next = next.map { min($0, commitDue) } ?? commitDue }
        if let drainBy {
            if hasNoConnections || now >= drainBy {
                logDrained()
                server.stop()
                return
            }
            next = min(next ?? drainBy, min(drainBy, now + .milliseconds(50)))
        }
        guard next != timerAt || drainBy != nil else { return }
        timerAt = next
        // For a deadline that has passed, the timer fires after a millisecond. For a deadline that is more than a day
        // away, it fires after a day.
        server.setTimer(afterMilliseconds: next.map { UInt64(min(max(1, ($0 - now).milliseconds), 86_400_000)) })
    }

    func timerDue() {
        timerAt = nil
        if isDraining {
            countConnections()
            logDraining()
        }
        checkSocketIO()
        feed(.deadlineReached)
    }

    private func perform() {
        // The outputs are moved out of `outputs` first, because performing one may call back into the gateway. The
        // empty array goes back afterwards, so that its memory is used again.
        var batch: [Switchboard.Output] = []
        swap(&batch, &outputs)
        for output in batch { perform(output) }
        batch.removeAll(keepingCapacity: true)
        if outputs.isEmpty { swap(&batch, &outputs) }
    }

    private func perform(_ output: Switchboard.Output) {
        guard let ownLoop else { return }
        switch output {
        case .send(let connection, let frame):
            if let socketIO = socketIOSession(connection) {
                handle(.frame(frame), socketIO)
                return
            }
            send(Frame(withHeadroom: frame), to: SocketID(rawValue: connection.rawValue), ownLoop)
        // Only the owner of the calls of several nodes marks logs.
        case .marked, .bound: break
        case .ping(let connection, let number): pingsDue[connection] = number
        case .close(let connection, let code, let reason, let isLost):
            if let socketIO = socketIOSession(connection) {
                handle(.closedByServer(code: code, reason: reason), socketIO)
                return
            }
            close(SocketID(rawValue: connection.rawValue), code: code, reason: reason, discardingQueue: isLost)
        case .reply(let request, let reply): respond(reply, to: ExchangeID(rawValue: request.rawValue))
        case .verify(let connection, let id, let token):
            let result = Result { () throws(WireError) in try router.admit(token) }
            pendingInputs.append(.verified(connection, id: id, result))
        case .commit(let changes, let ticket):
            if store?.commit(changes, as: ticket) == true {
                pendingInputs.append(.stored(.committed(upTo: ticket)))
            } else {
                lastCommit = now
            }
        case .submit(let query, let id): store?.submit(query, as: id)
        case .push(let outgoing): push?.send(outgoing)
        case .cancelPush(let id): push?.cancel(id)
        case .revoked(let user, let moment):
            router.revocations.note(user, before: moment)
            log.notice("a user's tokens were revoked", [.user(user)])
        case .done(let id): operatorCommands.removeValue(forKey: id)?()
        case .note(let note): write(note)
        case .audit(let event): configuration.audit(event)
        case .trace(let note): write(note)
        }
    }

    /// Returns the Socket.IO session that the switchboard knows by this id; `nil` if no such session is open.
    func socketIOSession(_ id: ConnectionID) -> SocketIOSession? {
        SocketIOSessions.isSocketIO(id) ? socketIO.byID[id] : nil
    }

    private func write(_ note: Switchboard.Note) {
        switch note {
        case .began(let id, let epoch):
            log.info("call began", [.call(id), .epoch(epoch)])
        case .ended(let id, let epoch, let reason):
            log.info("call ended", [.call(id), .epoch(epoch), .reason(reason)])
        case .pushFailed(let id, let device, let status, let reason):
            log.warning(
                "push failed",
                [.call(id), .device(device), .apnsStatus(status), .apnsReason(UntrustedText(reason))]
            )
        case .storeStalled(let why): log.error("the store cannot write", [.error(UntrustedText(why))])
        case .storeRecovered: log.notice("the store can write again")
        case .storeBehind(let resent, let lost):
            log.error(
                "the database had lost commits that it had confirmed; see Troubleshooting",
                [.error(about: OperatorText("\(resent) were sent again, \(lost) are lost"))]
            )
        case .oddClock(let age):
            log.warning(
                "the clock is far from the newest call or device; no history is deleted for an hour",
                [.clockAhead(seconds: Self.seconds(age.milliseconds))]
            )
        case .damaged(let damage):
            log.error(
                damage.remedy == .leftOut
                    ? "a row of the database holds an invalid value and was left out"
                    : "a value in the database is invalid and was replaced by the nearest valid one",
                [
                    .table(ServerText(damage.table)), .column(ServerText(damage.column)),
                    .row(UntrustedText(damage.row)),
                ]
            )
        case .unreadable(let number):
            log.error("a stored call cannot be read and was left out", [.callNumber(number)])
        }
    }
}

extension Int {
    fileprivate func asAdminPort(of gateway: Gateway) -> Int {
        gateway.adminPort = self
        return self
    }
}
