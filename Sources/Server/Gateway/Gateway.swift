import CallCore
package import CallPorts
import CallWire
import DequeModule
import LibWebSockets
import Nodes
package import ServerLog
import SocketIO
package import Switchboard
package import Threads

/// The translation between sockets and the switchboard.
///
/// It makes no decisions. With `--loops`, further event loops run on other threads (`SocketLoop`) and pass their events
/// to the gateway.
///
/// Everything here runs on the server's loop thread, except the methods that are documented with "from any thread".
///
/// @unchecked: a method that any thread may call posts to the loop, or uses an object that is safe on any thread. All
/// other state is confined to the loop thread.
package final class Gateway: @unchecked Sendable {
    let configuration: GatewayConfiguration
    let router: RequestRouter
    let log: ServerLog
    /// The decisions; `nil` while another node, or none, owns the calls.
    private(set) var switchboard: SwitchboardBox?
    private var senders: Senders?
    var commits = Commits()
    var queue = TurnQueue()
    /// How much the switchboard reports for the log.
    private var detail = Switchboard.Detail.none
    /// What the switchboard knows of the wall clock.
    var knownWallClock = WallClock.agreeing
    var timerAt: Moment?
    var loops = LoopTable()
    /// The Socket.IO sessions.
    var socketIO = SocketIOSessions()
    var requests = RequestTable()
    /// This node, if the server is one of several.
    var node: Node?
    /// Whether this node's events go to its attachment: it does not serve as the owner, or not yet, or no longer.
    var passesEventsOn = false { didSet { router.forwarding.isOn = passesEventsOn } }
    var operators: OperatorDesk
    var counts = GatewayCounts()
    var ending = Ending()

    /// The server of the loop on the gateway's own thread; set once, before the loop runs.
    var server: Server? { loops.own?.server }
    var isDraining: Bool { ending.by != nil }

    /// Creates a gateway that is not open yet.
    package init(configuration: GatewayConfiguration, authenticator: any Authenticator, log: ServerLog) {
        self.configuration = configuration
        router = RequestRouter(
            configuration,
            authenticator: configuration.trustsUnverifiedSocketIOUsers
                ? TrustingAuthenticator(strict: authenticator) : authenticator,
            log: log
        )
        operators = OperatorDesk(hosts: AdminHosts(configuration.adminHosts))
        self.log = log
    }

    /// Opens the store, loads its state, and listens; nothing is served before ``run()``.
    ///
    /// - Throws: `StoreFailure` or `ServerError`, each with a message of one sentence.
    package func open(
        store: any CallStore,
        senders: Senders,
        ports: Switchboard.Ports
    ) throws {
        // The port comes first: a second server on the same port must not touch the first one's store.
        let server = try listen()
        let stored = try answeringOperators { try store.open(at: now) }
        do throws(ServerError) {
            try listenForOperatorsAfterOpening(on: server)
            beginDeciding(with: store, stored, senders, ports)
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
        counts.startFigures.ownDescriptors = ProcessFigures.countDescriptors()
        loops.own = SocketLoop(
            server,
            router: router,
            sessions: socketIO.index,
            sink: .gateway(.passUnretained(self)),
            compressor: loops.compressor,
            isSilent: configuration.isSilent
        )
    }

    /// Begins to decide, with the data of an open store.
    func beginDeciding(
        with store: any CallStore,
        _ stored: StoredState,
        _ senders: Senders,
        _ ports: Switchboard.Ports
    ) {
        if stored.uncleanStarts > 0 {
            log.notice("the last run did not shut down cleanly; continuing with the committed data")
        }
        for (user, moment) in stored.revocations { router.revocations.note(user, upTo: moment) }
        commits.store = store
        self.senders = senders
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
        guard let switchboard, !queue.isBusy else { return }
        handlePendingInputs()
        passesEventsOn = true
        queue.isBusy = true
        switchboard.flush(at: now, into: &queue.outputs)
        perform()
        queue.isBusy = false
        (commits.store as? any ReleasableStore)?.close(releasingTo: heir)
        commits.store = nil
    }

    /// Drops the calls without committing anything.
    func dropCalls() {
        passesEventsOn = true
        switchboard = nil
        commits.store = nil
        senders = nil
        queue.inputs = []
    }

    static let adminListener = 1
    /// The admin listener's port; `nil` before it is open.
    package var adminPort: Int? { operators.port }
    /// The client listener's port; 0 before it is open.
    package var port: Int { server?.port ?? 0 }

    /// Serves on the calling thread until ``drain()`` has completed, and then closes the store.
    package func run() {
        guard let ownLoop = loops.own else { return }
        ownLoop.server.post { [self] in turn() }
        ownLoop.run()
        endWorkers()
        commits.store?.close()
        node?.closeRegister()
    }

    /// Runs a closure on the loop thread; from any thread.
    func post(_ body: @escaping @Sendable (Gateway) -> Void) {
        server?.post { [self] in body(self) }
    }

    /// Handles a report of the store; from any thread.
    package func storeReported(_ report: StoreReport) {
        server?.post { [self] in
            // It belongs to a claim that this node did not use.
            if node != nil, switchboard == nil { return }
            feed(.stored(report))
            if let node {
                node.handle(.stored(report))
            } else if case .deposed(let failure) = report {
                ending.storeFailure = failure
                drain()
            }
        }
    }

    /// The failure for which the server ended: another server has taken over the database; `nil` if there was none.
    package var storeFailure: StoreFailure? { ending.storeFailure }

    /// Whether the node was deposed, so that its process must re-execute after ``run()``.
    package var needsNewRun: Bool { ending.needsNewRun }

    /// Handles an event of the wall clock; from any thread.
    package func clockReported(_ event: ServerTime.Event) {
        server?.post { [self] in note(event) }
    }

    /// Handles the result of a push; from any thread.
    package func pushFinished(_ id: PushID, _ result: PushResult) {
        server?.post { [self] in feed(.pushed(id, result)) }
    }

    /// Handles the result of a delivery to the app's backend; from any thread.
    package func deliveryFinished(_ id: DeliveryID, _ result: DeliveryResult) {
        server?.post { [self] in feed(.delivered(id, result)) }
    }

    /// Handles the result of a question to the app's backend; from any thread.
    package func decisionMade(_ id: DecisionID, _ result: DecisionResult) {
        server?.post { [self] in feed(.decided(id, result)) }
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
        feed(.operatorCommand(operators.note(done), command))
    }

    /// Stops accepting, closes every connection with 1001, and lets ``run()`` return when all are gone; from any
    /// thread.
    package func drain() {
        server?.post { [self] in
            // The operator's wish comes before a new run.
            ending.needsNewRun = false
            beginDraining()
        }
    }

    func beginDraining() {
        guard !isDraining else { return }
        log.notice("shutting down")
        configuration.audit(.stopping)
        let limit = ending.needsNewRun ? configuration.beginningAnewMilliseconds : configuration.drainMilliseconds
        ending.by = now + .milliseconds(limit)
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
    /// Inputs that arrive meanwhile wait in ``TurnQueue/inputs``.
    func feed(_ input: Switchboard.Input) {
        guard !queue.isBusy, queue.inputs.isEmpty, let switchboard else {
            if switchboard == nil, node?.machine.hasEnded == true { return }
            queue.inputs.append(input)
            handlePendingInputs()
            return
        }
        queue.isBusy = true
        updateDetail(switchboard)
        switchboard.handle(input, at: now, into: &queue.outputs)
        perform()
        queue.isBusy = false
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
        guard !queue.isBusy, !queue.inputs.isEmpty, let switchboard else { return }
        queue.isBusy = true
        while let next = queue.inputs.popFirst() {
            switchboard.handle(next, at: now, into: &queue.outputs)
            perform()
        }
        queue.isBusy = false
    }

    func perform() {
        // The outputs are moved out of the queue first, because performing one may call back into the gateway. The
        // empty array goes back afterwards, so that its memory is used again.
        var batch: [Switchboard.Output] = []
        swap(&batch, &queue.outputs)
        for output in batch { perform(output) }
        batch.removeAll(keepingCapacity: true)
        if queue.outputs.isEmpty { swap(&batch, &queue.outputs) }
    }

    private func perform(_ output: Switchboard.Output) {
        guard let ownLoop = loops.own else { return }
        switch output {
        case .send(let connection, let frame):
            if let socketIO = socketIOSession(connection) {
                feedSession(.frame(frame), socketIO)
                return
            }
            sendFrame(Frame(withHeadroom: frame), to: connection, ownLoop)
        case .marked(let connection, let call, let seq):
            node?.machine.mark(connection.rawValue, LogMark(call, seq: seq))
        case .bound(let connection, let isBound): node?.sendCommand(.bind(connection, isBound), to: connection.rawValue)
        case .ping(let connection, let number): queue.pings[connection] = number
        case .close(let connection, let code, let reason, let isLost):
            if let socketIO = socketIOSession(connection) {
                feedSession(.closedByServer(code: code, reason: reason), socketIO)
                return
            }
            close(connection, code: code, reason: reason, discardingQueue: isLost)
        case .reply(let request, let reply): respond(reply, to: request)
        case .verify(let connection, let id, let token):
            let result = Result { () throws(WireError) in try router.admit(token) }
            queue.inputs.append(.verified(connection, id: id, result))
        case .commit(let changes, let ticket):
            node?.machine.lastTicket = ticket.rawValue
            commits.areImmediate = commits.store?.commit(changes, as: ticket) == true
            if commits.areImmediate {
                queue.inputs.append(.stored(.committed(upTo: ticket)))
            } else {
                commits.last = now
            }
        case .submit(let query, let id): commits.store?.submit(query, as: id)
        case .push(let outgoing): senders?.push.send(outgoing)
        case .cancelPush(let id): senders?.push.cancel(id)
        case .deliver(let request): senders?.events?.send(request)
        case .ask(let question):
            if let decider = senders?.decider {
                decider.ask(question)
            } else {
                queue.inputs.append(.decided(question.id, .unreachable("there is no backend to ask")))
            }
        case .revoked(let user, let moment):
            router.revocations.note(user, upTo: moment)
            node?.handle(.revoked(user, upTo: moment))
            log.limited(level: .notice, "a user's tokens were revoked", of: user.text, [.user(user)])
        case .done(let id): operators.completions.removeValue(forKey: id)?()
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
        gateway.operators.port = self
        return self
    }
}
