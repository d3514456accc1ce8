import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("The delivery of events to an endpoint")
struct EventDeliveryTests {
    @Test("Events of a call are sent one after the other, those of others beside them, eight at once")
    func order() {
        var rig = EventRig()
        rig.append(1, 1, 2)
        #expect(rig.sent == ["1.1", "2.1"])
        rig.append(3, 4, 5, 6, 7, 8, 9)
        #expect(rig.requests.count == EventDelivery.requestsAtOnce)
        rig.respond(.accepted, call: 1)
        #expect(rig.sent.contains("9.1") && !rig.sent.contains("1.2"), "those that have waited longer come first")
        rig.acceptAll()
        #expect(rig.figures.delivered == 10 && rig.held.isEmpty)
        #expect(rig.bodies.count == 10)
    }

    @Test("An event that fails while others are accepted is held, later ones of its call behind it, and no other waits")
    func held() {
        var rig = EventRig()
        rig.append(1, 2, 1)
        rig.respond(.accepted, call: 2)
        rig.respond(.error, call: 1)
        #expect(rig.held.map(\.position.rawValue) == [1, 3])
        #expect(rig.held.map(\.attempts) == [1, 0] && rig.held[1].state == .behind)
        rig.append(1, 2)
        #expect(rig.sent == ["2.2"] && rig.held.count == 3)
        rig.respond(.accepted)
        rig.wait(.seconds(1))
        #expect(rig.row?.settledUpTo.rawValue == 5, "what is held is settled")
        rig.wait(.seconds(1))
        #expect(rig.sent == ["1.1"])
        var order: [String] = []
        while !rig.requests.isEmpty {
            order += rig.sent
            rig.respond(.accepted)
        }
        #expect(order == ["1.1", "1.2", "1.3"])
        #expect(rig.held.isEmpty)
        rig.append(1)
        #expect(rig.sent == ["1.4"])
    }

    @Test(
        "The attempts keep to the schedule, a fifth more or less; after three days the event is parked, with its call"
    )
    func schedule() {
        var rig = EventRig()
        rig.append(1, 2)
        rig.respond(.accepted, call: 2)
        rig.respond(.error)
        rig.append(1)
        var pauses: [Int64] = []
        var last = rig.now
        while rig.waitForDeadline() {
            guard !rig.requests.isEmpty else { continue }
            pauses.append((rig.now - last).milliseconds / 1_000)
            last = rig.now
            rig.respond(.error)
        }
        let planned: [Int64] = [1, 5, 30, 120, 600, 1_800, 7_200, 21_600, 43_200, 43_200]
        for (pause, plan) in zip(pauses, planned) { #expect(pause >= plan * 4 / 5 - 1 && pause <= plan * 6 / 5 + 1) }
        #expect(pauses.count >= planned.count && pauses.reduce(0, +) >= 3 * 24 * 3_600)
        #expect(rig.held.allSatisfy { $0.state == .parked } && rig.held.count == 2)
        #expect(rig.figures.parked == 2 && rig.row?.parkedCount == 2)
        rig.append(1)
        #expect(rig.requests.isEmpty && rig.figures.parked == 3)
        rig.input { #expect($0.resend(.parked(since: Moment(milliseconds: 0)), to: nil, at: $1, into: &$2) == 1) }
        #expect(rig.sent == ["1.1"])
        rig.acceptAll()
        #expect(rig.held.isEmpty && rig.figures.parked == 0 && rig.row?.parkedCount == 0)
    }

    @Test("Retry-After is obeyed")
    func retryAfter() {
        var rig = EventRig()
        rig.append(1, 2)
        rig.respond(.accepted, call: 2)
        rig.respond(.response(status: 429, retryAfter: .seconds(100)))
        rig.wait(.seconds(99))
        #expect(rig.requests.isEmpty)
        rig.wait(.seconds(1))
        #expect(rig.sent == ["1.1"])
        rig.respond(.response(status: 503, retryAfter: .seconds(1_000_000)))
        rig.wait(.seconds(12 * 3_600))
        #expect(rig.sent == ["1.1"], "not longer than twelve hours")
    }

    @Test("An endpoint that is down is probed, without a row for an event; one success brings it back, in order")
    func down() {
        var rig = EventRig()
        for call in 1...20 { rig.append(Int64(call), Int64(call)) }
        while !rig.requests.isEmpty { rig.respond(.unreachable("no route to host")) }
        #expect(rig.requests.isEmpty && rig.figures.isDown && rig.held.isEmpty)
        #expect(rig.notes == [.down(url: EventRig.url, .unreachable("no route to host"))])
        var probes = 0
        let end = rig.now + .seconds(3_600)
        while rig.now < end, rig.waitForDeadline() {
            #expect(rig.requests.count <= 1)
            probes += rig.requests.count
            rig.respond(.error)
        }
        #expect((90...160).contains(probes) && rig.held.isEmpty && rig.row?.settledUpTo == .start)
        rig.append(30)
        while rig.requests.isEmpty { rig.waitForDeadline() }
        rig.respond(.accepted)
        #expect(!rig.figures.isDown && rig.requests.count == EventDelivery.requestsAtOnce)
        rig.acceptAll()
        #expect(rig.figures.delivered == 41 && rig.held.isEmpty)
        #expect(rig.notes.count == 2)
    }

    @Test("A held event of an endpoint that is down is tried on when nothing else waits, and parked after three days")
    func heldWhileDown() {
        var rig = EventRig()
        for call in 1...2 { rig.append(Int64(call)) }
        rig.respond(.error)
        rig.respond(.accepted)
        #expect(rig.held.count == 1)
        for call in 3...6 { rig.append(Int64(call)) }
        let end = rig.now + .seconds(5 * 24 * 3_600)
        while !rig.requests.isEmpty { rig.respond(.error) }
        while rig.now < end, rig.waitForDeadline() {
            while !rig.requests.isEmpty { rig.respond(.error) }
        }
        #expect(rig.figures.isDown && rig.held.count == 5)
        #expect(rig.held.allSatisfy { $0.state == .parked })
    }

    @Test("What an endpoint that is down does not take for three days is parked, portion by portion")
    func downForLong() {
        var rig = EventRig()
        for call in 1...600 { rig.append(Int64(call)) }
        while !rig.requests.isEmpty { rig.respond(.error) }
        rig.now = rig.now + .seconds(3 * 24 * 3_600 - 600)
        let end = rig.now + .seconds(700)
        var largest = 0
        while rig.now < end, rig.deliveries.deadline != nil {
            let before = rig.figures.parked
            rig.waitForDeadline()
            rig.respond(.error)
            largest = max(largest, rig.figures.parked - before)
        }
        #expect(rig.figures.parked == 600 && largest <= DeliveryLimits().parked)
        #expect(rig.row?.settledUpTo.rawValue == 600)
    }

    @Test("410 stops the endpoint; nothing is sent until the operator demands it, and then nothing is missing")
    func gone() {
        var rig = EventRig()
        rig.append(1, 2, 1)
        rig.respond(.response(status: 410, retryAfter: nil), call: 1)
        #expect(rig.row?.stoppedAt == rig.now && rig.notes == [.stopped(url: EventRig.url)])
        rig.append(1, 3)
        rig.respond(.accepted, call: 2)
        rig.wait(.seconds(1_000))
        #expect(rig.requests.isEmpty && rig.figures.isStopped)
        rig.start()
        #expect(rig.requests.isEmpty && rig.deliveries.deadline == nil, "also after a restart")
        rig.input { #expect($0.resend(.parked(since: $1), to: EventRig.url, at: $1, into: &$2) == 1) }
        #expect(rig.sent.contains("1.1") && !rig.figures.isStopped && rig.row?.stoppedAt == nil)
        rig.acceptAll()
        rig.wait(.seconds(2))
        #expect(rig.row?.settledUpTo.rawValue == 5)
    }

    @Test("A result that comes twice, or for nothing, changes nothing")
    func twice() {
        var rig = EventRig()
        rig.append(1, 1)
        let id = rig.requests[0].request.id
        rig.respond(.accepted)
        rig.input { $0.responded(id, .accepted, at: $1, into: &$2) }
        rig.input { $0.responded(DeliveryID(rawValue: 99), .error, at: $1, into: &$2) }
        #expect(rig.sent == ["1.2"] && rig.figures.delivered == 1 && rig.figures.failed.isEmpty)
    }

    @Test("More events than the window holds wait in the store, and none is missing or sent twice")
    func backlog() {
        var rig = EventRig()
        for call in 0..<6_000 { rig.append(Int64(call / 3 + 1)) }
        #expect(rig.deliveries.deliveries[0].window.count == DeliveryLimits().window)
        var names: Set<String> = []
        while !rig.requests.isEmpty {
            names.insert(rig.sent[0])
            rig.respond(.accepted)
        }
        #expect(names.count == 6_000 && rig.figures.delivered == 6_000)
    }

    @Test("A position is stored once a second at most")
    func positions() {
        var rig = EventRig()
        rig.wait(.seconds(5))
        let before = rig.endpointRows
        for call in 1...100 {
            rig.append(Int64(call))
            rig.acceptAll()
            rig.wait(.milliseconds(10))
        }
        #expect(rig.endpointRows - before <= 2)
        rig.wait(.seconds(1))
        #expect(rig.row?.settledUpTo.rawValue == 100 && rig.deliveries.deadline == nil)
    }

    @Test("After a restart a call whose event is held is asked for before its next event is sent")
    func restart() {
        var rig = EventRig()
        rig.append(1, 2)
        rig.respond(.accepted, call: 2)
        rig.respond(.response(status: 400, retryAfter: .seconds(600)))
        rig.wait(.seconds(2))
        rig.makeDurable()
        rig.start()
        rig.append(1, 2, 3)
        #expect(rig.sent.sorted() == ["2.2", "3.1"])
        #expect(rig.held.map(\.state).last == .behind)
        rig.acceptAll()
        rig.wait(.seconds(600))
        #expect(rig.sent == ["1.1"])
    }

    @Test("A held event whose content was deleted is released, and the next one of its call is sent")
    func deleted() {
        var rig = EventRig()
        rig.append(1, 2, 1)
        rig.respond(.accepted, call: 2)
        rig.respond(.error)
        rig.store.commit([.eventsForgotten(upTo: EventPosition(rawValue: 1), keepsHeld: false)])
        rig.input { $0.forgotten(upTo: EventPosition(rawValue: 1), keepsHeld: false, at: $1, into: &$2) }
        #expect(rig.sent == ["1.2"])
        rig.acceptAll()
        #expect(rig.held.isEmpty)
    }

    @Test("A new endpoint begins after the newest event; one that is not configured any more is removed")
    func endpoints() {
        var stored = StoredEvents()
        stored.newest = EventPosition(rawValue: 7)
        stored.endpoints = [EventEndpoint(url: "https://old.example/", settledUpTo: EventPosition(rawValue: 3))]
        var effects: [EventDeliveries.Effect] = []
        let deliveries = EventDeliveries(
            endpoints: ["https://new.example/"],
            stored: stored,
            lastCall: CallNumber(rawValue: 9),
            at: Values.now,
            into: &effects
        )
        let row = EventEndpoint(url: "https://new.example/", settledUpTo: EventPosition(rawValue: 7))
        #expect(effects == [.store(.eventEndpointRemoved(url: "https://old.example/")), .store(.eventEndpoint(row))])
        #expect(deliveries.deadline == nil && deliveries.figures.map(\.waiting) == [0])
    }

    @Test("A failed read is repeated, and the events of a user keep their order")
    func reads() throws {
        var rig = EventRig()
        rig.append(1)
        rig.acceptAll()
        rig.answersAtOnce = false
        rig.start()
        rig.answerReads(.failed(StoreFailure("a fault")))
        rig.wait(.milliseconds(500))
        #expect(rig.reads.isEmpty)
        rig.wait(.milliseconds(500))
        #expect(!rig.reads.isEmpty)
        rig.answersAtOnce = true
        rig.answerReads()
        let user = try user("11")
        rig.append(of: user)
        rig.append(of: user)
        #expect(rig.requests.count(where: { $0.event.user == user }) == 1)
    }

    @Test("An event that was delivered is sent again when an operator names it; a held one with its earlier ones first")
    func resend() {
        var rig = EventRig()
        rig.append(1, 2, 1)
        rig.acceptAll()
        let first = EventPosition(rawValue: 1)
        rig.input { #expect($0.resend(.event(first), to: nil, at: $1, into: &$2) == 1) }
        #expect(rig.sent == ["1.1"])
        rig.append(1)
        #expect(rig.sent == ["1.1", "1.3"], "what is repeated keeps nothing back")
        rig.respond(.error)
        rig.acceptAll()
        rig.wait(.seconds(2))
        #expect(rig.sent == ["1.1"])
        rig.input { #expect($0.resend(.event(first), to: "https://other.example/", at: $1, into: &$2) == 0) }
    }

    @Test("A clock that is set back does not make an event wait longer than the longest pause")
    func clock() {
        var rig = EventRig()
        rig.now = rig.now + .seconds(400 * 24 * 3_600)
        rig.append(1, 2)
        rig.respond(.accepted, call: 2)
        rig.respond(.error)
        rig.now = rig.now - .seconds(400 * 24 * 3_600)
        rig.wait(.seconds(0))
        rig.wait(.seconds(16 * 3_600))
        #expect(!rig.requests.isEmpty)
    }
}
