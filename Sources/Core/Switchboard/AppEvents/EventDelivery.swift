import CallCore
import CallPorts
import DequeModule

/// The delivery of events to one endpoint of the app's backend: at least once each, and the events of a call in order.
///
/// An event is in one of these places:
///
///     (store, after readUpTo) ──page, or appended──▶ window ──2xx──▶ delivered
///                                                       │ failed, while others were accepted
///                                                       ▼
///                                                     held ──2xx──▶ delivered
///                                                       │ failed for three days
///                                                       ▼
///                                                    parked ──resend──▶ held
///
/// Later events of a call of which an event is held become held themselves, without an attempt. A held event has a row
/// in the store, so that the settled position goes on. The events of an endpoint that is down as a whole get no rows:
/// they wait in the window, and in the store.
///
/// Memory is bounded: by the limits of ``EventWindow``, ``HeldRetries`` and ``BlockedCalls``.
struct EventDelivery {
    /// The largest number of requests at once.
    static let requestsAtOnce = 8
    /// The largest number of them for held events, while other events wait.
    static let heldAtOnce = 4
    /// The number of keys whose events fail, with no event accepted meanwhile, that shows that the endpoint is down.
    static let failuresUntilDown = 3

    let limits: DeliveryLimits
    /// The endpoint as it is; ``stored`` is the row in the store.
    var endpoint: EventEndpoint
    var stored: EventEndpoint?
    var storedAt: Moment
    /// The newest event.
    var newest: EventPosition
    /// The newest call that has an event.
    var lastCall: CallNumber
    var window: EventWindow
    var blocked: BlockedCalls
    var retries: HeldRetries
    /// The requests on their way; an array, because they are few.
    var flights: [Flight] = []
    /// The keys whose first event in the window has failed, and is tried again.
    var failing: [EventKey] = []
    /// The keys of which an event failed since the last one was accepted.
    var failedSinceSuccess: Set<EventKey> = []
    /// Set while the endpoint is down.
    var down: Down?
    /// When the endpoint was started again after it had stopped: no event was due before.
    var startedAgainAt: Moment?
    var reads: Reads
    var figures = EndpointFigures()
    /// When the deadline is; computed at the end of each input.
    private(set) var deadline: Moment?
    private var lastNow: Moment

    /// A request on its way.
    struct Flight {
        let id: DeliveryID
        let key: EventKey
        let position: EventPosition
        var place: Place
        let sentAt: Moment
        /// The number of accepted events when it was sent.
        let deliveredBefore: UInt64
        let isProbe: Bool

        enum Place {
            case window
            case held
            /// Nowhere: the endpoint has stopped since.
            case dropped
        }
    }

    /// The state of an endpoint that is down.
    struct Down {
        let since: Moment
        /// The number of failed probes.
        var probes = 0
        /// When the next probe is due.
        var nextProbe: Moment
    }

    /// The delivery to an endpoint; `stored`: its row, `nil` = it is new, and begins after the newest event.
    init(
        _ url: String,
        _ stored: EventEndpoint?,
        newest: EventPosition,
        lastCall: CallNumber,
        limits: DeliveryLimits,
        at now: Moment
    ) {
        self.limits = limits
        var endpoint = stored ?? EventEndpoint(url: url, settledUpTo: newest)
        // The newest events may be lost in a fail-over.
        endpoint.settledUpTo = min(endpoint.settledUpTo, newest)
        self.endpoint = endpoint
        self.stored = stored
        storedAt = now - DeliverySchedule.storePause
        self.newest = newest
        self.lastCall = lastCall
        window = EventWindow(after: endpoint.settledUpTo, limits)
        let unknown = stored == nil ? CallNumber(rawValue: 0) : lastCall
        blocked = BlockedCalls(completeAfter: unknown, limit: limits.calls)
        retries = HeldRetries(isComplete: stored == nil, limit: limits.retries)
        reads = Reads(start: stored == nil ? nil : endpoint.settledUpTo)
        lastNow = now
    }

    /// Whether the endpoint has said that it is gone.
    var isStopped: Bool { endpoint.stoppedAt != nil }

    // MARK: Inputs

    /// Events have become durable.
    mutating func appended(_ events: [AppEvent], _ turn: inout DeliveryTurn) {
        for event in events where event.position > newest {
            if let call = event.call { lastCall = max(lastCall, call) }
            take(event, &turn)
            newest = event.position
        }
    }

    /// Ends an input: sends what can be sent, reads what is to be read, and stores the position.
    mutating func finish(_ turn: inout DeliveryTurn) {
        if turn.now < lastNow { clockSetBack(to: turn.now) }
        lastNow = turn.now
        if !isStopped {
            parkTooOld(&turn)
            sendAll(&turn)
            read(&turn)
        }
        if let parked = turn.parked {
            turn.effects.append(.note(.parked(url: endpoint.url, count: parked.count, first: parked.first)))
        }
        storePosition(&turn)
        deadline = nextDeadline(after: turn.now)
    }

    /// A wait must not become longer because the clock was wrong before.
    private mutating func clockSetBack(to now: Moment) {
        let latest = now + DeliverySchedule.longestPause
        retries.clamp(to: latest)
        for key in failing {
            guard case .failed(let at) = window.lines[key]?.state, at > latest else { continue }
            window.set(key, .failed(retryAt: latest))
        }
        if let next = down?.nextProbe { down?.nextProbe = min(next, latest) }
        storedAt = min(storedAt, now)
        let pause = now + DeliverySchedule.readPause
        reads.pausedUntil = reads.pausedUntil.map { min($0, pause) }
        reads.retriesPausedUntil = reads.retriesPausedUntil.map { min($0, pause) }
    }

    /// Every event before the window is delivered, or held.
    mutating func settle() {
        endpoint.settledUpTo = max(endpoint.settledUpTo, min(window.emptyUpTo, newest))
    }

    /// Stores the endpoint: at once if more than its position has changed, or if it is far ahead; else once a second.
    private mutating func storePosition(_ turn: inout DeliveryTurn) {
        if !isStopped { settle() }
        guard endpoint != stored else { return }
        let isUrgent =
            stored.map { stored in
                endpoint.stoppedAt != stored.stoppedAt || endpoint.parkedCount != stored.parkedCount
                    || endpoint.settledUpTo.rawValue - stored.settledUpTo.rawValue >= limits.span
            } ?? true
        guard isUrgent || storedAt + DeliverySchedule.storePause <= turn.now else { return }
        turn.effects.append(.store(.eventEndpoint(endpoint)))
        stored = endpoint
        storedAt = turn.now
    }

    private func nextDeadline(after now: Moment) -> Moment? {
        var next: Moment?
        // What was due already waits for something else: the end of a request, or an answer of the store.
        func consider(_ moment: Moment) {
            if moment > now, next.map({ moment < $0 }) ?? true { next = moment }
        }
        if endpoint != stored { consider(storedAt + DeliverySchedule.storePause) }
        guard !isStopped else { return next }
        if let moment = reads.pausedUntil { consider(moment) }
        if let moment = reads.retriesPausedUntil { consider(moment) }
        // When nothing else waits, the next probe of an endpoint that is down is a held event, and not before the
        // attempt of that is due.
        if let retry = retries.next { consider(retry.at) }
        if let down {
            consider(down.nextProbe)
            if let due = nextTooOld { consider(max(due, now + DeliverySchedule.portionPause)) }
        } else {
            for key in failing { if case .failed(let at) = window.lines[key]?.state { consider(at) } }
        }
        return next
    }
}
