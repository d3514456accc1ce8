import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// A deposed owner goes on with the sockets that still hang on it: it may relay candidates, and nothing else (I13).
extension SimulatedWorld {
    func deposedTakes(_ item: EdgeState.Waiting, on index: Int) {
        let id = ConnectionID(rawValue: UInt64(index))
        switch item {
        case .frame(let frame):
            let device = devices[links[index].device]
            log("\(device.id.text) → deposed owner: \(Ladder.text(frame, from: 0))")
            mix(frame)
            _ = checker.noteSignal(frame, from: device)
            deposedTakes(.received(id, frame))
            if let owner = deposed, owner.lastTicket > owner.committed { links[index].edge.isUnconfirmed = true }
        case .pong(let number): deposedTakes(.ponged(id, number))
        }
    }

    func deposedTakes(_ input: Switchboard.Input) {
        guard let owner = deposed else { return }
        var outputs: [Switchboard.Output] = []
        owner.switchboard.handle(input, at: moment, into: &outputs)
        owner.switchboard.flush(at: moment, into: &outputs)
        for output in outputs { performDeposed(output) }
        guard let deadline = (owner.switchboard.deadline?.milliseconds).map({ $0 - serverAhead }) else { return }
        if let at = deposed?.timerAt, at <= deadline { return }
        deposed?.timerAt = max(now + 1, deadline)
        events.plan(.deposedTimer(owner.number), at: max(now + 1, deadline))
    }

    func deposedTimer(_ number: Int) {
        guard deposed?.number == number else { return }
        deposed?.timerAt = nil
        deposedTakes(.deadlineReached)
    }

    func deposedReport(_ number: Int, _ report: StoreReport) {
        guard deposed?.number == number else { return }
        if case .committed(let ticket) = report {
            deposed?.committed = ticket
            deposed?.isConfirming = true
        }
        deposedTakes(.stored(report))
        deposed?.isConfirming = false
    }

    private func performDeposed(_ output: Switchboard.Output) {
        guard let owner = deposed else { return }
        switch output {
        case .send(let id, let frame): deposedSends(frame, on: Int(id.rawValue))
        case .ping(let id, let ping):
            guard hangsOnDeposed(Int(id.rawValue)), !links[Int(id.rawValue)].isHalfOpen else { return }
            let at = max(links[Int(id.rawValue)].downUntil, now + latency())
            links[Int(id.rawValue)].downUntil = at
            events.plan(.pingDown(link: Int(id.rawValue), number: ping), at: at)
        case .close(let id, let code, _, _):
            if hangsOnDeposed(Int(id.rawValue)) { closeAtEdge(Int(id.rawValue), code: code) }
        case .marked(let id, let call, let seq):
            if hangsOnDeposed(Int(id.rawValue)) { links[Int(id.rawValue)].edge.marks[call] = seq }
        case .bound(let id, let isBound):
            if hangsOnDeposed(Int(id.rawValue)) { links[Int(id.rawValue)].edge.isBound = isBound }
        case .commit(let changes, let ticket): deposed?.refused(changes, as: ticket)
        case .submit(let query, let id):
            let result = store.answer(query) ?? ModelStore.notSimulated
            after(takeOverDraws.within(1...20), .deposedReport(owner.number, .queryResult(id, result)))
        case .verify(let id, let name, _):
            deposedTakes(.verified(id, id: name, .success(devices[links[Int(id.rawValue)].device].principal)))
        case .push(let push):
            checker.checkDeposed(push, by: owner)
            after(takeOverDraws.within(5...60), .pushArrives(run: owner.run, push))
        case .cancelPush(let id): deposed?.cancelled.insert(id)
        case .reply, .revoked, .done, .note, .audit, .trace: break
        }
    }

    private func hangsOnDeposed(_ index: Int) -> Bool { links[index].edge.owner == .deposed }

    private func deposedSends(_ bytes: [UInt8], on index: Int) {
        guard hangsOnDeposed(index), let owner = deposed else { return }
        statistics.deposedFrames += 1
        let frame = ParsedFrame(bytes)
        checker.checkDeposed(frame, to: devices[links[index].device].user, by: owner)
        guard !links[index].isHalfOpen else { return }
        let at = max(links[index].downUntil, now + latency())
        links[index].downUntil = at
        events.plan(.down(link: index, frame), at: at)
    }

    /// Handles a push that the owner had handed to the network before it was deposed.
    func deposedPushArrives(_ push: OutgoingPush, of run: Int) -> Bool {
        guard let owner = deposed, owner.run == run else { return false }
        return !owner.cancelled.contains(push.id)
    }

    // MARK: The end of a deposed owner

    /// Makes a node leave the deposed owner, and find the present one.
    func leaveDeposed(_ node: Int, _ number: Int) {
        guard deposed?.number == number else { return }
        log("node \(node) leaves the deposed owner")
        for index in links.indices where index % Self.nodes == node && hangsOnDeposed(index) {
            links[index].edge.owner = .none
            deposedTakes(.closed(ConnectionID(rawValue: UInt64(index))))
        }
        after(takeOverDraws.within(0...100), .attach(node: node, run: run))
    }

    /// Makes the deposed owner find out that it was deposed.
    func endDeposed() {
        guard let owner = deposed else { return }
        log("the deposed owner learns of it")
        deposedTakes(.stored(.deposed(StoreFailure("another server owns the calls"))))
        deposed = nil
        // Its process ends, or it becomes an edge.
        let ends = takeOverDraws.percent(50)
        for index in links.indices where hangsOnDeposed(index) {
            if ends, index % Self.nodes == owner.node {
                closeAtEdge(index, code: 1001)
            } else {
                links[index].edge.owner = .none
            }
        }
        for node in 0..<Self.nodes { after(takeOverDraws.within(0...100), .attach(node: node, run: run)) }
    }
}

/// Checks that a deposed owner acknowledges nothing that was not durable, and shows no decision (I12, I13).
extension InvariantChecker {
    /// The refusals that tell of a call's course.
    private static let tellingCodes: Set<String> = ["not_found", "call_ended", "already_answered"]

    /// Checks a push that a deposed owner orders: its record was durable when the owner lost the calls.
    mutating func checkDeposed(_ push: OutgoingPush, by owner: DeposedOwner) {
        guard let (name, device) = ring(push) else { return }
        checkAPNsID(push, of: target(name, device.id))
        if owner.refusedPushes.contains(target(name, device.id)) {
            fail("I13", "a deposed owner pushes \(device.id.text) for \(name)")
        }
    }

    mutating func checkDeposed(_ frame: ParsedFrame, to user: UserID, by owner: DeposedOwner) {
        guard let object = frame.object, let type = frame.type else { return }
        if type == "error" {
            guard object.text(of: .callId) != nil, let code = object.text(of: .code), Self.tellingCodes.contains(code)
            else { return }
            // A refusal that waited for this commit was decided before another server owned the calls.
            if owner.isConfirming { return }
            fail("I13", "a deposed owner tells \(user.text) \(code)")
            return
        }
        guard let seq = frame.seq, seq > 0 else { return }
        if type == "ack" {
            guard let id = object.text(of: .callId).flatMap({ CallID($0) }),
                let epoch = object.number(of: .epoch).map({ UInt32(truncatingIfNeeded: $0) }),
                !owner.durability.isDurable(seq, of: id, epoch: epoch)
            else { return }
            fail("I13", "a deposed owner acknowledges \(object.text(of: .id) ?? "?") of \(id.text) as \(seq)")
            return
        }
        guard case .call(let name) = frame.place(for: user) else { return }
        if Self.courseTypes.contains(type)
            ? !owner.durability.isDurable(seq, of: name) : seq > owner.withheld[name] ?? .max
        {
            fail("I12", "\(type) \(seq) of \(name) was shown to \(user.text) by a deposed owner")
        }
    }
}
