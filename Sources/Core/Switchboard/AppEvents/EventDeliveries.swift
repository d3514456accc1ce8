package import CallCore
package import CallPorts

/// The delivery of events to the endpoints of the app's backend.
///
/// A state machine: each input appends what is to be done to `effects`. All inputs of a turn may share one array; its
/// order is kept. At ``deadline`` call ``deadlineReached(at:into:)``.
package struct EventDeliveries {
    private(set) var deliveries: [EventDelivery] = []
    private let incarnation: EventIncarnation
    private var lastDelivery: UInt64 = 0
    private var lastRead: UInt64 = 0

    /// Something to do.
    package enum Effect: Equatable {
        /// Send an event; ``responded(_:_:at:into:)`` follows.
        case send(EventRequest)
        /// Store a change, in the order of the effects; those of one input in one commit.
        case store(Change)
        /// Ask the store, after all changes so far; ``answered(_:_:at:into:)`` follows.
        indirect case read(StoreQuery, EventReadID)
        /// Tell the operator.
        indirect case note(Note)
    }

    /// What an operator is told.
    package enum Note: Equatable, Sendable {
        /// An endpoint accepts nothing any more; with the last result.
        case down(url: String, DeliveryResult)
        /// An endpoint that was down accepts events again.
        case recovered(url: String, after: Moment.Duration)
        /// An endpoint has said that it is gone (410): nothing is sent any more.
        case stopped(url: String)
        /// So many events were parked, the first one at a position.
        case parked(url: String, count: Int, first: EventPosition)
    }

    /// What an operator wants to be sent again.
    package enum Resend: Equatable, Sendable {
        /// One event; if it is held, the earlier held ones of its call are sent before it.
        case event(EventPosition)
        /// The parked events that happened at a moment or later.
        case parked(since: Moment)
    }

    /// No endpoints.
    package init() { incarnation = .first }

    /// The deliveries to the configured endpoints.
    ///
    /// An endpoint that is new begins after the newest event. A stored one that is not configured any more is removed.
    ///
    /// `urls`: The addresses, at most ``EventPolicy/endpointLimit``. `stored`: What the store had at the start. `lastCall`: The
    /// highest call number ever used, as the store had it: of calls up to it, events may be held.
    package init(
        endpoints urls: [String],
        stored: StoredEvents,
        lastCall: CallNumber,
        at now: Moment,
        into effects: inout [Effect]
    ) {
        self.init(endpoints: urls, stored: stored, lastCall: lastCall, DeliveryLimits(), at: now, into: &effects)
    }

    /// The same with other limits.
    init(
        endpoints urls: [String],
        stored: StoredEvents,
        lastCall: CallNumber,
        _ limits: DeliveryLimits,
        at now: Moment,
        into effects: inout [Effect]
    ) {
        incarnation = stored.incarnation
        for endpoint in stored.endpoints where !urls.contains(endpoint.url) {
            effects.append(.store(.eventEndpointRemoved(url: endpoint.url)))
        }
        for url in urls where !deliveries.contains(where: { $0.endpoint.url == url }) {
            let row = stored.endpoints.first { $0.url == url }
            let delivery = EventDelivery(
                url,
                row,
                newest: stored.newest,
                lastCall: lastCall,
                limits: limits,
                at: now
            )
            deliveries.append(delivery)
        }
        each(at: now, into: &effects) { _, _ in }
    }

    /// Whether there is no endpoint: no input has an effect then.
    package var isEmpty: Bool { deliveries.isEmpty }

    /// The next moment at which something is to be done.
    package var deadline: Moment? {
        var next: Moment?
        for delivery in deliveries {
            if let at = delivery.deadline, next.map({ at < $0 }) ?? true { next = at }
        }
        return next
    }

    /// The number of requests on their way.
    package var requestCount: Int { deliveries.reduce(0) { $0 + $1.flights.count } }

    /// What the metrics tell, by endpoint.
    package var figures: [EndpointFigures] { deliveries.map(\.currentFigures) }

    // MARK: Inputs

    /// Events have become durable, in the order of their positions.
    package mutating func appended(_ events: [AppEvent], at now: Moment, into effects: inout [Effect]) {
        each(at: now, into: &effects) { $0.appended(events, &$1) }
    }

    /// A delivery has its result; a result that has come before is ignored.
    package mutating func responded(
        _ id: DeliveryID,
        _ result: DeliveryResult,
        at now: Moment,
        into effects: inout [Effect]
    ) {
        one(at: now, into: &effects) { $0.responded(id, result, &$1) }
    }

    /// The store has answered a read, or has failed to.
    package mutating func answered(
        _ id: EventReadID,
        _ result: StoreResult,
        at now: Moment,
        into effects: inout [Effect]
    ) {
        one(at: now, into: &effects) { $0.answered(id, result, &$1) }
    }

    /// Events up to a position were deleted from the store.
    package mutating func forgotten(
        upTo position: EventPosition,
        keepsHeld: Bool,
        at now: Moment,
        into effects: inout [Effect]
    ) {
        guard !keepsHeld else { return }
        each(at: now, into: &effects) { $0.forgotten(upTo: position, &$1) }
    }

    /// An operator wants events to be sent again to one endpoint, or to all (`nil`).
    ///
    /// An endpoint that has stopped starts again.
    /// - Returns: The number of endpoints that carry it out: fewer if there is none with this address, or if too many
    ///   demands wait.
    package mutating func resend(
        _ resend: Resend,
        to url: String?,
        at now: Moment,
        into effects: inout [Effect]
    ) -> Int {
        var count = 0
        each(at: now, into: &effects) { delivery, _ in
            guard url.map({ $0 == delivery.endpoint.url }) ?? true else { return }
            if delivery.resend(resend, at: now) { count += 1 }
        }
        return count
    }

    /// The ``deadline`` has come.
    package mutating func deadlineReached(at now: Moment, into effects: inout [Effect]) {
        each(at: now, into: &effects) { _, _ in }
    }

    // MARK: -

    private mutating func each(
        at now: Moment,
        into effects: inout [Effect],
        _ body: (inout EventDelivery, inout DeliveryTurn) -> Void
    ) {
        for index in deliveries.indices {
            _ = run(index, at: now, into: &effects) {
                body(&$0, &$1)
                return true
            }
        }
    }

    private mutating func one(
        at now: Moment,
        into effects: inout [Effect],
        _ body: (inout EventDelivery, inout DeliveryTurn) -> Bool
    ) {
        for index in deliveries.indices where run(index, at: now, into: &effects, body) { return }
    }

    private mutating func run(
        _ index: Int,
        at now: Moment,
        into effects: inout [Effect],
        _ body: (inout EventDelivery, inout DeliveryTurn) -> Bool
    ) -> Bool {
        var turn = DeliveryTurn(now: now, incarnation: incarnation, lastDelivery: lastDelivery, lastRead: lastRead)
        swap(&turn.effects, &effects)
        defer { swap(&turn.effects, &effects) }
        guard body(&deliveries[index], &turn) else { return false }
        deliveries[index].finish(&turn)
        lastDelivery = turn.lastDelivery
        lastRead = turn.lastRead
        return true
    }
}

/// The number of a read, which its answer repeats.
package struct EventReadID: Hashable, Sendable {
    /// The number, from 1.
    package let rawValue: UInt64

    /// The read with this number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// An input of an endpoint: when it is, and what is to be done.
struct DeliveryTurn {
    let now: Moment
    let incarnation: EventIncarnation
    fileprivate(set) var lastDelivery: UInt64
    fileprivate(set) var lastRead: UInt64
    var effects: [EventDeliveries.Effect] = []
    /// The number of events that were parked, and the first of them.
    private(set) var parked: (count: Int, first: EventPosition)?

    fileprivate init(now: Moment, incarnation: EventIncarnation, lastDelivery: UInt64, lastRead: UInt64) {
        self.now = now
        self.incarnation = incarnation
        self.lastDelivery = lastDelivery
        self.lastRead = lastRead
    }

    /// Sends an event.
    mutating func send(_ event: AppEvent, to url: String) -> DeliveryID {
        lastDelivery += 1
        let id = DeliveryID(rawValue: lastDelivery)
        let (eventID, body) = event.posted(in: incarnation)
        effects.append(.send(EventRequest(id: id, url: url, eventID: eventID, body: body)))
        return id
    }

    /// Asks the store.
    mutating func read(_ query: StoreQuery) -> EventReadID {
        lastRead += 1
        let id = EventReadID(rawValue: lastRead)
        effects.append(.read(query, id))
        return id
    }

    /// Records that an event was parked.
    mutating func notePark(_ position: EventPosition) { parked = ((parked?.count ?? 0) + 1, parked?.first ?? position) }
}
