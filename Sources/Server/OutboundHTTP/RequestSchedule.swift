import HeapModule

/// Decides which of a client's requests run, and which names are looked up: libcurl is handed only what can run.
///
/// A request to a host with an established connection needs nothing else than room there (``HostWindow``). Any other one
/// needs one of the few places for requests that resolve a name or connect; they are given to the users in turn, a few
/// to each user, and at most two to a host. A host to which no connection can be made rests for some seconds: its
/// waiting requests fail at once, and later ones wait.
///
/// The type is pure: its caller passes in the time, carries the steps out, and says what came of them.
struct RequestSchedule {
    /// The next action.
    enum Step: Equatable {
        /// Look up the name of this host.
        case lookUp(String)
        /// Hand the request to libcurl.
        case start(HTTPRequestID)
    }

    /// The outcome of a request that was handed over.
    enum Ending {
        /// The host responded; `isMultiplexed`: in a version of HTTP whose connections carry many requests.
        case response(isMultiplexed: Bool)
        /// Only this request failed.
        case failed
        /// The connection was lost.
        case lost
        /// No connection could be made.
        case notConnected
    }

    typealias Instant = ContinuousClock.Instant

    /// How long the result of a look-up is used before the name is looked up again.
    static let addressesFreshFor = Duration.seconds(60)
    /// How long the result of a look-up is used until the next one has a result.
    static let addressesUsableFor = Duration.seconds(600)
    /// How long a host rests after its first failure; the time doubles with each further one.
    static let firstRest = Duration.seconds(1)
    static let longestRest = Duration.seconds(8)
    /// The number of places that a host has at most.
    static let placesPerHost = 2
    /// The number of hosts that are remembered although nothing is under way to them.
    static let rememberedHosts = 512

    struct Entry {
        let host: String
        let user: String?
        let isToKnownHost: Bool
        var phase = Phase.waiting
        /// Whether the request waits for a place in ``RequestSchedule/places``.
        var waitsForPlace = false

        enum Phase { case waiting, handedOver, sent }
    }

    struct Host {
        var window = HostWindow()
        var queue = FairQueue<String?, HTTPRequestID>()
        /// The number of waiting requests.
        var waiting = 0
        /// The number of places that the host has.
        var places = 0
        /// Whether the client looks the host's name up: the host is no address, and no proxy resolves it.
        var hasName = false
        /// The place of the look-up under way; nil if there is none.
        var lookup: Places.Holder?
        /// The addresses that were found; empty if there are none yet.
        var addresses: [String] = []
        var addressesFreshUntil: Instant?
        var addressesUsableUntil: Instant?
        /// Whether a connection is believed to be established.
        var hasConnection = false
        /// Whether the last outcome was a response; only used if the first request goes alone.
        var isProven = false
        /// The moment until which the first request to the host goes alone.
        var aloneUntil: Instant?
        /// The number of failures since the last connection.
        var failures = 0
        var restsUntil: Instant?

        var isIdle: Bool { waiting == 0 && window.open == 0 && lookup == nil }

        func isResting(at now: Instant) -> Bool { restsUntil.map { now < $0 } ?? false }

        func needsLookup(at now: Instant) -> Bool {
            hasName && (addresses.isEmpty || addressesUsableUntil.map { $0 <= now } ?? true)
        }

        func hasRoom(_ configuration: HTTPClientConfiguration, at now: Instant) -> Bool {
            if !isProven, let aloneUntil, now < aloneUntil { return window.open == 0 }
            return window.hasRoom(atMost: configuration.openPerHost)
        }

        /// Returns whether a place would let the host look its name up, or connect.
        func canUsePlace(_ configuration: HTTPClientConfiguration, at now: Instant) -> Bool {
            !hasConnection && lookup == nil && places < RequestSchedule.placesPerHost && !isResting(at: now)
                && hasRoom(configuration, at: now)
        }
    }

    let configuration: HTTPClientConfiguration
    var hosts: [String: Host] = [:]
    var entries: [HTTPRequestID: Entry] = [:]
    var places: Places
    /// The hosts whose next steps are not determined yet.
    private(set) var changed: Set<String> = []
    /// The moments at which a host's next steps must be determined again, such as the end of a rest.
    private var timers = Heap<Timer>()

    private struct Timer: Comparable {
        let at: Instant
        let host: String

        static func < (a: Self, b: Self) -> Bool { a.at < b.at }
    }

    init(_ configuration: HTTPClientConfiguration) {
        self.configuration = configuration
        places = Places(
            count: configuration.connecting,
            reserved: configuration.reservedForKnownHosts,
            perUser: configuration.connectingPerUser
        )
    }

    /// When to call ``next(at:)`` again although nothing has happened; nil if there is no such moment.
    var nextMoment: Instant? { timers.min?.at }

    /// Has the next steps of a changed host determined.
    mutating func change(_ host: String) { changed.insert(host) }

    /// Has the next steps of a host determined at a moment.
    mutating func wake(_ host: String, at moment: Instant) { timers.insert(Timer(at: moment, host: host)) }

    /// Returns the next step, and records it as done; nil if there is none.
    mutating func next(at now: Instant) -> Step? {
        while let timer = timers.min, timer.at <= now {
            timers.removeMin()
            changed.insert(timer.host)
        }
        while let name = changed.first {
            if let step = nextWithoutPlace(name, at: now) { return step }
            changed.remove(name)
        }
        return nextWithPlace(at: now)
    }

    /// Returns the next step of a host that needs no place; otherwise makes its requests wait for one.
    private mutating func nextWithoutPlace(_ name: String, at now: Instant) -> Step? {
        guard var host = hosts[name], host.waiting > 0 else { return nil }
        if host.hasConnection {
            guard !mustRefresh(host, at: now) else {
                guard places.reserve(of: nil, isKnown: false) else { return start(name, &host, at: now) }
                host.lookup = Places.Holder(user: nil)
                host.places += 1
                hosts[name] = host
                return .lookUp(name)
            }
            return start(name, &host, at: now)
        }
        guard host.canUsePlace(configuration, at: now) else { return nil }
        for id in host.queue.removeAll() {
            guard let entry = entries[id], entry.phase == .waiting else { continue }
            host.queue.append(id, of: entry.user)
            waitForPlace(id)
        }
        hosts[name] = host
        return nil
    }

    mutating func waitForPlace(_ id: HTTPRequestID) {
        guard let entry = entries[id], !entry.waitsForPlace else { return }
        entries[id]?.waitsForPlace = true
        places.wait(id, of: entry.user, isKnown: entry.isToKnownHost)
    }

    /// Returns whether the addresses of a connected host are stale: it may need another connection.
    private func mustRefresh(_ host: Host, at now: Instant) -> Bool {
        host.hasName && host.lookup == nil && host.places < Self.placesPerHost
            && (host.addressesFreshUntil.map { $0 <= now } ?? true) && !host.isResting(at: now)
    }

    private mutating func start(_ name: String, _ host: inout Host, at now: Instant) -> Step? {
        while host.hasRoom(configuration, at: now), let id = host.queue.popFirst() {
            guard entries[id]?.phase == .waiting else { continue }
            handOver(id, &host, at: now)
            hosts[name] = host
            return .start(id)
        }
        hosts[name] = host
        return nil
    }

    private mutating func handOver(_ id: HTTPRequestID, _ host: inout Host, at now: Instant) {
        if configuration.firstAloneMilliseconds > 0, host.window.open == 0, !host.isProven, let entry = entries[id] {
            let end = now + .milliseconds(configuration.firstAloneMilliseconds)
            host.aloneUntil = end
            wake(entry.host, at: end)
        }
        host.waiting -= 1
        host.window.handedOver()
        entries[id]?.phase = .handedOver
    }

    /// Gives a free place to the request whose turn it is.
    private mutating func nextWithPlace(at now: Instant) -> Step? {
        while let id = places.next() {
            guard let entry = entries[id], entry.waitsForPlace else { continue }
            entries[id]?.waitsForPlace = false
            // A request that is skipped here stays in its host's queue until the host changes.
            guard entry.phase == .waiting, var host = hosts[entry.host], host.canUsePlace(configuration, at: now)
            else { continue }
            guard places.reserve(of: entry.user, isKnown: entry.isToKnownHost) else { continue }
            host.places += 1
            if host.needsLookup(at: now) {
                host.lookup = Places.Holder(user: entry.user)
                hosts[entry.host] = host
                return .lookUp(entry.host)
            }
            places.hold(id, of: entry.user)
            handOver(id, &host, at: now)
            hosts[entry.host] = host
            return .start(id)
        }
        return nil
    }
}
