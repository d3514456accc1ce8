import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// Something that happens at the app's backend.
enum BackendEvent {
    /// An endpoint does not work for a while.
    case outage(url: String)
    /// The reader of the feed reads on.
    case reads
    /// The reader of the feed has waited for too long.
    case readTimesOut(Int)
    /// Everything else is over: what was not delivered is waited for.
    case waits
    /// Looks whether everything was delivered.
    case looks
    /// Something happens around its decisions.
    case decider(DeciderEvent)
}

/// The app's backend: its endpoints, which receive events and often fail to, and a reader of the feed.
///
/// A request that is sent reaches its endpoint, whatever becomes of the server. The server that has sent it gets the
/// result.
final class Backend: Part {
    let plan: BackendPlan
    var told: BackendChecker
    /// It decides about offers; `nil` = it decides nothing.
    let decider: Decider?
    private var endpoints: [String: Endpoint] = [:]
    var feed = FeedReader()
    /// Since when all other faults are over, and the users have hung up; `nil` = they have not.
    private(set) var waitsSince: Int64?
    /// From when on all requests are accepted, except those of stuck calls.
    private var wellFrom = Int64.max
    private var looks = 0
    /// When the operator demanded the parked events.
    private var resentAt: Int64?
    private let network: Network
    /// What no event may show, as it was when the devices had that many push tokens.
    private var secrets: (tokens: Int, texts: [[UInt8]]) = (-1, [])

    /// An endpoint.
    struct Endpoint {
        /// Until when it does not work, and how it fails.
        var outage: (until: Int64, failure: Failure) = (0, .refused)
        /// Whether it has said that it is gone.
        var isGone = false
        /// Until when failures other than those of stuck calls may have an effect on the delivery.
        var calmFrom = Course.startTime
    }

    /// How a request fails.
    enum Failure: CaseIterable {
        case refused, error, tooMany, redirect, bad, silent
        /// The endpoint takes the event, and its response is lost at once, or comes too late.
        case cut, late
        case gone
    }

    init(_ course: Course, _ network: Network) {
        self.network = network
        plan = BackendPlan(seed: course.scenario.seed, faults: course.scenario.faults)
        told = BackendChecker(plan.policy)
        decider = DeciderPlan(course.scenario).map { Decider(course, $0) }
        super.init(course)
        for url in plan.policy.endpoints { endpoints[url] = Endpoint() }
    }

    /// Plans the outages, and the first read of the feed.
    func begin() {
        decider?.begin()
        after(draws.backend.within(500...20_000), .backend(.reads))
        guard let every = plan.outageEvery else { return }
        let span = Int64(scenario.callCount) * 5_000 + 10_000
        for url in plan.policy.endpoints {
            var at = draws.backend.within(0...every)
            while at < span {
                after(at, .backend(.outage(url: url)))
                at += draws.backend.within(every / 2...every * 2)
            }
        }
    }

    /// Notes that all faults end: the backend works, at once or after a while.
    func endFaults() { wellFrom = now + plan.wellAfter }

    private var isWell: Bool { now >= wellFrom }

    private func isDown(_ url: String) -> Bool { endpoints[url].map { now < $0.outage.until } ?? false }

    func happens(_ event: BackendEvent) {
        switch event {
        case .outage(let url): if !isWell { beginOutage(of: url) }
        case .reads: readFeed()
        case .readTimesOut(let number): if feed.awaited == number { readAgain() }
        case .waits:
            waitsSince = now
            log("—— the backend is waited for ——")
            after(0, .backend(.looks))
        case .looks: look()
        case .decider(let event): decider?.happens(event)
        }
        check()
    }

    /// Notes what the checker has found.
    func check() { if let found = told.violation { fail(found.invariant, found.message) } }

    /// Changes are durable from now on, batch by batch.
    func durable(_ batches: [[Change]]) {
        let count = network.devices.reduce(0) { $0 + 1 + $1.oldTokens.count }
        if count != secrets.tokens {
            let tokens = network.devices.flatMap { [$0.token] + $0.oldTokens.map(\.token) }
            secrets = (count, tokens.map { Array($0.utf8) })
        }
        for batch in batches { told.durable(batch, at: now, secrets: secrets.texts) }
        check()
    }

    // MARK: Requests

    /// Notes a request that a server sends, and returns after how many milliseconds it arrives.
    ///
    /// `run`: The run of the server.
    func ordered(_ request: EventRequest, by run: Int) -> Int64 {
        statistics.deliveries += 1
        log("server ⇢ \(request.url): \(request.eventID)")
        told.sent(request, by: run)
        check()
        return draws.backend.within(2...80)
    }

    /// Handles a request that has arrived; `respond` plans its result after a number of milliseconds.
    func arrived(_ request: EventRequest, respond: (DeliveryResult, Int64) -> Void) {
        guard var endpoint = endpoints[request.url], let event = told.event(request) else { return }
        defer {
            endpoints[request.url] = endpoint
            check()
        }
        guard let failure = failure(of: event, at: &endpoint) else {
            take(event, request)
            let isSlow = draws.backend.percent(isWell ? 1 : 4)
            return respond(
                .response(status: draws.backend.percent(90) ? 200 : 204, retryAfter: nil),
                isSlow ? draws.backend.within(500...9_000) : draws.backend.within(2...120)
            )
        }
        told.failed(event, at: request.url)
        if failure == .cut || failure == .late { take(event, request) }
        log("\(request.url) fails: \(failure)")
        refuse(failure, at: &endpoint, respond)
    }

    private func take(_ event: StoredEvent, _ request: EventRequest) {
        log("\(request.url) takes \(request.eventID), \(event.type.rawValue)")
        told.taken(event, at: request.url)
    }

    private func failure(of event: StoredEvent, at endpoint: inout Endpoint) -> Failure? {
        if endpoint.isGone { return .gone }
        if now < endpoint.outage.until {
            endpoint.calmFrom = max(endpoint.calmFrom, endpoint.outage.until)
            return endpoint.outage.failure
        }
        if let call = event.call, plan.isStuck(call), now < stuckUntil {
            let failures: [Failure] = [.error, .error, .bad, .silent]
            return failures[draws.backend.below(failures.count)]
        }
        guard !isWell, plan.failShare > 0, draws.backend.percent(plan.failShare) else { return nil }
        if draws.backend.percent(plan.goneShare) {
            endpoint.isGone = true
            return .gone
        }
        let failures = Failure.allCases.filter { $0 != .gone }
        endpoint.calmFrom = max(endpoint.calmFrom, now + 10_000)
        return failures[draws.backend.below(failures.count)]
    }

    /// Until when the events of stuck calls are not accepted.
    private var stuckUntil: Int64 { waitsSince.map { $0 + plan.stuckFor } ?? .max }

    private func refuse(_ failure: Failure, at endpoint: inout Endpoint, _ respond: (DeliveryResult, Int64) -> Void) {
        func status(_ status: Int, retryAfter: Int64? = nil) {
            let pause = retryAfter.map { Moment.Duration.milliseconds($0) }
            if let retryAfter { endpoint.calmFrom = max(endpoint.calmFrom, now + min(retryAfter, 12 * 3_600_000)) }
            respond(.response(status: status, retryAfter: pause), draws.backend.within(2...200))
        }
        // The adapter gives up when the request has been under way for ten seconds.
        let timeout = EventRequest.timeout.milliseconds - 90
        switch failure {
        case .refused: respond(.unreachable("the connection was refused"), draws.backend.within(1...50))
        case .error: status(draws.backend.percent(50) ? 500 : 503)
        case .tooMany:
            let isLong = draws.backend.percent(2)
            status(
                429,
                retryAfter: isLong ? draws.backend.within(600_000...72_000_000) : draws.backend.within(0...60_000)
            )
        case .redirect: status(draws.backend.percent(50) ? 302 : 308)
        case .bad: status(draws.backend.percent(50) ? 400 : 404)
        case .silent, .late: respond(.unreachable("there was no response within 10 s"), timeout)
        case .cut: respond(.unreachable("the connection was lost"), draws.backend.within(1...400))
        case .gone: status(410)
        }
    }

    /// Lets an operator demand what is parked, for endpoints that all work again.
    private func resend() {
        log("the operator demands the parked events")
        resentAt = now
        for url in endpoints.keys { endpoints[url]?.isGone = false }
        after(0, .resends(.parked(since: Moment(milliseconds: 0))))
    }

    private func beginOutage(of url: String) {
        let failures: [Failure] = [.refused, .refused, .error, .tooMany, .silent, .silent, .redirect, .bad, .late]
        let span =
            draws.backend.percent(60)
            ? draws.backend.within(1_000...15_000)
            : draws.backend.percent(70)
                ? draws.backend.within(15_000...90_000) : draws.backend.within(90_000...3_600_000)
        let failure = failures[draws.backend.below(failures.count)]
        endpoints[url]?.outage = (now + span, failure)
        log("\(url) does not work for \(span) ms: \(failure)")
    }

    // MARK: The end

    /// Looks whether everything was delivered that will be; then reads the whole feed, and ends the world.
    private func look() {
        guard let since = waitsSince else { return }
        looks += 1
        if isWell {
            for url in endpoints.keys where isDown(url) { endpoints[url]?.outage.until = now }
        }
        for (url, endpoint) in endpoints.sorted(by: { $0.key < $1.key }) where !endpoint.isGone {
            let calmFrom = max(endpoint.calmFrom, wellFrom, since - 60_000, checker.serverSince)
            told.checkUntried(at: url, calmFrom: calmFrom, isStuck: plan.isStuck, now: now)
        }
        let isLate = now >= max(wellFrom, stuckUntil, since + 180_000) + 60_000
        if isLate, let missing = told.missing(parked: resentAt != nil), !feed.isLast {
            let calmFrom = endpoints.values.map(\.calmFrom).max() ?? now
            // The longest pause of an event is 12 h and a fifth; one after a long `Retry-After` follows it.
            if now > max(wellFrom, stuckUntil, since, calmFrom, resentAt ?? 0) + 16 * 3_600_000 { fail("I23", missing) }
        } else if isLate, told.isAnyParked, resentAt == nil {
            resend()
        } else if isLate, !feed.isLast {
            told.checkEnd()
            feed.readAll()
            after(0, .backend(.reads))
        }
        let pause: Int64 = looks < 20 ? 20_000 : looks < 60 ? 120_000 : 900_000
        after(pause, .backend(.looks))
    }
}
