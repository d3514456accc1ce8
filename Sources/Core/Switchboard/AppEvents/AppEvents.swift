import CallCore
import CallPorts
import DequeModule

/// The events for the app's backend: the number of the newest one, and those that are not durable yet.
struct AppEvents {
    /// Whether anybody wants events: if not, there is no event, and no call counts its events.
    ///
    /// A flag, because each commit asks: the policy would be copied.
    let areWanted: Bool
    private let wanted: AppEventTypes
    /// The incarnation of the database, which ids and cursors name.
    let incarnation: EventIncarnation
    /// The position of the newest event.
    private(set) var newest: EventPosition
    /// The position of the newest event that is durable.
    private(set) var durable: EventPosition
    /// When this run of the server began.
    let startedAt: Moment
    /// The number of the newest call of earlier runs.
    private let lastEarlierCall: Int64
    /// The events that are not durable yet, oldest first.
    private var waiting = Deque<AppEvent>()
    /// The commit of each of them.
    private var waitingTickets = Deque<Ticket>()
    /// The delivery to the endpoints.
    var deliveries = EventDeliveries()
    /// The moment of the next timer for the deliveries; `nil` = no timer is set.
    var deliveriesTimerAt: Moment?
    /// The reads of the feed that wait for an event.
    var feedWaits = FeedWaits()
    /// When push services last refused pushes for a reason that concerns many devices, by reason.
    private var refusals: [String: Moment] = [:]

    init(_ policy: EventPolicy?, _ stored: StoredState, startedAt: Moment) {
        areWanted = policy != nil
        wanted = AppEventTypes(policy?.types ?? [])
        incarnation = stored.events.incarnation
        newest = stored.events.newest
        durable = stored.events.newest
        lastEarlierCall = stored.lastCallNumber
        self.startedAt = startedAt
    }

    /// Whether events of a type are wanted.
    func isWanted(_ type: AppEventType) -> Bool { wanted.contains(type) }

    /// Whether a call has begun in this run of the server, so that its whole course is known.
    func isOfThisRun(_ call: CallNumber) -> Bool { call.rawValue > lastEarlierCall }

    /// Makes an event, which `commit` will make durable.
    mutating func add(
        _ type: AppEventType,
        of call: (number: CallNumber, count: UInt32)? = nil,
        about user: UserID? = nil,
        at moment: Moment,
        data: [UInt8],
        in ticket: Ticket
    ) -> AppEvent {
        newest = newest.next
        let event = AppEvent(
            position: newest,
            incarnation: incarnation,
            at: moment,
            type: type,
            call: call?.number,
            number: call?.count ?? 0,
            user: user,
            data: data
        )
        waiting.append(event)
        waitingTickets.append(ticket)
        return event
    }

    /// Whether events wait for a commit up to a ticket.
    func haveDurable(upTo ticket: Ticket) -> Bool { waitingTickets.first.map { $0 <= ticket } ?? false }

    /// Returns the events that are durable now, oldest first.
    mutating func takeDurable(upTo ticket: Ticket) -> [AppEvent] {
        var events: [AppEvent] = []
        while let first = waitingTickets.first, first <= ticket {
            waitingTickets.removeFirst()
            events.append(waiting.removeFirst())
        }
        if let last = events.last { durable = last.position }
        return events
    }

    /// Records that a push service refuses pushes for a reason; returns whether to report it: once an hour.
    mutating func noteRefusal(_ reason: String, at now: Moment) -> Bool {
        if let last = refusals[reason], now < last + SwitchboardLimits.refusalsReportedEvery { return false }
        if refusals.count >= SwitchboardLimits.refusalReasons { refusals.removeAll() }
        refusals[reason] = now
        return true
    }
}
