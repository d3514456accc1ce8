import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// A server that is no node: the real switchboard, with the work of a gateway and a store around it.
class OneServer: Part, ServerUnderTest {
    let turns: Turns
    let network: Network
    let requests: Requests
    private let pushes: PushServices
    /// The app's backend; `nil` = there is none.
    let backend: Backend?
    private var disk = Disk()

    init(
        _ turns: Turns,
        _ network: Network,
        _ requests: Requests,
        _ pushes: PushServices,
        _ backend: Backend? = nil
    ) {
        self.turns = turns
        self.network = network
        self.requests = requests
        self.pushes = pushes
        self.backend = backend
        super.init(turns.course)
        turns.server = self
    }

    var decides: Bool { true }
    var isStopped: Bool { false }

    func start() {
        guard turns.switchboard == nil else { return }
        setClock()
        let stored = disk.open()
        log("server starts, \(disk.calls.count) calls kept, \(stored.uncleanStarts) crashes")
        checker.restarted(with: disk.calls, stored.devices, at: now, saying: moment)
        let random = SeededGenerator(seed: draws.serverSeed, stream: UInt64(turns.run + 1))
        turns.begin(turns.makeSwitchboard(stored, random: random, at: moment))
        started(with: stored)
    }

    // MARK: What another kind of users changes

    /// Sets the clock at a start.
    func setClock() {
        guard faults.contains(.leaps), draws.faults.percent(50) else { return }
        course.serverAhead = draws.faults.within(-20_000...20_000)
    }

    /// The server has started.
    func started(with stored: StoredState) { turns.planTimer() }

    /// Changes are durable from now on, batch by batch.
    func durable(_ batches: [[Change]], upTo ticket: Ticket) {
        checker.durable(upTo: ticket)
        backend?.durable(batches)
    }

    /// Returns for how long the server is down.
    func downtime(afterCrash: Bool) -> Int64 { draws.faults.within(50...(afterCrash ? 4_000 : 2_000)) }

    /// Returns how long a stall of the store lasts.
    func stallTime() -> Int64 { draws.faults.within(200...4_000) }

    // MARK: Outputs

    func carryOut(_ output: Switchboard.Output) {
        switch output {
        case .send(let id, let frame): network.sends(frame, on: Int(id.rawValue))
        case .ping(let id, let number): network.pings(Int(id.rawValue), number)
        case .close(let id, let code, _, _): network.closes(Int(id.rawValue), code: code)
        case .reply(let id, let reply) where Backend.isRead(id): backend?.replied(reply, to: id)
        case .reply(let id, let reply) where Decider.isOfCrowd(id): backend?.decider?.replied(reply, to: id)
        case .reply(let id, let reply): respond(reply, to: Int(id.rawValue))
        case .verify(let id, let name, _):
            turns.serve(.verified(id, id: name, .success(network.device(of: Int(id.rawValue)).principal)))
        case .commit(let changes, let ticket):
            disk.commit(changes, as: ticket)
            if disk.writing == 0 { beginWriting() }
        case .submit(let query, let id) where Disk.concernsEvents(query):
            disk.ask(query, as: id)
            answerQueries()
        case .submit(let query, let id):
            guard let answer = disk.answer(query) else {
                return after(2, .storeReport(run: turns.run, .queryResult(id, Disk.notSimulated)))
            }
            let fails = faults.contains(.store) && !isHealed && draws.network.percent(3)
            let result = fails ? StoreResult.failed(StoreFailure("cannot be read")) : answer
            after(draws.network.within(1...20), .storeReport(run: turns.run, .queryResult(id, result)))
        case .push(let push): order(push)
        case .deliver(let request): deliver(request)
        case .ask(let question): ask(question)
        case .marked, .bound, .cancelPush, .revoked, .done, .audit, .note, .trace: break
        }
    }

    func turnEnded() {}
    func flushed() {}

    func respond(_ reply: Reply, to index: Int) {
        guard requests.checkReply(reply, to: index), !requests.all[index].losesResponse else { return }
        if case .probe = requests.all[index].kind { return }
        requests.respond(index, status: reply.status, body: reply.body)
    }

    func order(_ push: OutgoingPush) { after(pushes.ordered(push), .pushArrives(run: turns.run, push)) }

    func pushArrives(_ push: OutgoingPush, _ run: Int) {
        // The push is not on the wire yet: it can still be cancelled, and it is lost if the server goes down.
        guard run == turns.run, turns.switchboard != nil else { return }
        pushes.arrived(push) { result, delay in after(delay, .pushResult(run: run, push.id, result)) }
    }

    // MARK: Events for the app's backend

    private func deliver(_ request: EventRequest) {
        guard let backend else { return }
        after(backend.ordered(request, by: turns.run), .deliveryArrives(request, run: turns.run))
    }

    /// Handles a request that reaches the app's backend, whether this run of the server goes on or not.
    func deliveryArrives(_ request: EventRequest, _ run: Int) {
        backend?.arrived(request) { result, delay in
            after(delay, .deliveryResult(run: run, request.id, result))
        }
    }

    func deliveryEnds(_ run: Int, _ id: DeliveryID, _ result: DeliveryResult) {
        backend?.told.resulted(id, by: run)
        turns.delivered(run, id, result)
    }

    func readFeed(_ feed: Switchboard.FeedRead, as id: RequestID) {
        guard turns.switchboard != nil, let service = Backend.service else { return }
        turns.serve(.requested(id, service, .feed(feed)))
    }

    // MARK: Decisions of the app's backend

    private func ask(_ question: DecisionRequest) {
        guard let decider = backend?.decider else { return }
        after(decider.ordered(question), .question(question, run: turns.run))
    }

    /// Handles a question that reaches the app's backend; the run that has asked may be over.
    func questionArrives(_ question: DecisionRequest, _ run: Int) {
        backend?.decider?.arrived(question) { answer, delay in
            after(delay, .decision(run: run, question.id, answer))
        }
    }

    // MARK: The store

    private func answerQueries() {
        for (id, answer) in disk.takeAnswers() {
            let fails = faults.contains(.store) && !isHealed && draws.backend.percent(3)
            let result = fails ? StoreResult.failed(StoreFailure("cannot be read")) : answer
            after(draws.backend.within(1...20), .storeReport(run: turns.run, .queryResult(id, result)))
        }
    }

    private func beginWriting() {
        guard !turns.isStoreStalled, !disk.queue.isEmpty else { return }
        disk.beginWriting()
        var duration = draws.network.within(1...8)
        if faults.contains(.store), draws.network.percent(4) { duration = draws.network.within(50...900) }
        after(duration, .committed(run: turns.run))
    }

    func committed(_ run: Int) {
        guard run == turns.run, turns.switchboard != nil else { return }
        let batches = disk.batchesBeingWritten
        guard let ticket = disk.finishWriting() else { return }
        durable(batches, upTo: ticket)
        answerQueries()
        beginWriting()
        turns.serve(.stored(.committed(upTo: ticket)))
    }

    func stall() {
        guard !turns.isStoreStalled, turns.switchboard != nil else { return }
        turns.isStoreStalled = true
        log("store stalls")
        turns.serve(.stored(.stalled(StoreFailure("disk full"))))
        after(stallTime(), .chaos(.store))
    }

    func recover() {
        guard turns.isStoreStalled else { return }
        turns.storeRecovered()
        log("store recovers")
        if disk.writing == 0 { beginWriting() }
        turns.serve(.stored(.recovered))
    }

    // MARK: Faults

    func inject(_ fault: Faults) -> Bool {
        switch fault {
        case .store: turns.isStoreStalled ? recover() : isHealed ? () : stall()
        case .crashes: if !isHealed { crash() }
        case .restarts: if !isHealed { stopInOrder() }
        default: return false
        }
        return true
    }

    func endFaults() {
        if turns.switchboard == nil { start() }
        recover()
    }

    /// Crashes the server: everything in memory is lost, and everything that is not durable.
    func crash() {
        guard turns.switchboard != nil else { return }
        statistics.crashes += 1
        let keeps = draws.faults.percent(50)
        log(
            "server crashes (\(disk.queue.count) commits waiting, \(disk.writing) being written: \(keeps ? "kept" : "lost"))"
        )
        if keeps, disk.writing > 0 { durable(disk.batchesBeingWritten, upTo: disk.queue[disk.writing - 1].ticket) }
        disk.crash(keepingWrites: keeps)
        goDown()
        after(downtime(afterCrash: true), .restart)
    }

    /// Shuts the server down cleanly.
    func stopInOrder() {
        guard turns.switchboard != nil else { return }
        log("server drains")
        checker.decisions?.drained()
        turns.serve(.drain)
        turns.flush()
        // The commits that a full disk did not take are lost.
        if scenario.hasSchedules, turns.isStoreStalled { disk.crash(keepingWrites: false) }
        if let last = disk.queue.last { durable(disk.queue.map(\.changes), upTo: last.ticket) }
        disk.close()
        goDown()
        after(downtime(afterCrash: false), .restart)
    }

    func goDown() {
        turns.end()
        checker.crashed()
        checker.durability.crashed()
        for index in network.links.indices where network.links[index].isOpenAtDevice {
            network.links[index].isOpenAtServer = false
            guard !network.links[index].isHalfOpen, !network.links[index].isClosing else { continue }
            network.links[index].isClosing = true
            after(draws.network.within(1...300), .closeDown(link: index, code: 1006))
        }
        requests.dropAll()
    }

    func checkEnd() {}
}
