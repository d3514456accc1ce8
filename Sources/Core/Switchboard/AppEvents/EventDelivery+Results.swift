import CallCore
import CallPorts

extension EventDelivery {
    /// Takes the result of a delivery; returns false if none with this number is on its way.
    mutating func responded(_ id: DeliveryID, _ result: DeliveryResult, _ turn: inout DeliveryTurn) -> Bool {
        guard let index = flights.firstIndex(where: { $0.id == id }) else { return false }
        var flight = flights.remove(at: index)
        if flight.place == .dropped, window.lines[flight.key]?.first == flight.position {
            // The endpoint was started again, and the event has been read again since.
            flight.place = .window
        }
        switch result {
        case .response(200...299, _): accepted(flight, &turn)
        case .response(410, _):
            figures.count(result)
            failed(flight, result, &turn)
            stop(&turn)
        case .response, .unreachable:
            figures.count(result)
            failed(flight, result, &turn)
        }
        if !isBusy(flight.key), window.lines[flight.key]?.state == .busy { window.set(flight.key, .ready) }
        return true
    }

    private mutating func accepted(_ flight: Flight, _ turn: inout DeliveryTurn) {
        figures.delivered += 1
        if !failedSinceSuccess.isEmpty { failedSinceSuccess.removeAll() }
        switch flight.place {
        case .window: _ = window.removeFirst(of: flight.key)
        case .held: heldEnded(flight.position, &turn)
        case .dropped: break
        }
        if down != nil { recover(&turn) } else { holdFailing(&turn) }
    }

    /// Holds the events that have failed, because the endpoint accepts others.
    private mutating func holdFailing(_ turn: inout DeliveryTurn) {
        guard !failing.isEmpty else { return }
        for key in failing {
            guard case .failed(let at) = window.lines[key]?.state else { continue }
            holdFirst(of: key, .retry(at: at), &turn)
        }
        failing.removeAll()
    }

    private mutating func failed(_ flight: Flight, _ result: DeliveryResult, _ turn: inout DeliveryTurn) {
        let demand = DeliverySchedule.demand(of: result) ?? .seconds(0)
        switch flight.place {
        case .window: failedInWindow(flight, result, &turn)
        case .held: failedHeld(flight.position, demand, &turn)
        case .dropped: break
        }
        if case .dropped = flight.place { return }
        probeLater(after: flight, min(demand, DeliverySchedule.longestProbeDemand), &turn)
    }

    /// Sets when the next probe is due after a failure, if the endpoint is down.
    private mutating func probeLater(after flight: Flight, _ demand: Moment.Duration, _ turn: inout DeliveryTurn) {
        guard var down else { return }
        if flight.isProbe { down.probes += 1 }
        let pause = flight.isProbe ? DeliverySchedule.probePause(after: down.probes, of: flight.position) : demand
        down.nextProbe = max(flight.isProbe ? turn.now : down.nextProbe, turn.now + max(pause, demand))
        self.down = down
    }

    private mutating func failedInWindow(_ flight: Flight, _ result: DeliveryResult, _ turn: inout DeliveryTurn) {
        let position = flight.position
        guard var entry = window[position] else { return }
        entry.attempts += 1
        let since = entry.since ?? flight.sentAt
        entry.since = since
        window[position] = entry
        guard turn.now - since < DeliverySchedule.patience else {
            holdFirst(of: flight.key, .parked, &turn)
            return
        }
        let pause = DeliverySchedule.pause(after: entry.attempts, of: position)
        let notBefore = DeliverySchedule.demand(of: result).map { turn.now + $0 }
        let retryAt = max(turn.now + pause, notBefore ?? turn.now)
        window[position]?.notBefore = notBefore
        if down == nil, figures.delivered > flight.deliveredBefore {
            holdFirst(of: flight.key, .retry(at: retryAt), &turn)
            return
        }
        if flight.isProbe, entry.attempts > 1, window.readUpTo < newest, !window.hasUntried {
            // The window is full of events that fail: others may be accepted.
            holdFirst(of: flight.key, .retry(at: retryAt), &turn)
            return
        }
        window.set(flight.key, .failed(retryAt: retryAt))
        failing.append(flight.key)
        failedSinceSuccess.insert(flight.key)
        if down == nil, failedSinceSuccess.count >= Self.failuresUntilDown { goDown(position, result, &turn) }
    }

    /// Holds the first event of a key in the window, and the others of its call behind it.
    ///
    /// Those of a user are held until the same moment; but a parked event of a user keeps no other back.
    mutating func holdFirst(of key: EventKey, _ state: HeldEvent.State, _ turn: inout DeliveryTurn) {
        guard let entry = window.removeFirst(of: key) else { return }
        hold(entry.event, state, attempts: entry.attempts, since: entry.since, &turn)
        if key.call == nil, state == .parked {
            window.set(key, .ready)
            return
        }
        for later in window.removeAll(of: key) {
            hold(later.event, key.call == nil || state == .parked ? state : .behind, &turn)
        }
    }
}
