import CallCore
import CallPorts

extension EventDelivery {
    /// Holds an event.
    ///
    /// `since`: When it was first tried; `nil` = it was not.
    mutating func hold(
        _ event: AppEvent,
        _ state: HeldEvent.State,
        attempts: Int = 0,
        since: Moment? = nil,
        _ turn: inout DeliveryTurn
    ) {
        let held = HeldEvent(
            url: endpoint.url,
            position: event.position,
            call: event.call,
            state: state,
            attempts: attempts,
            since: since ?? turn.now
        )
        write(held, was: nil, &turn)
        if case .retry = state { retries.insert(held, event) }
        guard let call = event.call else { return }
        reads.lane?.calls.insert(call)
        guard var before = blocked[call] else {
            block(call, head: event.position, tail: event.position, state == .parked ? .parked : .retry)
            return
        }
        before.head = min(before.head, event.position)
        before.tail = before.tail.map { max($0, event.position) }
        if case .retry = state, before.state == .parked { before.state = .retry }
        set(call, before)
    }

    /// Records that events of a call are held.
    mutating func block(_ call: CallNumber, head: EventPosition, tail: EventPosition?, _ state: BlockedCalls.Call.State)
    {
        set(call, BlockedCalls.Call(head: head, tail: tail, state: state))
    }

    private mutating func set(_ call: CallNumber, _ held: BlockedCalls.Call) {
        let retries = retries
        blocked.set(call, held) { _, other in other.state == .next || retries[other.head] != nil }
    }

    /// Writes a row; `was`: the state of the row before.
    private mutating func write(_ held: HeldEvent, was before: HeldEvent.State?, _ turn: inout DeliveryTurn) {
        turn.effects.append(.store(.eventHeld(held)))
        reads.wrote(held.position)
        guard (held.state == .parked) != (before == .parked) else { return }
        if held.state == .parked { turn.notePark(held.position) }
        countParked(held.state == .parked ? 1 : -1)
    }

    private mutating func countParked(_ change: Int) { endpoint.parkedCount = max(0, endpoint.parkedCount + change) }

    /// Deletes a row; `state`: its state.
    private mutating func release(_ position: EventPosition, _ state: HeldEvent.State, _ turn: inout DeliveryTurn) {
        turn.effects.append(.store(.eventReleased(url: endpoint.url, position)))
        reads.wrote(position)
        if state == .parked { countParked(-1) }
    }

    // MARK: Attempts

    /// An attempt to deliver a held event has failed.
    mutating func failedHeld(
        _ position: EventPosition,
        _ demand: Moment.Duration,
        _ turn: inout DeliveryTurn
    ) {
        guard let entry = retries[position] else { return }
        var held = entry.held
        held.attempts += 1
        if turn.now - held.since < DeliverySchedule.patience {
            let pause = max(DeliverySchedule.pause(after: held.attempts, of: position), demand)
            held.state = .retry(at: turn.now + pause)
            write(held, was: entry.held.state, &turn)
            retries.insert(held, entry.event)
            return
        }
        held.state = .parked
        write(held, was: entry.held.state, &turn)
        retries.remove(position)
        guard let call = entry.key.call, var before = blocked[call] else { return }
        before.state = .parked
        set(call, before)
        if before.tail != position { reads.parks.append(Reads.Step(call: call, after: position)) }
    }

    /// Moves the attempt of a held event to a later moment, because an earlier one of its user comes first.
    ///
    /// It is moved in the store, too: else those that are due soonest would be the same ones again and again.
    mutating func postpone(_ entry: HeldRetries.Entry, to moment: Moment, _ turn: inout DeliveryTurn) {
        var held = entry.held
        held.state = .retry(at: moment)
        write(held, was: entry.held.state, &turn)
        retries.insert(held, entry.event)
    }

    /// A held event needs no attempt any more: it was accepted, or it was deleted.
    mutating func heldEnded(_ position: EventPosition, _ turn: inout DeliveryTurn) {
        guard let entry = retries[position] else { return }
        retries.remove(position)
        guard let call = entry.key.call else {
            release(position, entry.held.state, &turn)
            // The next one of a user has waited for this one, unless it was tried itself.
            if let next = retries.first(of: entry.key), retries[next]?.held.attempts == 0 {
                retries.setAttempt(of: next, turn.now)
            }
            return
        }
        ended(position, call, &turn)
    }

    /// The first held event of a call has ended.
    ///
    /// Its row stays until the next one's says that it is to be tried: a crash between the two must not leave rows that
    /// nobody reads.
    private mutating func ended(_ position: EventPosition, _ call: CallNumber, _ turn: inout DeliveryTurn) {
        var held = blocked[call] ?? BlockedCalls.Call(head: position, tail: nil, state: .next)
        guard held.tail != position else {
            release(position, .retry(at: turn.now), &turn)
            blocked.setClear(call)
            return
        }
        held.head = position
        held.state = .next
        set(call, held)
        reads.nexts.append(Reads.Step(call: call, after: position))
    }

    /// Takes the next held event of a call whose first one has ended.
    mutating func takeNext(_ rows: [HeldContent], _ step: Reads.Step, _ read: HeldLane, _ turn: inout DeliveryTurn) {
        // If the event that was next has ended while its row was read, another step looks for the one after it.
        guard let held = blocked[step.call], held.state == .next, held.head <= step.after else { return }
        guard let next = rows.first(where: { $0.held.position > step.after }) else {
            // The read may not have seen an event that was held since.
            if read.calls.contains(step.call) {
                reads.nexts.append(step)
            } else {
                release(held.head, .retry(at: turn.now), &turn)
                blocked.setClear(step.call)
            }
            return
        }
        let position = next.held.position
        if let event = next.event {
            if case .retry = next.held.state {
                // It was tried before, and has its own moment.
                block(step.call, head: position, tail: held.tail, .retry)
            } else {
                retry(next.held, event, &turn)
            }
            release(held.head, .retry(at: turn.now), &turn)
        } else {
            release(position, next.held.state, &turn)
            reads.nexts.append(Reads.Step(call: step.call, after: position))
        }
    }

    /// Makes a held event the first one of its call, which is tried now.
    mutating func retry(_ row: HeldEvent, _ event: AppEvent, _ turn: inout DeliveryTurn) {
        var held = row
        held.state = .retry(at: turn.now)
        held.attempts = 0
        held.since = turn.now
        write(held, was: row.state, &turn)
        retries.insert(held, event)
        guard let call = row.call else { return }
        let tail = blocked[call]?.tail
        block(call, head: row.position, tail: tail.map { max($0, row.position) }, .retry)
        holdLine(of: call, &turn)
    }

    // MARK: Answers of the store

    /// Takes the held events that are due soonest.
    mutating func takeRetries(_ rows: [HeldContent], wanted: Int, _ read: HeldLane, _ turn: inout DeliveryTurn) {
        let before = retries.count
        for row in rows where !read.written.contains(row.held.position) && retries[row.held.position] == nil {
            guard case .retry(let at) = row.held.state else { continue }
            if let call = row.held.call, let held = blocked[call], held.state == .next, held.head == row.held.position {
                continue
            }
            guard let event = row.event else {
                lost(row.held, &turn)
                continue
            }
            var held = row.held
            held.state = .retry(at: min(at, turn.now + DeliverySchedule.longestPause))
            retries.insert(held, event)
            if let call = held.call { found(held, of: call, &turn) }
        }
        let last = rows.last.flatMap { if case .retry(let at) = $0.held.state { at } else { nil } }
        // All of them are on their way, or have ended.
        if retries.count == before { reads.retriesPausedUntil = turn.now + DeliverySchedule.readPause }
        retries.endReading(upTo: rows.count < wanted ? Moment(milliseconds: .max) : last ?? turn.now)
    }

    /// A held event whose content was deleted.
    mutating func lost(_ held: HeldEvent, _ turn: inout DeliveryTurn) {
        guard let call = held.call else {
            release(held.position, held.state, &turn)
            return
        }
        ended(held.position, call, &turn)
        holdLine(of: call, &turn)
    }

    /// The store has a held event of a call.
    private mutating func found(_ held: HeldEvent, of call: CallNumber, _ turn: inout DeliveryTurn) {
        if var known = blocked[call] {
            known.head = min(known.head, held.position)
            known.tail = known.tail.map { max($0, held.position) }
            if known.state == .parked, held.state != .parked { known.state = .retry }
            set(call, known)
        } else {
            block(call, head: held.position, tail: nil, held.state == .parked ? .parked : .retry)
        }
        holdLine(of: call, &turn)
    }

    /// Holds the events of a call that wait in the window, behind the held one.
    private mutating func holdLine(of call: CallNumber, _ turn: inout DeliveryTurn) {
        let key = EventKey.call(call)
        guard let held = blocked[call] else { return }
        for entry in removeWaiting(of: key) { hold(entry.event, held.state == .parked ? .parked : .behind, &turn) }
    }

    /// Takes the first held event of each of the calls that were asked for.
    mutating func takeAsked(_ rows: [HeldContent], _ calls: [CallNumber], _ read: HeldLane, _ turn: inout DeliveryTurn)
    {
        var first: [CallNumber: HeldContent] = [:]
        for row in rows { if let call = row.held.call { first[call] = row } }
        for call in calls {
            let key = EventKey.call(call)
            if let known = blocked[call] {
                if let row = first[call], !read.written.contains(row.held.position) {
                    takeHead(row, of: call, known, &turn)
                }
                holdLine(of: call, &turn)
                continue
            }
            guard let row = first[call] else {
                blocked.setClear(call)
                if window.lines[key]?.state == .unknown { window.set(key, isBusy(key) ? .busy : .ready) }
                continue
            }
            guard !read.written.contains(row.held.position) else {
                reads.asks.append(call)
                continue
            }
            takeHead(row, &turn)
        }
    }

    /// Takes the first held event of a call of which it is known that events are held.
    private mutating func takeHead(
        _ row: HeldContent,
        of call: CallNumber,
        _ known: BlockedCalls.Call,
        _ turn: inout DeliveryTurn
    ) {
        switch (known.state, row.held.state) {
        // What it waits behind was deleted.
        case (.retry, .behind): takeHead(row, &turn)
        // A crash came between the parked event and those behind it, or the parked one was deleted.
        case (.parked, .behind), (.parked, .parked):
            guard reads.parks.count < limits.portion else { return }
            let before = EventPosition(rawValue: row.held.position.rawValue - 1)
            reads.parks.append(Reads.Step(call: call, after: before))
        default: break
        }
    }

    private mutating func takeHead(_ row: HeldContent, _ turn: inout DeliveryTurn) {
        guard let call = row.held.call else { return }
        if let event = row.event {
            // One that waits behind nothing: what it waited behind was deleted.
            if row.held.state == .behind { retry(row.held, event, &turn) }
            found(row.held, of: call, &turn)
        } else {
            lost(row.held, &turn)
        }
    }

    /// Parks the events behind a parked one.
    mutating func takeParks(_ rows: [HeldContent], _ step: Reads.Step, wanted: Int, _ turn: inout DeliveryTurn) {
        guard blocked[step.call]?.state == .parked else { return }
        for row in rows where row.held.position > step.after && row.held.state != .parked {
            guard row.event != nil else {
                release(row.held.position, row.held.state, &turn)
                continue
            }
            var held = row.held
            held.state = .parked
            write(held, was: row.held.state, &turn)
            retries.remove(held.position)
        }
        guard rows.count >= wanted, let last = rows.last else { return }
        reads.parks.append(Reads.Step(call: step.call, after: last.held.position))
    }

    // MARK: Deleted events

    /// Events up to a position were deleted, with the rows of those that were held.
    mutating func forgotten(upTo last: EventPosition, _ turn: inout DeliveryTurn) {
        guard !isStopped else { return }
        for call in blocked.numbers {
            if let held = blocked[call], held.head <= last, isOnlyStored(held) { blocked.forget(call) }
        }
        for position in retries.positions(upTo: last) where retries.attempt(of: position) != nil {
            heldEnded(position, &turn)
        }
        search(after: last)
    }

    /// Whether the first held event of a call is in the store only.
    private func isOnlyStored(_ held: BlockedCalls.Call) -> Bool { held.state != .next && retries[held.head] == nil }

    /// Searches a portion of the held events for such as wait behind a deleted one; each search goes on where the last
    /// one ended.
    mutating func search(after position: EventPosition) {
        reads.search = Reads.Search(after: max(position, reads.searchedUpTo), count: limits.searched)
    }

    /// Takes held events of a search: of a call that is not known, the first held event is asked for.
    mutating func takeFound(_ rows: [HeldContent], _ search: Reads.Search) {
        for row in rows {
            guard row.held.state == .behind, let call = row.held.call, reads.asks.count < limits.searched,
                !reads.asks.contains(call)
            else { continue }
            if blocked[call].map(isOnlyStored) ?? true { reads.asks.append(call) }
        }
        guard reads.search == nil else { return }
        guard rows.count >= limits.portion, let last = rows.last?.held.position else {
            reads.searchedUpTo = .start
            return
        }
        reads.searchedUpTo = last
        if search.count > rows.count { reads.search = Reads.Search(after: last, count: search.count - rows.count) }
    }
}
