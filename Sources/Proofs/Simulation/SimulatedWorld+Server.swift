import CallCore
import CallPorts
import CallWire
import Cluster
import SeededRandom
import Switchboard

/// The capabilities in the simulated pushes: all their fields in plain text, without a signature.
struct Capabilities: CapabilityIssuer {
    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String {
        [call.text, String(epoch), user.text, peer.text, device.text, String(until.milliseconds)].joined(separator: "|")
    }

    /// Returns the bearer of a capability; `nil` when it is invalid or has expired.
    func principal(_ capability: String, at now: Int64) -> Principal? {
        let words = capability.split(separator: "|").map(String.init)
        guard words.count == 6, let call = CallID(words[0]), let epoch = UInt32(words[1]), let user = UserID(words[2]),
            let peer = UserID(words[3]), let device = DeviceID(words[4]), let until = Int64(words[5]), now <= until
        else { return nil }
        return Principal(user: user, scope: CallScope(call: call, epoch: epoch, peer: peer, device: device))
    }
}

/// Simulates the server: the real switchboard, with the work of a gateway around it.
extension SimulatedWorld {
    func start() {
        guard !hasNodes else { return startNodes() }
        guard switchboard == nil else { return }
        run += 1
        if faults.contains(.leaps), faultDraws.percent(50) { serverAhead = faultDraws.within(-20_000...20_000) }
        let stored = store.open()
        log("server starts, \(store.keptCalls.count) calls kept, \(stored.uncleanStarts) crashes")
        checker.restarted(with: store.keptCalls, stored.devices, at: now, saying: moment)
        storeIsStalled = false
        timerAt = nil
        flushIsPlanned = false
        switchboard = SwitchboardBox(
            Switchboard(
                policy: policy,
                stored: stored,
                ports: .init(
                    capabilities: Capabilities(),
                    random: SeededGenerator(seed: serverSeed, stream: UInt64(run))
                ),
                at: moment
            )
        )
        planTimer()
    }

    var policy: Policy {
        var policy = Policy()
        policy.callsPerMinute = 60
        // The limits of rings are switched off, because a refused ring is not a state of a call. Unit tests cover these
        // limits.
        policy.ringsPerPair = 0
        policy.ringsPerCallee = 0
        // The simulator's calls are small: with this value their replays take several slices.
        if serverSeed % 3 == 0 { policy.replaySlice = 500 }
        if serverSeed % 4 == 0 { policy.whenBusy = .busy }
        // With these values a burst makes its senders wait, and its replay takes several slices.
        if faults.contains(.bursts) {
            policy.backlogBytes = serverSeed % 2 == 0 ? 24 * 1_024 : 96 * 1_024
            policy.replaySlice = 8 * 1_024
        }
        policy.hasFirebase = true
        policy.applicationServerKey = "B"
        policy.withholdsDecisions = faults.contains(.withholding)
        policy.marksLogs = hasNodes
        return policy
    }

    /// How long after its beginning a call must have reached the callee's devices (I6), in milliseconds: the time for a
    /// probe and for the commits.
    var deliveryTime: Int64 { 2_600 + commitTime }

    /// The longest time for the two commits that precede a push, in milliseconds; 0 if the server does not withhold its
    /// decisions.
    var commitTime: Int64 { faults.contains(.withholding) ? 2_200 : 0 }

    /// Passes one input to the switchboard and performs its outputs.
    ///
    /// If `repeatable`, passes the input again, which must change nothing (I7).
    func serve(_ input: Switchboard.Input, repeatable: Bool = false) {
        guard let switchboard else { return }
        switchboard.handle(input, at: moment, into: &outputs)
        performAll()
        if repeatable {
            flush()
            switchboard.handle(input, at: moment, into: &outputs)
            switchboard.flush(at: moment, into: &outputs)
            let again = outputs
            outputs.removeAll(keepingCapacity: true)
            checkRepeat(again)
        }
        // The gateway commits once per turn, and a turn may have several inputs.
        if networkDraws.percent(70) {
            flush()
        } else if !flushIsPlanned {
            flushIsPlanned = true
            after(0, .flush(run: run))
        }
        planTimer()
        if let owner { confirmEvents(at: owner) }
    }

    /// Checks the outputs of a repeated input: its sender may get a response, but nothing may be relayed, pushed or
    /// appended.
    private func checkRepeat(_ batch: [Switchboard.Output]) {
        for output in batch {
            switch output {
            case .send(_, let frame):
                guard let object = MessageReader.object(inFrame: frame),
                    let type = object.text(of: .type), type != "ack", type != "error"
                else { continue }
                fail("I7", "a repeated frame was relayed again: \(type)")
            case .reply(let id, let reply): replies(id, reply)
            case .push: fail("I7", "a repeated input ordered a push")
            case .commit(let changes, let ticket):
                for change in changes {
                    switch change {
                    case .call(let record): fail("I7", "a repeated input changed the call \(record.id.text)")
                    case .entry(_, let entry): fail("I7", "\(entry.entry.content) was appended again")
                    default: break
                    }
                }
                perform([.commit(changes, ticket)])
            case .marked, .bound, .ping, .close, .verify, .submit, .cancelPush, .revoked, .done, .audit, .note, .trace:
                break
            }
        }
    }

    func flush() {
        guard let switchboard else { return }
        switchboard.flush(at: moment, into: &outputs)
        performAll()
        checker.flushed()
        planTimer()
    }

    private func planTimer() {
        guard let deadline = (switchboard?.deadline?.milliseconds).map({ $0 - serverAhead }) else { return }
        if let timerAt, timerAt <= deadline { return }
        timerAt = deadline
        // A timer may be late, but never early.
        events.plan(.serverTimer(run: run), at: max(now, deadline) + networkDraws.within(0...5))
    }

    /// Performs the switchboard's outputs, and keeps their buffer for the next ones.
    private func performAll() {
        guard !outputs.isEmpty else { return }
        var batch: [Switchboard.Output] = []
        swap(&batch, &outputs)
        perform(batch)
        guard outputs.isEmpty else { return }
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &outputs)
    }

    private func perform(_ batch: [Switchboard.Output]) {
        for output in batch {
            if let owner, performAtNode(output, owner) { continue }
            switch output {
            case .send(let id, let frame): sends(frame, on: Int(id.rawValue))
            case .ping(let id, let number): pings(Int(id.rawValue), number)
            case .close(let id, let code, _, _): closes(Int(id.rawValue), code: code)
            case .reply(let id, let reply): replies(id, reply)
            case .verify(let id, let name, _):
                serve(.verified(id, id: name, .success(devices[links[Int(id.rawValue)].device].principal)))
            case .commit(let changes, let ticket):
                if !hasNodes { store.commit(changes, as: ticket) }
                for change in changes { recordChange(change) }
                checker.queued(changes, as: ticket)
                checker.durability.queued(changes, as: ticket, calls: checker.calls)
                if let owner {
                    commitAtNode(changes, ticket, owner)
                } else if store.writing == 0 {
                    beginWriting()
                }
            case .submit(let query, let id):
                guard let answer = store.answer(query) else {
                    after(2, .storeReport(run: run, .queryResult(id, ModelStore.notSimulated)))
                    continue
                }
                let fails = faults.contains(.store) && !isHealed && networkDraws.percent(3)
                let result = fails ? StoreResult.failed(StoreFailure("cannot be read")) : answer
                after(networkDraws.within(1...20), .storeReport(run: run, .queryResult(id, result)))
            case .push(let push):
                if faults.contains(.withholding) { checker.checkDurable(push) }
                pushRequested(push)
            case .cancelPush(let id): checker.cancelled(id)
            case .marked, .bound, .revoked, .done, .audit, .trace: break
            case .note(let note): logNote(note)
            }
        }
    }

    private func recordChange(_ change: Change) {
        let transition = checker.apply(change, at: now)
        if let begun = transition.begun {
            for delay in [deliveryTime, 7_000, 14_000, 30_000] {
                after(delay, .checkDelivery(begun.key, epoch: begun.epoch, number: begun.number))
            }
        }
        if let ended = transition.ended { statistics.endings[ended.rawValue, default: 0] += 1 }
    }

    private func logNote(_ note: Switchboard.Note) {
        switch note {
        case .began(let id, let epoch): log("server: call \(id.text)/\(epoch) begins")
        case .ended(let id, let epoch, let reason): log("server: call \(id.text)/\(epoch) ended, \(reason.rawValue)")
        case .schedulesPlanned, .unknownTimeZone, .unknownName: break
        case .unreadable(let number): fail("I4", "call number \(number.rawValue) was stored and cannot be read")
        case .pushFailed, .storeStalled, .storeRecovered, .storeBehind, .oddClock, .damaged: break
        }
    }

    // MARK: The store

    private func beginWriting() {
        guard !storeIsStalled, !store.queue.isEmpty else { return }
        _ = store.beginWriting()
        var duration = networkDraws.within(1...8)
        if faults.contains(.store), networkDraws.percent(4) { duration = networkDraws.within(50...900) }
        after(duration, .committed(run: run))
    }

    func committed(_ run: Int) {
        guard run == self.run, switchboard != nil, let ticket = store.finishWriting() else { return }
        checker.durable(upTo: ticket)
        beginWriting()
        serve(.stored(.committed(upTo: ticket)))
    }

    func stall() {
        guard !storeIsStalled, switchboard != nil else { return }
        storeIsStalled = true
        log("store stalls")
        serve(.stored(.stalled(StoreFailure("disk full"))))
        after(faultDraws.within(200...4_000), .chaos(.store))
    }

    func recover() {
        guard storeIsStalled else { return }
        storeIsStalled = false
        storeRecoveredAt = now
        log("store recovers")
        if store.writing == 0 { beginWriting() }
        serve(.stored(.recovered))
    }

    // MARK: The end of the server

    /// Crashes the server: everything in memory is lost, and everything that is not durable.
    func crash() {
        guard switchboard != nil else { return }
        statistics.crashes += 1
        let keeps = faultDraws.percent(50)
        log(
            "server crashes (\(store.queue.count) commits waiting, \(store.writing) being written: \(keeps ? "kept" : "lost"))"
        )
        if keeps, store.writing > 0 { checker.durable(upTo: store.queue[store.writing - 1].ticket) }
        store.crash(keepingWrites: keeps)
        goDown()
        after(faultDraws.within(50...4_000), .restart)
    }

    /// Shuts the server down cleanly.
    func stopInOrder() {
        guard switchboard != nil else { return }
        log("server drains")
        serve(.drain)
        flush()
        if let last = store.queue.last { checker.durable(upTo: last.ticket) }
        store.close()
        goDown()
        after(faultDraws.within(50...2_000), .restart)
    }

    private func goDown() {
        switchboard = nil
        run += 1
        checker.crashed()
        checker.durability.crashed()
        for index in links.indices where links[index].isOpenAtDevice {
            links[index].isOpenAtServer = false
            guard !links[index].isHalfOpen, !links[index].isClosing else { continue }
            links[index].isClosing = true
            after(networkDraws.within(1...300), .closeDown(link: index, code: 1006))
        }
        endRequests()
    }

    /// Ends the requests that the server was handling: their clients get no response.
    func endRequests() {
        for index in requests.indices where requests[index].isAtServer {
            requests[index].isAtServer = false
            after(networkDraws.within(1...300), .response(index, status: 0, body: []))
        }
    }
}
