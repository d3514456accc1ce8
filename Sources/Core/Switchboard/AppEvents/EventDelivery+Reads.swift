import CallCore
import CallPorts
import DequeModule

/// A read of events that is under way, and the events that have become durable since it began.
struct PageRead {
    let id: EventReadID
    let upTo: EventPosition
    /// The number of events that ``ahead`` may have.
    let room: Int
    private(set) var ahead: [AppEvent] = []
    /// Whether ``ahead`` has every event after ``upTo``.
    private(set) var isAheadWhole = true

    init(_ id: EventReadID, upTo: EventPosition, room: Int) {
        self.id = id
        self.upTo = upTo
        self.room = room
    }

    mutating func append(_ event: AppEvent) {
        if ahead.count >= room { isAheadWhole = false }
        if isAheadWhole { ahead.append(event) } else { ahead.removeAll() }
    }
}

/// A read of held events that is under way.
struct HeldLane {
    let id: EventReadID
    let purpose: Reads.Purpose
    /// The positions whose rows have changed since the read began: what it returns of them is out of date.
    var written: Set<EventPosition> = []
    /// The calls of which events have been held since.
    var calls: Set<CallNumber> = []
}

/// What an endpoint reads from the store, one page of events and one of held events at a time.
struct Reads {
    /// Of what a read of held events is the beginning.
    enum Purpose {
        /// The events that an earlier run held beyond its settled position.
        case start(after: EventPosition)
        /// Whether events of these calls are held.
        case ask([CallNumber])
        /// The next held event of a call.
        case next(Step)
        /// The held events that are due soonest; with the horizon before.
        case retries(Moment)
        /// The events behind a parked one.
        case park(Step)
        /// Events that wait behind one that was deleted.
        case search(Search)
        /// What the operator has demanded.
        case resend(ResendStep)
    }

    /// A place among the held events of a call.
    struct Step {
        let call: CallNumber
        let after: EventPosition
    }

    /// A search among the held events.
    struct Search {
        let after: EventPosition
        /// The number of events that are still to be searched.
        let count: Int
    }

    /// From where events that an earlier run held are still to be read; `nil` = all were.
    var start: EventPosition?
    /// The events that an earlier run held beyond its settled position, and that are still to come.
    var heldByEarlierRun: [EventPosition: HeldEvent.State] = [:]
    var page: PageRead?
    var lane: HeldLane?
    var asks = Deque<CallNumber>()
    var nexts = Deque<Step>()
    var parks = Deque<Step>()
    var search: Search?
    /// Where the last search ended; `start` = at the last held event.
    var searchedUpTo = EventPosition.start
    var resends = Deque<ResendStep>()
    var pausedUntil: Moment?
    var retriesPausedUntil: Moment?
    /// Which purpose comes first in the next choice.
    var choice = 0

    /// `start`: The settled position of an earlier run; `nil` = there was none.
    init(start: EventPosition?) { self.start = start }

    /// Whether the next held events that are due may be read.
    func mayReadRetries(_ portion: Int, at now: Moment) -> Bool {
        nexts.count < portion && parks.count < portion && retriesPausedUntil.map { $0 <= now } ?? true
    }

    /// Records that a row has changed.
    mutating func wrote(_ position: EventPosition) { lane?.written.insert(position) }
}

extension EventDelivery {
    /// Begins the reads that are needed and not under way.
    mutating func read(_ turn: inout DeliveryTurn) {
        if let pause = reads.pausedUntil {
            guard pause <= turn.now else { return }
            reads.pausedUntil = nil
        }
        if reads.lane == nil, let purpose = nextPurpose(at: turn.now) {
            let id = turn.read(query(for: purpose))
            reads.lane = HeldLane(id: id, purpose: purpose)
        }
        guard reads.page == nil, reads.start == nil, window.readUpTo < newest, window.hasRoom,
            window.count <= limits.window / 2
        else { return }
        let query = EventRead(after: window.readUpTo, upTo: newest, count: limits.page)
        let room = limits.window - window.count - limits.page
        reads.page = PageRead(turn.read(.events(query)), upTo: newest, room: room)
    }

    private mutating func nextPurpose(at now: Moment) -> Reads.Purpose? {
        if let start = reads.start { return .start(after: start) }
        for _ in 0..<6 {
            reads.choice = (reads.choice + 1) % 6
            switch reads.choice {
            case 0 where !reads.asks.isEmpty:
                let count = min(reads.asks.count, limits.asked)
                return .ask(Array(reads.asks.prefix(count)))
            case 1: if let step = reads.nexts.first { return .next(step) }
            // What has ended comes first: each further attempt may add to it.
            case 2 where retries.wantsMore && reads.mayReadRetries(limits.portion, at: now):
                return .retries(retries.beginReading())
            case 3: if let step = reads.parks.first { return .park(step) }
            case 4: if let step = reads.resends.first { return .resend(step) }
            case 5: if let search = reads.search { return .search(search) }
            default: break
            }
        }
        return nil
    }

    private func query(for purpose: Reads.Purpose) -> StoreQuery {
        switch purpose {
        case .start(let after): held(.after(after), limits.page)
        case .ask(let calls): held(.ofCalls(calls), calls.count)
        case .next(let step): held(.ofCall(step.call, after: step.after), 1)
        case .retries: held(.retries, limits.retries)
        case .park(let step): held(.ofCall(step.call, after: step.after), limits.portion)
        case .search(let search): held(.after(search.after), limits.portion)
        case .resend(let step): query(for: step)
        }
    }

    func held(_ choice: HeldRead.Choice, _ count: Int) -> StoreQuery {
        .heldEvents(HeldRead(url: endpoint.url, choice, count: count))
    }

    /// Takes the result of a read; returns false if none with this number is under way.
    mutating func answered(_ id: EventReadID, _ result: StoreResult, _ turn: inout DeliveryTurn) -> Bool {
        if let page = reads.page, page.id == id {
            reads.page = nil
            if case .events(let events) = result {
                take(events, page, &turn)
            } else {
                reads.pausedUntil = turn.now + DeliverySchedule.readPause
            }
            return true
        }
        guard let lane = reads.lane, lane.id == id else { return false }
        reads.lane = nil
        switch (lane.purpose, result) {
        case (.resend(let step), .heldEvents(let rows)): takeResent(rows, step, lane, &turn)
        case (.resend(let step), .events(let page)): takeResent(page, step, &turn)
        case (_, .heldEvents(let rows)): take(rows, lane, &turn)
        default:
            if case .retries(let horizon) = lane.purpose { retries.endReading(upTo: horizon) }
            reads.pausedUntil = turn.now + DeliverySchedule.readPause
        }
        return true
    }

    private mutating func take(_ rows: [HeldContent], _ lane: HeldLane, _ turn: inout DeliveryTurn) {
        switch lane.purpose {
        case .start:
            for row in rows { reads.heldByEarlierRun[row.held.position] = row.held.state }
            reads.start = rows.count < limits.page ? nil : rows.last?.held.position
            if reads.start == nil { search(after: .start) }
        case .ask(let calls):
            reads.asks.removeFirst(calls.count)
            takeAsked(rows, calls, lane, &turn)
        case .next(let step):
            reads.nexts.removeFirst()
            takeNext(rows, step, lane, &turn)
        case .retries: takeRetries(rows, wanted: limits.retries, lane, &turn)
        case .park(let step):
            reads.parks.removeFirst()
            takeParks(rows, step, wanted: limits.portion, &turn)
        case .search(let search):
            // Another search may have begun since.
            if reads.search?.after == search.after { reads.search = nil }
            takeFound(rows, search)
        case .resend: break
        }
    }
}
