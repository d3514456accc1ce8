import CallCore
import CallPorts

@testable import Switchboard

/// The delivery of events with a store and endpoints that the test moves on by hand.
struct EventRig {
    static let url = "https://app.example/events"

    var now = Moment(milliseconds: 1_700_000_000_000)
    var store = EventStoreModel()
    var deliveries = EventDeliveries()
    let urls: [String]
    /// The requests on their way, oldest first.
    var requests: [(request: EventRequest, event: AppEvent)] = []
    var notes: [EventDeliveries.Note] = []
    /// The bodies that were sent, each with its id.
    var bodies: [String: Set<[UInt8]>] = [:]
    /// Whether the store answers at once.
    var answersAtOnce = true
    var reads: [(query: StoreQuery, id: EventReadID)] = []
    /// The number of events of each call.
    private var counts: [CallNumber: UInt32] = [:]
    /// The number of rows of endpoints that were stored.
    var endpointRows = 0

    /// Endpoints that have received nothing yet.
    init(urls: [String] = [url]) {
        self.urls = urls
        start()
    }

    /// The figures of the first endpoint.
    var figures: EndpointFigures { deliveries.figures[0] }
    /// The held events of the first endpoint, in the order of their positions.
    var held: [HeldEvent] { (store.rows.held[urls[0]] ?? [:]).values.sorted { $0.position < $1.position } }
    /// The row of the first endpoint.
    var row: EventEndpoint? { store.rows.endpoints[urls[0]] }
    /// The events on their way, as "call.number".
    var sent: [String] { requests.map { Self.name($0.event) } }

    static func name(_ event: AppEvent) -> String { "\(event.call?.rawValue ?? 0).\(event.number)" }

    /// Starts, after a crash if it ran.
    mutating func start() {
        store.crash()
        requests.removeAll()
        reads.removeAll()
        var effects: [EventDeliveries.Effect] = []
        let lastCall = counts.keys.max() ?? CallNumber(rawValue: 0)
        deliveries = EventDeliveries(
            endpoints: urls,
            stored: store.stored,
            lastCall: lastCall,
            at: now,
            into: &effects
        )
        perform(effects)
    }

    /// Appends the next events of calls, and makes everything durable.
    mutating func append(_ calls: Int64...) {
        var events: [AppEvent] = []
        for number in calls {
            let call = CallNumber(rawValue: number)
            counts[call, default: 0] += 1
            let type: AppEventType = counts[call] == 1 ? .callStarted : .callRinging
            events.append(event(type, at: events.count, call: call, number: counts[call] ?? 0))
        }
        append(events)
    }

    /// Appends an event of a user.
    mutating func append(of user: UserID) { append([event(.deviceRegistered, at: 0, user: user)]) }

    private mutating func append(_ events: [AppEvent]) {
        store.commit(events.map { .appEvent($0) })
        makeDurable()
    }

    private func event(
        _ type: AppEventType,
        at index: Int,
        call: CallNumber? = nil,
        number: UInt32 = 0,
        user: UserID? = nil
    ) -> AppEvent {
        AppEvent(
            position: EventPosition(rawValue: store.rows.newest.rawValue + 1 + Int64(index)),
            incarnation: .first,
            at: now,
            type: type,
            call: call,
            number: number,
            user: user,
            data: Array("{}".utf8)
        )
    }

    /// Makes every commit durable.
    mutating func makeDurable() {
        while store.hasBatch {
            let events = store.makeDurable()
            guard !events.isEmpty else { continue }
            input { $0.appended(events, at: $1, into: &$2) }
        }
    }

    /// Passes an input.
    mutating func input(_ body: (inout EventDeliveries, Moment, inout [EventDeliveries.Effect]) -> Void) {
        var effects: [EventDeliveries.Effect] = []
        body(&deliveries, now, &effects)
        perform(effects)
    }

    private mutating func perform(_ effects: [EventDeliveries.Effect]) {
        var batch: [Change] = []
        var queries: [(StoreQuery, EventReadID)] = []
        for effect in effects {
            switch effect {
            case .send(let request):
                bodies[request.eventID, default: []].insert(request.body)
                let position = request.eventID.split(separator: "_").last.flatMap { Int64($0) } ?? 0
                let all = store.rows.events[EventPosition(rawValue: position)]
                if let event = all { requests.append((request, event)) }
            case .store(let change):
                if case .eventEndpoint = change { endpointRows += 1 }
                batch.append(change)
            case .read(let query, let id): queries.append((query, id))
            case .note(let note): notes.append(note)
            }
        }
        store.commit(batch)
        reads += queries
        if answersAtOnce { answerReads() }
    }

    /// Answers the reads that wait.
    mutating func answerReads(_ result: StoreResult? = nil) {
        while !reads.isEmpty {
            let read = reads.removeFirst()
            let answer = result ?? store.answer(read.query)
            input { $0.answered(read.id, answer, at: $1, into: &$2) }
        }
    }

    /// Passes the result of the oldest request, or of the one of this call.
    mutating func respond(_ result: DeliveryResult, call: Int64? = nil) {
        guard let index = requests.firstIndex(where: { call.map(CallNumber.init) ?? $0.event.call == $0.event.call })
        else { return }
        let id = requests.remove(at: index).request.id
        input { $0.responded(id, result, at: $1, into: &$2) }
    }

    /// Accepts requests until there are none.
    mutating func acceptAll() { while !requests.isEmpty { respond(.response(status: 200, retryAfter: nil)) } }

    /// Lets time pass up to the deadline; returns false if there is none.
    @discardableResult
    mutating func waitForDeadline() -> Bool {
        guard let deadline = deliveries.deadline else { return false }
        now = max(now, deadline)
        input { $0.deadlineReached(at: $1, into: &$2) }
        return true
    }

    /// Lets time pass.
    mutating func wait(_ duration: Moment.Duration) {
        let end = now + duration
        while let deadline = deliveries.deadline, deadline <= end { waitForDeadline() }
        now = end
        input { $0.deadlineReached(at: $1, into: &$2) }
    }
}

extension DeliveryResult {
    /// The endpoint has accepted the event.
    static let accepted = response(status: 204, retryAfter: nil)
    /// The endpoint could not handle the event.
    static let error = response(status: 500, retryAfter: nil)
}
