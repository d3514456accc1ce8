import Testing

@testable import OutboundHTTP

@Suite("The schedule of a client's requests")
struct RequestScheduleTests {
    /// A schedule with a clock of its own, and what it has said.
    final class Rig {
        var schedule: RequestSchedule
        var now = ContinuousClock.now
        private var lastID: UInt64 = 0

        init(_ change: (inout HTTPClientConfiguration) -> Void = { _ in }) {
            var configuration = HTTPClientConfiguration()
            change(&configuration)
            schedule = RequestSchedule(configuration)
        }

        @discardableResult
        func add(_ host: String, of user: String? = nil, isKnown: Bool = false, named: Bool = false) -> HTTPRequestID {
            lastID += 1
            let id = HTTPRequestID(rawValue: lastID)
            schedule.add(id, to: host, hasName: named, of: user, isToKnownHost: isKnown, at: now)
            return id
        }

        func steps() -> [RequestSchedule.Step] {
            var steps: [RequestSchedule.Step] = []
            while let step = schedule.next(at: now) { steps.append(step) }
            return steps
        }

        func started() -> [HTTPRequestID] {
            steps().compactMap { if case .start(let id) = $0 { id } else { nil } }
        }

        func lookedUp(_ host: String, _ addresses: [String]) -> [HTTPRequestID] {
            schedule.lookedUp(host, addresses, at: now)
        }

        func sent(_ id: HTTPRequestID) { schedule.sent(id) }

        @discardableResult
        func finished(_ id: HTTPRequestID, _ ending: RequestSchedule.Ending) -> [HTTPRequestID] {
            schedule.finished(id, ending, at: now)
        }

        func mayConnect(_ id: HTTPRequestID) -> Bool { schedule.mayConnect(id) }

        func lookedUp() -> [String] {
            steps().compactMap { if case .lookUp(let host) = $0 { host } else { nil } }
        }
    }

    @Test("The first request to a host goes alone; each that is sent makes room for two")
    func growth() {
        let rig = Rig()
        for _ in 0..<20 { rig.add("a") }
        var counts: [Int] = []
        while true {
            let started = rig.started()
            if started.isEmpty { break }
            counts.append(started.count)
            for id in started { rig.sent(id) }
        }
        #expect(counts == [1, 2, 8, 9])
    }

    @Test("Requests without a connection wait again in their order, and go on one by one as others finish")
    func blocked() {
        let rig = Rig()
        let ids = (0..<9).map { _ in rig.add("a") }
        for id in rig.started() { rig.sent(id) }
        let second = rig.started()
        #expect(second == [ids[1], ids[2]])
        rig.schedule.takeBack(second)
        #expect(rig.started().isEmpty)
        #expect(rig.finished(ids[0], .response(isMultiplexed: false)).isEmpty)
        #expect(rig.started() == [ids[1]])
        rig.sent(ids[1])
        rig.finished(ids[1], .failed)
        #expect(rig.started().first == ids[2])
    }

    @Test("Few requests have places to connect: a few of each user, and at most two to each host")
    func places() {
        let rig = Rig {
            $0.connecting = 5
            $0.connectingPerUser = 2
        }
        for number in 0..<10 { rig.add("m\(number)", of: "mallory") }
        rig.add("x", of: "alice")
        rig.add("y", of: "bob")
        rig.add("z")
        #expect(rig.started().count == 5)
        rig.add("w", of: "carol")
        #expect(rig.started().isEmpty)
    }

    @Test("A place that becomes free goes to the user who waited longest, not to the one with the most requests")
    func turns() {
        let rig = Rig {
            $0.connecting = 1
            $0.connectingPerUser = 1
        }
        let first = rig.add("m0", of: "mallory")
        for number in 1..<50 { rig.add("m\(number)", of: "mallory") }
        let other = rig.add("a", of: "alice")
        #expect(rig.started() == [first])
        rig.sent(first)
        #expect(rig.started().count == 1)
        let second = HTTPRequestID(rawValue: 2)
        rig.sent(second)
        #expect(rig.started() == [other] || rig.schedule.entries[other]?.phase != .waiting)
    }

    @Test("The reserved places are for hosts that the server knows by itself")
    func reserve() {
        let rig = Rig {
            $0.connecting = 3
            $0.reservedForKnownHosts = 1
        }
        for number in 0..<5 { rig.add("m\(number)", of: "m\(number)") }
        #expect(rig.started().count == 2)
        let known = rig.add("known", isKnown: true)
        #expect(rig.started() == [known])
    }

    @Test("A host with a connection needs no place")
    func established() {
        let rig = Rig { $0.connecting = 1 }
        let first = rig.add("a")
        #expect(rig.started() == [first])
        rig.sent(first)
        rig.add("b")
        #expect(rig.started().count == 1)
        let more = rig.add("a")
        #expect(rig.started() == [more])
        // It turns out that it needs another connection, for which there is no place.
        #expect(!rig.mayConnect(more))
        rig.schedule.denied(more)
        #expect(rig.started().isEmpty)
    }

    @Test(
        "A name is looked up once for all requests that wait for it; without an address they fail, and the host rests"
    )
    func names() {
        let rig = Rig()
        let ids = (0..<3).map { _ in rig.add("a", named: true) }
        #expect(rig.lookedUp() == ["a"])
        #expect(rig.lookedUp("a", []) == ids)
        let later = rig.add("a", named: true)
        #expect(rig.steps().isEmpty)
        #expect(rig.schedule.figures(at: rig.now).restingHosts == 1)
        rig.now += RequestSchedule.firstRest
        #expect(rig.steps() == [.lookUp("a")])
        #expect(rig.lookedUp("a", ["192.0.2.1"]).isEmpty)
        #expect(rig.steps() == [.start(later)])
        #expect(rig.schedule.addresses(for: later) == ["192.0.2.1"])
    }

    @Test("The request that waited for a name goes before one that comes as the name is found")
    func lookedUpFirst() {
        let rig = Rig()
        let first = rig.add("a", named: true)
        #expect(rig.lookedUp() == ["a"])
        _ = rig.lookedUp("a", ["192.0.2.1"])
        rig.add("a", named: true)
        #expect(rig.started().first == first)
    }

    @Test("A host to which no connection can be made rests for longer and longer, at most eight seconds")
    func rests() {
        let rig = Rig()
        var waits: [Duration] = []
        for _ in 0..<6 {
            let id = rig.add("a")
            let start = rig.now
            while rig.started().isEmpty { rig.now += .milliseconds(250) }
            waits.append(rig.now - start)
            rig.finished(id, .notConnected)
        }
        #expect(waits == [0, 1, 2, 4, 8, 8].map { .seconds($0) })
    }

    @Test("The addresses of a connected host are refreshed; until then, and if that fails, the old ones are used")
    func refresh() {
        let rig = Rig()
        let first = rig.add("a", named: true)
        #expect(rig.lookedUp() == ["a"])
        _ = rig.lookedUp("a", ["192.0.2.1"])
        #expect(rig.started() == [first])
        rig.sent(first)
        rig.now += RequestSchedule.addressesFreshFor
        let second = rig.add("a", named: true)
        #expect(rig.steps() == [.lookUp("a"), .start(second)])
        #expect(rig.lookedUp("a", []).isEmpty)
        #expect(rig.schedule.addresses(for: second) == ["192.0.2.1"])
        rig.sent(second)
        let third = rig.add("a", named: true)
        #expect(rig.steps() == [.start(third)])
    }

    @Test("Waiting requests survive a lost connection, and a failed one beside a connection that works")
    func lost() {
        let rig = Rig()
        let first = rig.add("a")
        #expect(rig.started() == [first])
        rig.sent(first)
        let more = (0..<3).map { _ in rig.add("a") }
        #expect(rig.started() == Array(more[..<2]))
        #expect(rig.mayConnect(more[0]))
        #expect(rig.finished(more[0], .notConnected).isEmpty)
        #expect(rig.finished(first, .lost).isEmpty)
        #expect(rig.schedule.places.taken == 0)
    }

    @Test("Whatever happens, places are given back, and hosts without requests are forgotten")
    func balance() {
        let rig = Rig { $0.connecting = 4 }
        var random = SystemRandomNumberGenerator()
        var under: [HTTPRequestID] = []
        for round in 0..<3_000 {
            let host = "h\(Int.random(in: 0..<700, using: &random))"
            rig.add(host, of: "u\(round % 7)", named: round % 2 == 0)
            rig.now += .milliseconds(20)
            for step in rig.steps() {
                switch step {
                case .lookUp(let name):
                    for id in rig.lookedUp(name, round % 5 == 0 ? [] : ["192.0.2.1"]) {
                        #expect(rig.schedule.entries[id] == nil)
                    }
                case .start(let id): under.append(id)
                }
            }
            under.shuffle(using: &random)
            for id in under.prefix(3) {
                under.removeAll { $0 == id }
                if Bool.random(using: &random) { rig.sent(id) }
                let endings: [RequestSchedule.Ending] = [.response(isMultiplexed: true), .failed, .lost, .notConnected]
                rig.finished(id, endings.randomElement(using: &random) ?? .failed)
            }
        }
        for _ in 0..<20_000 where !rig.schedule.entries.isEmpty {
            rig.now += .seconds(1)
            for step in rig.steps() {
                switch step {
                case .lookUp(let name): _ = rig.lookedUp(name, ["192.0.2.1"])
                case .start(let id): under.append(id)
                }
            }
            for id in under { _ = rig.finished(id, .response(isMultiplexed: true)) }
            under = []
        }
        #expect(rig.schedule.entries.isEmpty && rig.schedule.places.taken == 0)
        let figures = rig.schedule.figures(at: rig.now + .seconds(60))
        #expect(figures == HTTPClientFigures())
        #expect(rig.schedule.hosts.count <= 700)
    }
}
