import CallCore
import CallPorts

extension EventDelivery {
    /// Takes an event that has become durable: into the window, or it is left to be read from the store.
    mutating func take(_ event: AppEvent, _ turn: inout DeliveryTurn) {
        guard !isStopped else { return }
        if reads.page != nil {
            reads.page?.append(event)
        } else if reads.start == nil, window.readUpTo == newest, window.hasRoom {
            admit(event, &turn)
            window.readUpTo = event.position
        }
    }

    /// Takes a page of events.
    mutating func take(_ page: EventPage, _ read: PageRead, _ turn: inout DeliveryTurn) {
        let before = window.readUpTo
        for event in page.events where event.position > window.readUpTo && event.position <= read.upTo {
            admit(event, &turn)
            window.readUpTo = event.position
        }
        window.readUpTo = max(window.readUpTo, min(page.readUpTo, read.upTo))
        if window.readUpTo == read.upTo, read.isAheadWhole {
            for event in read.ahead {
                admit(event, &turn)
                window.readUpTo = event.position
            }
        } else if window.readUpTo == before {
            reads.pausedUntil = turn.now + DeliverySchedule.readPause
        }
    }

    /// Takes the next event into the window, or holds it behind an earlier event of its call.
    private mutating func admit(_ event: AppEvent, _ turn: inout DeliveryTurn) {
        let key = EventKey(event)
        if let state = reads.heldByEarlierRun.removeValue(forKey: event.position) {
            skip(event, key, state)
            return
        }
        switch key {
        case .call(let call):
            if let held = blocked[call] {
                hold(event, held.state == .parked ? .parked : .behind, &turn)
            } else if event.number <= 1, !blocked.isClear(call) {
                blocked.setClear(call)
                window.append(event, key, isBusy(key) ? .busy : .ready)
            } else if blocked.isClear(call) {
                window.append(event, key, isBusy(key) ? .busy : .ready)
            } else {
                if window.lines[key] == nil { reads.asks.append(call) }
                window.append(event, key, .unknown)
            }
        case .user:
            if let at = retries.lastAttempt(of: key) {
                hold(event, .retry(at: at), &turn)
            } else {
                window.append(event, key, isBusy(key) ? .busy : .ready)
            }
        case .alone:
            window.append(event, key, .ready)
        }
    }

    /// Leaves out an event that an earlier run held beyond the position that it stored.
    ///
    /// The earlier run had delivered the earlier events of the call, or held them; so those in the window need not be
    /// delivered again.
    private mutating func skip(_ event: AppEvent, _ key: EventKey, _ state: HeldEvent.State) {
        guard let call = event.call else { return }
        _ = removeWaiting(of: key)
        if let held = blocked[call] {
            let tail = held.tail.map { max($0, event.position) }
            block(call, head: min(held.head, event.position), tail: tail, held.state)
        } else {
            block(call, head: event.position, tail: nil, state == .parked ? .parked : .retry)
        }
    }

    /// Whether a request of a key is on its way.
    func isBusy(_ key: EventKey) -> Bool { flights.contains { $0.key == key } }

    /// Removes the events of a key from the window, except one that is on its way.
    mutating func removeWaiting(of key: EventKey) -> [EventWindow.Entry] {
        failing.removeAll { $0 == key }
        let flying = window.lines[key].map { line in
            flights.contains { $0.place == .window && $0.position == line.first }
        }
        return window.removeAll(of: key, keepingFirst: flying ?? false)
    }

    // MARK: Sending

    /// Sends as many events as may be on their way at once.
    mutating func sendAll(_ turn: inout DeliveryTurn) {
        if down != nil {
            probe(&turn)
            return
        }
        if !failing.isEmpty {
            for key in failing {
                if case .failed(let at) = window.lines[key]?.state, at <= turn.now { window.set(key, .ready) }
            }
            failing.removeAll { window.lines[$0].map { $0.state == .ready } ?? true }
        }
        while flights.count < Self.requestsAtOnce {
            let heldCount = flights.count { $0.place == .held }
            if heldCount < Self.heldAtOnce || !window.hasTurn(), sendHeld(isProbe: false, &turn) { continue }
            guard let (key, position) = window.takeTurn() else { return }
            sendWaiting(position, key, isProbe: false, &turn)
        }
    }

    /// Sends the first event of a key in the window.
    mutating func sendWaiting(_ position: EventPosition, _ key: EventKey, isProbe: Bool, _ turn: inout DeliveryTurn) {
        guard let entry = window[position] else { return }
        window.set(key, .busy)
        fly(entry.event, key, .window, isProbe: isProbe, &turn)
    }

    /// Sends the held event whose attempt is due; returns whether there was one.
    mutating func sendHeld(isProbe: Bool, _ turn: inout DeliveryTurn) -> Bool {
        while let next = retries.next, next.at <= turn.now, let entry = retries[next.position] {
            if isBusy(entry.key) {
                retries.setAttempt(of: next.position, turn.now + .seconds(1))
            } else if let first = retries.first(of: entry.key), first != next.position {
                let before = retries.attempt(of: first) ?? turn.now
                postpone(entry, to: max(before, turn.now) + .seconds(1), &turn)
            } else {
                retries.takeFromOrder(next.position)
                fly(entry.event, entry.key, .held, isProbe: isProbe, &turn)
                return true
            }
        }
        return false
    }

    private mutating func fly(
        _ event: AppEvent,
        _ key: EventKey,
        _ place: Flight.Place,
        isProbe: Bool,
        _ turn: inout DeliveryTurn
    ) {
        let id = turn.send(event, to: endpoint.url)
        flights.append(
            Flight(
                id: id,
                key: key,
                position: event.position,
                place: place,
                sentAt: turn.now,
                deliveredBefore: figures.delivered,
                isProbe: isProbe
            )
        )
    }
}
