import CallCore
package import CallPorts
import CallWire
import Cluster
import DequeModule
import LibWebSockets
package import ServerLog
import SocketIO
package import Switchboard
package import Threads

/// The translation between sockets and the switchboard.
///
/// It makes no decisions. With `--loops`, further event loops run on other threads (`WorkerLoop`) and pass their events
/// to the gateway.
///
/// Everything here runs on the server's loop thread, except the methods that are documented with "from any thread".
///
/// @unchecked: a method that any thread may call posts to the loop, or uses an object that is safe on any thread. All
/// other state is confined to the loop thread.
package final class Gateway: @unchecked Sendable {
    let configuration: GatewayConfiguration
    let router: RequestRouter
    let adminHosts: AdminHosts
    let log: ServerLog
    /// Set once, before the loop runs.
    private(set) var server: Server?
    /// The decisions; `nil` while another node, or none, owns the calls.
    private(set) var switchboard: SwitchboardBox?
    private var store: (any CallStore)?
    private var push: (any PushSender)?

    /// The connections to be pinged at the end of the turn, each with the number of its ping.
    var pingsDue: [SocketID: UInt64] = [:]
    let pageCompressor = PageCompressor()
    /// The Socket.IO sessions.
    var socketIO = SocketIOSessions()
    /// The loop on the gateway's own thread; set together with ``server``.
    private(set) var ownLoop: WorkerLoop?
    /// This node, if the server is one of several.
    var node: Node?
    /// Whether this node's events go to its attachment: it does not serve as the owner, or not yet, or no longer.
    var passesEventsOn = false { didSet { router.forwarding.isOn = passesEventsOn } }
    /// The loops on other threads, in order.
    var workers: [WorkerLoopHandle] = []
    var pendingInputs = Deque<Switchboard.Input>()
    var outputs: [Switchboard.Output] = []
    var isBusy = false
    var timerAt: Moment?
    /// What the switchboard knows of the wall clock.
    var knownWallClock = WallClock.agreeing
    /// When changes were last passed to a store that commits asynchronously.
    var lastCommit: Moment?
    /// Whether the store's last commit was durable at once, as in memory.
    var isStoreImmediate = false
    /// How much the switchboard reports for the log.
    private var detail = Switchboard.Detail.none
    /// Why the opening of the store takes long; `nil` = no reason is known.
    let startDelay = Monitor<StartDelay?>(nil)
    /// The deadline of a shutdown.
    var drainBy: Moment?
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
    var origins: [RequestID: String] = [:]
    /// The operator's commands that are not durable yet, each with its completion handler.
    private var operatorCommands: [OperatorCommandID: @Sendable () -> Void] = [:]
    private var lastOperatorCommand: UInt64 = 0

    /// Creates a gateway that is not open yet.
    package init(configuration: GatewayConfiguration, authenticator: any Authenticator, log: ServerLog) {
        self.configuration = configuration
        router = RequestRouter(
            configuration,
            authenticator: configuration.trustsUnverifiedSocketIOUsers
                ? TrustingAuthenticator(strict: authenticator) : authenticator,
            log: log
        )
        adminHosts = AdminHosts(configuration.adminHosts)
        self.log = log
    }

    /// Opens the store, loads its state, and listens; nothing is served before ``run()``.
    ///
    /// - Throws: `StoreFailure` or `ServerError`, each with a message of one sentence.
    package func open(
        store: any CallStore,
        push: any PushSender,
        ports: Switchboard.Ports
    ) throws {
        // The port comes first: a second server on the same port must not touch the first one's store.
        let server = try listen()
        let stored = try answeringOperators { try store.open(at: now) }
        do throws(ServerError) {
            try listenForOperatorsAfterOpening(on: server)
            begin(with: store, stored, push, ports)
            use(server)
            try startWorkers()
        } catch {
            // Otherwise the next server would wait for the lease.
            store.close()
            throw error
        }
    }

    /// Binds the port of clients, and makes the loops on other threads.
    func listen() throws(ServerError) -> Server {
        let server = try Server(configuration: configuration.server)
        if !configuration.mayWaitForStore { try listenForOperators(on: server) }
        try makeWorkers(beside: server)
        return server
    }

    /// Binds the port of operators, unless ``listen()`` has done so: while the store is opened, a ``StartingListener``
    /// may have the port.
    func listenForOperatorsAfterOpening(on server: Server) throws(ServerError) {
        if configuration.mayWaitForStore { try listenForOperators(on: server) }
    }

    private func listenForOperators(on server: Server) throws(ServerError) {
        guard let admin = configuration.admin else { return }
        _ = try server.addListener(host: admin.host, port: admin.port, id: Self.adminListener).asAdminPort(of: self)
    }

    /// Serves on a server from now on.
    func use(_ server: Server) {
        startFigures.ownDescriptors = ProcessFigures.countDescriptors()
        self.server = server
        ownLoop = WorkerLoop(
            server,
            router: router,
            sessions: socketIO.index,
            sink: .gateway(.passUnretained(self)),
            compressor: pageCompressor,
            isSilent: configuration.isSilent
        )
    }

    /// Begins to decide, with the data of an open store.
    func begin(with store: any CallStore, _ stored: StoredState, _ push: any PushSender, _ ports: Switchboard.Ports) {
        if stored.uncleanStarts > 0 {
            log.notice("the last run did not shut down cleanly; continuing with the committed data")
        }
        for (user, moment) in stored.revocations { router.revocations.note(user, upTo: moment) }
        self.store = store
        self.push = push
        knownWallClock = wallClock
        switchboard = SwitchboardBox(
            Switchboard(
                policy: configuration.policy,
                stored: stored,
                ports: ports,
                wallClock: knownWallClock,
                at: now
            )
        )
    }

    /// Commits all changes and releases the calls to another node; from now on nothing is decided.
    ///
    /// Blocks until the store is closed. It has then posted its last reports.
    func endOwnership(releasingTo heir: NodeID?) {
        guard let switchboard, !isBusy else { return }
        handlePendingInputs()
        passesEventsOn = true
        isBusy = true
        switchboard.flush(at: now, into: &outputs)
        perform()
        isBusy = false
        (store as? any ReleasableStore)?.close(releasingTo: heir)
        store = nil
    }

    /// Drops the calls without committing anything.
    func dropCalls() {
        passesEventsOn = true
        switchboard = nil
        store = nil
        push = nil
        pendingInputs = []
    }

    static let adminListener = 1
    /// The admin listener's port; `nil` before it is open.
    package internal(set) var adminPort: Int?
    /// The client listener's port; 0 before it is open.
    package var port: Int { server?.port ?? 0 }

    /// Serves on the calling thread until ``drain()`` has completed, and then closes the store.
    package func run() {
        guard let server, let ownLoop else { return }
        server.post { [self] in turn() }
        ownLoop.run()
        endWorkers()
        store?.close()
        node?.register.close()
    }

    /// Runs a closure on the loop thread; from any thread.
    func post(_ body: @escaping @Sendable (Gateway) -> Void) {
        server?.post { [self] in body(self) }
    }

    /// Handles a report of the store; from any thread.
    package func take(_ report: StoreReport) {
        server?.post { [self] in
            // It belongs to a claim that this node did not use.
            if node != nil, switchboard == nil { return }
            feed(.stored(report))
            if let node {
                node.handle(.stored(report))
            } else if case .deposed(let failure) = report {
                storeFailure = failure
                drain()
            }
        }
    }

    /// The failure for which the server ended: another server has taken over the database; `nil` if there was none.
    package private(set) var storeFailure: StoreFailure?

    /// Whether the node was deposed, so that its process must begin anew after ``run()``.
    package internal(set) var needsNewRun = false

    /// Handles an event of the wall clock; from any thread.
    package func take(_ event: ServerTime.Event) {
        server?.post { [self] in note(event) }
    }

    /// Handles the result of a push; from any thread.
    package func take(_ id: PushID, _ result: PushResult) {
        server?.post { [self] in feed(.pushed(id, result)) }
    }

    /// Carries out an operator's command, and calls `done` on the loop when the command is durable.
    ///
    /// Call this method from any thread, once the gateway is open.
    package func carryOut(_ command: Switchboard.OperatorCommand, done: @escaping @Sendable () -> Void) {
        server?.post { [self] in
            if let node, !node.isServing { node.passToOwner(command, done: done) } else { decide(command, done: done) }
        }
    }

    /// Carries out an operator's command here, on the owner.
    func decide(_ command: Switchboard.OperatorCommand, done: @escaping @Sendable () -> Void) {
        lastOperatorCommand += 1
        let id = OperatorCommandID(rawValue: lastOperatorCommand)
        operatorCommands[id] = done
        feed(.operatorCommand(id, command))
    }

    /// Stops accepting, closes every connection with 1001, and lets ``run()`` return when all are gone; from any
    /// thread.
    package func drain() {
        server?.post { [self] in
            // The operator's wish comes before a new run.
            needsNewRun = false
            beginDraining()
        }
    }

    func beginDraining() {
        guard drainBy == nil else { return }
        log.notice("shutting down")
        configuration.audit(.stopping)
        let limit = needsNewRun ? configuration.beginningAnewMilliseconds : configuration.drainMilliseconds
        drainBy = now + .milliseconds(limit)
        socketIO.index.drain()
        stopListening()
        if let node {
            node.drain()
        } else {
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
            if switchboard == nil, node?.machine.hasEnded == true { return }
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

    func handlePendingInputs() {
        guard !isBusy, !pendingInputs.isEmpty, let switchboard else { return }
        isBusy = true
        while let next = pendingInputs.popFirst() {
            switchboard.handle(next, at: now, into: &outputs)
            perform()
        }
        isBusy = false
    }

    func perform() {
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
            send(Frame(withHeadroom: frame), to: connection, ownLoop)
        case .marked(let connection, let call, let seq):
            node?.machine.mark(connection.rawValue, LogMark(call, seq: seq))
        case .bound(let connection, let isBound): node?.sendCommand(.bind(connection, isBound), to: connection.rawValue)
        case .ping(let connection, let number): pingsDue[connection] = number
        case .close(let connection, let code, let reason, let isLost):
            if let socketIO = socketIOSession(connection) {
                handle(.closedByServer(code: code, reason: reason), socketIO)
                return
            }
            close(connection, code: code, reason: reason, discardingQueue: isLost)
        case .reply(let request, let reply): respond(reply, to: request)
        case .verify(let connection, let id, let token):
            let result = Result { () throws(WireError) in try router.admit(token) }
            pendingInputs.append(.verified(connection, id: id, result))
        case .commit(let changes, let ticket):
            node?.machine.lastTicket = ticket.rawValue
            isStoreImmediate = store?.commit(changes, as: ticket) == true
            if isStoreImmediate {
                pendingInputs.append(.stored(.committed(upTo: ticket)))
            } else {
                lastCommit = now
            }
        case .submit(let query, let id): store?.submit(query, as: id)
        case .push(let outgoing): push?.send(outgoing)
        case .cancelPush(let id): push?.cancel(id)
        case .revoked(let user, let moment):
            router.revocations.note(user, upTo: moment)
            node?.handle(.revoked(user, upTo: moment))
            log.limited(level: .notice, "a user's tokens were revoked", of: user.text, [.user(user)])
        case .done(let id): operatorCommands.removeValue(forKey: id)?()
        case .note(let note): write(note)
        case .audit(let event): configuration.audit(event)
        case .trace(let note): write(note)
        }
    }

    /// Returns the Socket.IO session that the switchboard knows by this id; `nil` if no such session is open.
    func socketIOSession(_ id: SocketID) -> SocketIOSession? {
        SocketIOSessions.isSocketIO(id) ? socketIO.byID[id] : nil
    }
}

extension Int {
    fileprivate func asAdminPort(of gateway: Gateway) -> Int {
        gateway.adminPort = self
        return self
    }
}
