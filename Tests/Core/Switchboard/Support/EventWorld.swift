import CallCore
import CallPorts
import SeededRandom

@testable import Switchboard

/// A world of events from one seed: a server that crashes, a store that loses what is not durable, and endpoints that
/// fail, hang, lie and go; it checks what is sent.
struct EventWorld {
    /// How an endpoint responds.
    enum Mode: CaseIterable {
        case healthy, failing, unreachable, flaky, alternating, slow, busy, lying, gone
    }

    /// An endpoint.
    struct Endpoint {
        var mode = Mode.healthy
        var accepted: Set<EventPosition> = []
        /// The calls whose events it never accepts.
        var poison: Set<CallNumber> = []
        var count = 0
        /// The position after which it began to receive events.
        var begin: EventPosition?
        /// The moments before which it does not want events.
        var notBefore: [EventPosition: Moment] = [:]
    }

    /// A request on its way.
    struct Request {
        let request: EventRequest
        let event: AppEvent
        let due: Moment
        let result: DeliveryResult
        let isAccepted: Bool
    }

    /// What has gone wrong.
    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    var random: SeededGenerator
    var now = Moment(milliseconds: 1_700_000_000_000)
    var store = EventStoreModel()
    var deliveries = EventDeliveries()
    let limits: DeliveryLimits
    var endpoints: [String: Endpoint] = [:]
    var urls = ["https://a.example/", "https://b.example/"]
    var requests: [Request] = []
    var reads: [(query: StoreQuery, id: EventReadID, due: Moment, early: StoreResult?)] = []
    var commits: [Moment] = []
    /// Every event that has become durable.
    var events: [EventPosition: AppEvent] = [:]
    var positions: [CallNumber: [EventPosition]] = [:]
    var counts: [CallNumber: UInt32] = [:]
    var live: [CallNumber] = []
    var lastCall: Int64 = 0
    /// The events that were resent by position: they have no order.
    var resent: Set<EventPosition> = []
    var readFailures = 0
    var sends = 0
    var readCount = 0
    var starts = 0
    var usesClockJumps = true

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var limits = DeliveryLimits()
        if seed % 4 != 0 {
            limits.window = 16
            limits.span = 64
            limits.page = 4
            limits.retries = 24
            limits.calls = 8
            limits.asked = 3
            limits.portion = 3
            limits.searched = 12
            limits.parked = 5
        }
        self.limits = limits
        for url in urls { endpoints[url] = Endpoint() }
    }

    mutating func chance(_ percent: Int) -> Bool { random.below(100) < percent }

    // MARK: The server

    mutating func start() throws {
        store.crash()
        starts += 1
        for request in requests where request.isAccepted && chance(50) { accept(request) }
        requests.removeAll()
        reads.removeAll()
        commits.removeAll()
        let lost = counts.keys.filter { call in positions[call]?.isEmpty ?? true }
        for call in lost { counts[call] = nil }
        for call in counts.keys { counts[call] = UInt32(positions[call]?.count ?? 0) }
        live.removeAll { counts[$0] == nil }
        try checkSettled()
        for url in urls { endpoints[url]?.notBefore.removeAll() }
        for url in urls where store.stored.endpoints.allSatisfy({ $0.url != url }) {
            endpoints[url]?.begin = store.stored.newest
        }
        var effects: [EventDeliveries.Effect] = []
        deliveries = EventDeliveries(
            endpoints: urls,
            stored: store.stored,
            lastCall: CallNumber(rawValue: lastCall),
            limits,
            at: now,
            into: &effects
        )
        try perform(effects)
    }

    mutating func input(
        _ body: (inout EventDeliveries, Moment, inout [EventDeliveries.Effect]) -> Void
    ) throws {
        var effects: [EventDeliveries.Effect] = []
        body(&deliveries, now, &effects)
        try perform(effects)
        try checkMemory()
    }

    private mutating func perform(_ effects: [EventDeliveries.Effect]) throws {
        commit(effects.compactMap { if case .store(let change) = $0 { change } else { nil } })
        for effect in effects {
            switch effect {
            case .send(let request): try send(request)
            case .read(let query, let id):
                readCount += 1
                let early = chance(50) ? store.answer(query) : nil
                reads.append((query, id, now + .milliseconds(Int64(random.below(40))), early))
            case .store, .note: break
            }
        }
    }

    private mutating func commit(_ batch: [Change]) {
        guard !batch.isEmpty else { return }
        store.commit(batch)
        commits.append(max(commits.last ?? now, now + .milliseconds(Int64(random.below(50)))))
    }

    // MARK: The endpoints

    private mutating func send(_ request: EventRequest) throws {
        sends += 1
        guard let number = request.eventID.split(separator: "_").last.flatMap({ Int64($0) }),
            let event = events[EventPosition(rawValue: number)], event.id == request.eventID,
            event.body(in: .first) == request.body
        else { throw Broken(description: "\(request.eventID) is no durable event") }
        try checkSend(event, request.url)
        guard var endpoint = endpoints[request.url] else { return }
        endpoint.count += 1
        var (result, isAccepted) = response(of: endpoint)
        if let call = event.call, endpoint.poison.contains(call), isAccepted {
            (result, isAccepted) = (.response(status: 422, retryAfter: nil), false)
        }
        let slowness = endpoint.mode == .slow || endpoint.mode == .unreachable ? 10_000 : 300
        let due = now + .milliseconds(Int64(1 + random.below(slowness)))
        if case .response(_, let pause?) = result { endpoint.notBefore[event.position] = due + pause }
        if case .response(410, _) = result { endpoint.mode = .healthy }
        endpoints[request.url] = endpoint
        requests.append(
            Request(request: request, event: event, due: due, result: result, isAccepted: isAccepted)
        )
    }

    private mutating func response(of endpoint: Endpoint) -> (DeliveryResult, isAccepted: Bool) {
        let good = DeliveryResult.response(status: 200 + random.below(5), retryAfter: nil)
        let bad = DeliveryResult.response(status: [301, 400, 404, 500, 503][random.below(5)], retryAfter: nil)
        switch endpoint.mode {
        case .healthy: return (good, true)
        case .failing: return (bad, false)
        case .unreachable: return (.unreachable("no route to host"), false)
        case .flaky: return chance(50) ? (good, true) : (bad, false)
        case .alternating: return endpoint.count % 2 == 0 ? (good, true) : (bad, false)
        case .slow: return chance(70) ? (good, true) : (.unreachable("timed out"), chance(50))
        case .busy:
            let pause = Moment.Duration.seconds(Int64(random.below(100)))
            return chance(30) ? (good, true) : (.response(status: 429, retryAfter: pause), false)
        case .lying: return (.unreachable("the connection was closed"), true)
        case .gone: return chance(10) ? (.response(status: 410, retryAfter: nil), false) : (good, true)
        }
    }

    private mutating func accept(_ request: Request) {
        endpoints[request.request.url]?.accepted.insert(request.event.position)
    }

    // MARK: Steps

    /// Carries out what is due next; returns false if nothing is.
    mutating func step(until end: Moment) throws -> Bool {
        let request = requests.indices.min { requests[$0].due < requests[$1].due }
        let read = reads.indices.min { reads[$0].due < reads[$1].due }
        let moments = [
            request.map { requests[$0].due }, read.map { reads[$0].due }, commits.first, deliveries.deadline,
        ]
        guard let next = moments.compactMap({ $0 }).min(), next <= end else { return false }
        now = max(now, next)
        if commits.first == next {
            commits.removeFirst()
            try becameDurable(store.makeDurable())
        } else if let read, reads[read].due == next {
            let (query, id, _, early) = reads.remove(at: read)
            let failure = StoreResult.failed(StoreFailure("a fault"))
            let result = random.below(100) < readFailures ? failure : early ?? store.answer(query)
            try input { $0.answered(id, result, at: $1, into: &$2) }
        } else if let request, requests[request].due == next {
            let done = requests.remove(at: request)
            if done.isAccepted { accept(done) }
            try input { $0.responded(done.request.id, done.result, at: $1, into: &$2) }
            if chance(5) { try input { $0.responded(done.request.id, .error, at: $1, into: &$2) } }
        } else {
            try input { $0.deadlineReached(at: $1, into: &$2) }
            if let deadline = deliveries.deadline, deadline <= now {
                throw Broken(description: "the deadline does not go on")
            }
        }
        return true
    }

    private mutating func becameDurable(_ new: [AppEvent]) throws {
        guard !new.isEmpty else { return }
        for event in new {
            events[event.position] = event
            if let call = event.call { positions[call, default: []].append(event.position) }
        }
        try input { $0.appended(new, at: $1, into: &$2) }
    }

    /// Lets time pass.
    mutating func run(_ duration: Moment.Duration) throws {
        let end = now + duration
        var count = 0
        while try step(until: end) {
            count += 1
            if count > 300_000 { throw Broken(description: "the world does not come to rest") }
        }
        now = max(now, end)
    }

    // MARK: What happens

    /// Adds some events.
    mutating func addEvents(_ count: Int) throws {
        var batch: [Change] = []
        for _ in 0..<count {
            let position = EventPosition(rawValue: store.rows.newest.rawValue + 1 + Int64(batch.count))
            if chance(10) {
                let user = chance(80) ? try user("u\(random.below(3))") : nil
                batch.append(.appEvent(event(position, .deviceRegistered, user: user)))
                continue
            }
            if live.isEmpty || chance(20) {
                lastCall += 1
                live.append(CallNumber(rawValue: lastCall))
            }
            let index = random.below(live.count)
            let call = live[index]
            counts[call, default: 0] += 1
            let number = counts[call] ?? 0
            if number == 7 { live.remove(at: index) }
            batch.append(.appEvent(event(position, number == 7 ? .callEnded : .callRinging, call, number)))
        }
        commit(batch)
    }

    private func event(
        _ position: EventPosition,
        _ type: AppEventType,
        _ call: CallNumber? = nil,
        _ number: UInt32 = 0,
        user: UserID? = nil
    ) -> AppEvent {
        AppEvent(
            position: position,
            incarnation: .first,
            at: now,
            type: type,
            call: call,
            number: number,
            user: user,
            data: Array("{}".utf8)
        )
    }

    /// Deletes the events up to a position.
    mutating func forget(upTo position: EventPosition) throws {
        commit([.eventsForgotten(upTo: position, keepsHeld: false)])
        try input { $0.forgotten(upTo: position, keepsHeld: false, at: $1, into: &$2) }
    }
}
