import CallCore
import CallPorts

extension EventDelivery {
    /// Nothing but probes is sent from now on.
    mutating func goDown(_ position: EventPosition, _ result: DeliveryResult, _ turn: inout DeliveryTurn) {
        // A demand is added where the failure is counted.
        down = Down(since: turn.now, nextProbe: turn.now + DeliverySchedule.probePause(after: 0, of: position))
        turn.effects.append(.note(.down(url: endpoint.url, result)))
    }

    /// The endpoint has accepted an event: the failures before were not those of single events.
    mutating func recover(_ turn: inout DeliveryTurn) {
        guard let down else { return }
        self.down = nil
        turn.effects.append(.note(.recovered(url: endpoint.url, after: turn.now - down.since)))
        for key in failing {
            guard let line = window.lines[key], case .failed = line.state else { continue }
            let position = line.first
            if let notBefore = window[position]?.notBefore, notBefore > turn.now {
                window.set(key, .failed(retryAt: notBefore))
                continue
            }
            window[position]?.attempts = 0
            window[position]?.since = nil
            window.set(key, .ready)
        }
        failing.removeAll { window.lines[$0].map { $0.state == .ready } ?? true }
    }

    /// Sends one event to an endpoint that is down, if the time has come.
    ///
    /// Every second time it is one that was not tried yet, or a held one: the oldest may be one that the endpoint never
    /// accepts. One that the endpoint does not want yet is left out.
    mutating func probe(_ turn: inout DeliveryTurn) {
        guard let down, down.nextProbe <= turn.now, flights.count < Self.requestsAtOnce,
            !flights.contains(where: { $0.isProbe })
        else { return }
        var oldest: (key: EventKey, position: EventPosition)?
        var untried: (key: EventKey, position: EventPosition)?
        for (key, line) in window.lines {
            let position = line.first
            guard line.state != .busy, line.state != .unknown,
                window[position]?.notBefore.map({ $0 <= turn.now }) ?? true
            else { continue }
            if oldest.map({ position < $0.position }) ?? true { oldest = (key, position) }
            guard window[position]?.attempts == 0, untried.map({ position < $0.position }) ?? true else { continue }
            untried = (key, position)
        }
        let isForOther = down.probes % 2 == 1
        if isForOther, untried == nil, sendHeld(isProbe: true, &turn) { return }
        guard let (key, position) = isForOther ? untried ?? oldest : oldest else {
            _ = sendHeld(isProbe: true, &turn)
            return
        }
        failing.removeAll { $0 == key }
        sendWaiting(position, key, isProbe: true, &turn)
    }

    // MARK: Events that waited for too long

    /// When the first event in the window has waited for too long; `nil` = it is on its way, or there is none.
    var nextTooOld: Moment? {
        guard let entry = window.first, window.lines[EventKey(entry.event)]?.state != .busy else { return nil }
        return max(entry.event.at, startedAgainAt ?? entry.event.at) + DeliverySchedule.patience
    }

    /// Parks the events that have waited for too long for an endpoint that is down, a portion at a time.
    mutating func parkTooOld(_ turn: inout DeliveryTurn) {
        guard down != nil else { return }
        var rest = limits.parked
        while rest > 0, let due = nextTooOld, due <= turn.now, let entry = window.first {
            let before = window.count
            holdFirst(of: EventKey(entry.event), .parked, &turn)
            rest -= before - window.count
        }
        failing.removeAll { window.lines[$0] == nil }
    }

    // MARK: Endpoints that are gone

    /// The endpoint is gone: nothing is sent any more.
    mutating func stop(_ turn: inout DeliveryTurn) {
        guard !isStopped else { return }
        settle()
        endpoint.stoppedAt = turn.now
        turn.effects.append(.note(.stopped(url: endpoint.url)))
        reset()
    }

    /// The operator has demanded that the endpoint is tried again.
    mutating func startAgain(at now: Moment) {
        guard isStopped else { return }
        endpoint.stoppedAt = nil
        startedAgainAt = now
        reset()
    }

    /// Forgets everything but the position up to which the events are settled.
    private mutating func reset() {
        window = EventWindow(after: endpoint.settledUpTo, limits)
        blocked = BlockedCalls(completeAfter: lastCall, limit: limits.calls)
        retries = HeldRetries(isComplete: false, limit: limits.retries)
        reads = Reads(start: endpoint.settledUpTo)
        failing.removeAll()
        failedSinceSuccess.removeAll()
        down = nil
        for index in flights.indices { flights[index].place = .dropped }
    }
}
