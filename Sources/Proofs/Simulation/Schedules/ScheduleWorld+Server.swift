import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// The server of a world with schedules: the real switchboard, with the work of a gateway around it.
extension ScheduleWorld {
    func start() {
        guard switchboard == nil else { return }
        run += 1
        // A start takes the time of the wall clock.
        serverAhead += lead
        lead = 0
        if faults.contains(.leaps), faultDraws.percent(50) {
            serverAhead =
                faultDraws.percent(50) ? faultDraws.within(-90_000...90_000) : faultDraws.within(-9_000_000...9_000_000)
        }
        if serverAhead != 0, faultDraws.percent(60) { after(faultDraws.within(1_000...600_000), .clockSet(run: run)) }
        let stored = store.open()
        let kept = "\(stored.calls.count) calls and \(stored.schedules.count) schedules kept"
        log("server starts, \(kept), clock \(serverAhead / 1_000) s ahead")
        isStalled = false
        timerAt = nil
        upSince = moment.milliseconds
        let records = stored.schedules.map(\.createdAt) + stored.blocks.map(\.at)
        let newest = (stored.devices.map(\.seenAt) + [stored.lastCallAt].compactMap(\.self) + records).max()
        let isOdd = newest.map { $0.milliseconds + SimulatedSchedule.dayLength < upSince } ?? false
        hold = isOdd ? (upSince - 60_000, upSince + 3_675_000) : nil
        switchboard = SwitchboardBox(
            Switchboard(
                policy: policy,
                stored: stored,
                ports: .init(
                    capabilities: Capabilities(),
                    timeZones: SimulatedZones(),
                    random: SeededGenerator(seed: seed, stream: 100 + UInt64(run))
                ),
                at: moment
            )
        )
        serve(.deadlineReached)
    }

    /// Sets the wall clock right; the server believes it after a minute.
    func setClock() {
        log("wall clock set by \(-serverAhead / 1_000) s")
        serve(.wallClock(WallClock(lead: .milliseconds(0), isSteady: false, agrees: false)))
        after(60_000, .clockBelieved(run: run))
    }

    func believeClock() {
        lead = -serverAhead
        log("the date is believed to be \(lead / 1_000) s ahead of the server's clock")
        let corrected = Moment.Duration.milliseconds(lead)
        serve(.wallClock(WallClock(lead: corrected, corrected: corrected, isSteady: true, agrees: false)))
    }

    private var policy: Policy {
        var policy = Policy()
        policy.ringsPerPair = 0
        policy.ringsPerCallee = 0
        policy.callsPerMinute = 60
        policy.withholdsDecisions = faults.contains(.withholding)
        return policy
    }

    func serve(_ input: Switchboard.Input) {
        guard let switchboard else { return }
        var outputs: [Switchboard.Output] = []
        switchboard.handle(input, at: moment, into: &outputs)
        switchboard.flush(at: moment, into: &outputs)
        for output in outputs { perform(output) }
        planTimer()
    }

    private func planTimer() {
        guard let deadline = (switchboard?.deadline?.milliseconds).map({ $0 - serverAhead }) else { return }
        if let timerAt, timerAt <= deadline { return }
        timerAt = deadline
        // A timer may be late, but never early.
        events.plan(.timer(run: run), at: max(now, deadline) + draws.within(0...5))
    }

    private func perform(_ output: Switchboard.Output) {
        switch output {
        case .reply(let id, let reply): replied(Int(id.rawValue), status: reply.status)
        case .commit(let changes, let ticket):
            store.commit(changes, as: ticket)
            if store.writing == 0 { beginWriting() }
        case .submit(_, let id):
            after(2, .report(run: run, .stored(.queryResult(id, .failed(StoreFailure("not simulated"))))))
        case .push(let push):
            statistics.pushes += 1
            statistics.mix(push.id.rawValue)
            let accepted = PushResult.response(status: 200, reason: nil, timestamp: nil)
            after(draws.within(5...60), .report(run: run, .pushed(push.id, accepted)))
            if let call = push.call { pushArrives(push.route.token, call) }
        case .note(.began(let id, let epoch)): log("server: call \(id.text)/\(epoch) begins")
        case .note(.ended(let id, let epoch, let reason)):
            log("server: call \(id.text)/\(epoch) ended, \(reason.rawValue)")
            statistics.endings[reason.rawValue, default: 0] += 1
            statistics.mix(UInt64(moment.milliseconds))
        case .note, .send, .ping, .close, .verify, .marked, .bound, .cancelPush, .revoked, .done, .audit, .trace: break
        }
    }

    // MARK: The database

    private func beginWriting() {
        guard !isStalled, !store.queue.isEmpty else { return }
        store.beginWriting()
        let isSlow = faults.contains(.store) && draws.percent(4)
        after(isSlow ? draws.within(50...900) : draws.within(1...8), .committed(run: run))
    }

    func committed() {
        guard switchboard != nil, let ticket = finishWriting() else { return }
        beginWriting()
        serve(.stored(.committed(upTo: ticket)))
    }

    private func finishWriting() -> Ticket? {
        checker.durable(store.changesBeingWritten)
        return store.finishWriting()
    }

    private func stall() {
        guard !isStalled, switchboard != nil else { return }
        isStalled = true
        log("store stalls")
        serve(.stored(.stalled(StoreFailure("disk full"))))
        after(
            faultDraws.percent(70) ? faultDraws.within(200...5_000) : faultDraws.within(5_000...200_000),
            .recovers(run: run)
        )
    }

    func recover() {
        guard isStalled else { return }
        isStalled = false
        upSince = moment.milliseconds
        log("store recovers")
        if store.writing == 0 { beginWriting() }
        serve(.stored(.recovered))
    }

    // MARK: The end of the server

    func fault() {
        guard switchboard != nil else { return }
        switch faultDraws.below(4) {
        case 0 where faults.contains(.store): stall()
        case 1 where faults.contains(.restarts): stopInOrder()
        case 2, 3: if faults.contains(.crashes) { crash() }
        default: break
        }
    }

    private func crash() {
        statistics.crashes += 1
        let keeps = faultDraws.percent(50)
        log(
            "server crashes (\(store.queue.count) commits waiting, \(store.writing) being written, \(keeps ? "kept" : "lost"))"
        )
        if keeps { checker.durable(store.changesBeingWritten) }
        store.crash(keepingWrites: keeps)
        goDown()
    }

    private func stopInOrder() {
        log("server drains")
        serve(.drain)
        // The commits that the full disk did not take are lost.
        if isStalled { store.crash(keepingWrites: false) }
        while store.writing > 0 || !store.queue.isEmpty {
            if store.writing == 0 { store.beginWriting() }
            _ = finishWriting()
        }
        store.close()
        goDown()
    }

    private func goDown() {
        switchboard = nil
        run += 1
        isStalled = false
        endRequests()
        let pause =
            !faults.contains(.offline) || faultDraws.percent(60)
            ? faultDraws.within(50...4_000)
            : faultDraws.percent(70) ? faultDraws.within(4_000...200_000) : faultDraws.within(200_000...200_000_000)
        after(pause, .start)
    }
}
