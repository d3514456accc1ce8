import CallClient
import CallCore
import SeededRandom
import Testing

/// A reconnection with a clock, a socket that answers by hand, and chances that the test chooses.
private struct Bench {
    var reconnection = Reconnection()
    var now = Moment(milliseconds: 1_000_000_000)
    var chance = 0.999_999

    @discardableResult
    mutating func take(_ input: Reconnection.Input) -> [Reconnection.Output] {
        reconnection.handle(input, at: now, chance: chance)
    }

    /// Advances the clock, and hands in the deadline if it comes within that time.
    @discardableResult
    mutating func wait(_ milliseconds: Int64) -> [Reconnection.Output] {
        let end = now + .milliseconds(milliseconds)
        var outputs: [Reconnection.Output] = []
        var turns = 0
        while let deadline = reconnection.deadline, deadline <= end, turns < 1_000 {
            turns += 1
            now = max(now, deadline)
            outputs += take(.deadlineReached)
        }
        now = end
        return outputs
    }

    /// Lets attempts fail at once, and returns the milliseconds that pass before each next one.
    mutating func pauses(_ count: Int) -> [Int64] {
        (0..<count).map { _ in
            if let current = reconnection.current { take(.closed(current)) }
            let before = now
            guard let deadline = reconnection.deadline else { return -1 }
            now = deadline
            take(.deadlineReached)
            return (now - before).milliseconds
        }
    }

    /// A bench whose connection is open, and has been for that time.
    static func open(for milliseconds: Int64 = 60_000) -> Bench {
        var bench = Bench()
        bench.take(.wanted(isUrgent: false))
        bench.take(.opened(number(1)))
        bench.wait(milliseconds)
        return bench
    }
}

private func number(_ value: UInt64) -> ConnectionNumber { ConnectionNumber(rawValue: value) }

@Suite("A device that lost its connection")
struct ReconnectionTests {
    @Test("The first attempt begins at once, and none begins before a connection is wanted")
    func first() {
        var bench = Bench()
        #expect(bench.take(.pathChanged).isEmpty && bench.reconnection.deadline == nil)
        #expect(bench.take(.wanted(isUrgent: false)) == [.open(number(1))])
        #expect(bench.take(.wanted(isUrgent: true)).isEmpty, "one attempt at a time")
        #expect(bench.take(.opened(number(1))) == [.connectionOpened])
        #expect(bench.reconnection.deadline == nil)
    }

    @Test("The longest pause doubles from 0.25 s to 8 s, and stays there")
    func doubles() {
        var bench = Bench()
        bench.take(.wanted(isUrgent: false))
        #expect(bench.pauses(8) == [249, 499, 999, 1_999, 3_999, 7_999, 7_999, 7_999])
    }

    @Test("The pause is the chance's share of the longest pause, and no wrong chance makes it longer")
    func jitter() {
        var lucky = Bench.open()
        lucky.chance = 0
        #expect(lucky.take(.closed(number(1))) == [.connectionClosed, .open(number(2))])
        for (chance, pause) in [(0.004, 1), (0.5, 125), (1.0, 250), (7.5, 250), (-1, 250), (.nan, 250)] {
            var bench = Bench()
            bench.take(.wanted(isUrgent: false))
            bench.chance = chance
            #expect(bench.pauses(1) == [Int64(pause)], "\(chance)")
        }
    }

    @Test("A server that is down is not tried 25 times a second")
    func isGentle() {
        var bench = Bench()
        bench.chance = 0.5
        bench.take(.wanted(isUrgent: false))
        var attempts = 0
        let end = bench.now + .seconds(60)
        while bench.now < end {
            // What the core says after each close changes nothing.
            if let current = bench.reconnection.current { bench.take(.closed(current)) }
            bench.take(.wanted(isUrgent: false))
            bench.now = bench.now + .milliseconds(10)
            attempts += bench.take(.deadlineReached).count
        }
        #expect((10...25).contains(attempts), "\(attempts) attempts in a minute")
    }

    @Test("A user's call, an answer and a push end the pause at once; the core's other wishes do not")
    func urgent() {
        var bench = Bench()
        bench.take(.wanted(isUrgent: false))
        _ = bench.pauses(6)
        bench.take(.closed(number(7)))
        #expect(bench.take(.wanted(isUrgent: false)).isEmpty)
        #expect(bench.take(.wanted(isUrgent: true)) == [.open(number(8))])
        #expect(bench.pauses(2) == [249, 499], "the pauses begin with the shortest again")
        var client = ClientBench(isOpen: false)
        #expect(CallClient.Input.pushed([:]).isUrgent && CallClient.Input.answer(ClientBench.uuid()).isUrgent)
        #expect(client.start().contains(.connect))
        #expect(!CallClient.Input.connectionClosed.isUrgent && !CallClient.Input.deadlineReached.isUrgent)
    }

    @Test("After a change of path the device connects at once, and the socket on the old path is not waited for")
    func path() {
        var bench = Bench.open()
        #expect(bench.take(.pathChanged) == [.connectionClosed, .giveUp(number(1)), .open(number(2))])
        #expect(bench.take(.opened(number(2))) == [.connectionOpened])
        // The old socket's close comes late, or never.
        #expect(bench.take(.closed(number(1))).isEmpty && bench.reconnection.current == number(2))
        bench.take(.closed(number(2)))
        _ = bench.pauses(5)
        bench.take(.closed(number(bench.reconnection.current?.rawValue ?? 0)))
        #expect(bench.take(.pathChanged).count == 1, "a pause ends, too")
    }

    @Test("A socket that does not open within ten seconds is given up, and what it reports later is ignored")
    func timeout() {
        var bench = Bench()
        bench.take(.wanted(isUrgent: false))
        #expect(bench.wait(9_999).isEmpty)
        #expect(bench.wait(1) == [.giveUp(number(1))])
        #expect(bench.wait(250) == [.open(number(2))])
        #expect(bench.take(.opened(number(1))).isEmpty)
        #expect(bench.take(.closed(number(1))).isEmpty)
        #expect(bench.take(.opened(number(2))) == [.connectionOpened])
    }

    @Test("An app that was suspended while it connected gives that attempt up when a push wakes it, and begins another")
    func suspended() {
        var bench = Bench()
        bench.take(.wanted(isUrgent: false))
        bench.now = bench.now + .seconds(3_600)
        #expect(bench.take(.wanted(isUrgent: true)) == [.giveUp(number(1)), .open(number(2))])
    }

    @Test("No attempt begins before the moment that a server which shuts down names, not even for a call or a path")
    func draining() {
        for input in [Reconnection.Input.wanted(isUrgent: true), .pathChanged, .deadlineReached] {
            var bench = Bench.open()
            bench.take(.draining(.milliseconds(1_700)))
            #expect(bench.take(.closed(number(1))) == [.connectionClosed])
            #expect(bench.reconnection.deadline == bench.now + .milliseconds(1_700))
            bench.now = bench.now + .milliseconds(1_699)
            #expect(bench.take(input).isEmpty)
            #expect(bench.wait(1) == [.open(number(2))])
            #expect(bench.reconnection.reconnectAt == nil)
        }
    }

    @Test("The close itself may name the moment, and a wrong or very long delay does not keep a device away")
    func closeReason() {
        var bench = Bench.open()
        let reason = "the server is shutting down; reconnectAfterMs=900"
        bench.take(.closed(number(1), reconnectAfter: Reconnection.pause(inCloseReason: reason)))
        #expect(bench.wait(899).isEmpty && bench.wait(1) == [.open(number(2))])
        for text in ["", "bye", "reconnectAfterMs=", "reconnectAfterMs=-5", "reconnectAfterMs=1x"] {
            #expect(Reconnection.pause(inCloseReason: text) == nil, "\(text)")
        }
        bench = Bench.open()
        bench.take(.draining(.seconds(86_400)))
        bench.take(.draining(.milliseconds(-1)))
        bench.take(.closed(number(1)))
        #expect(bench.reconnection.deadline == bench.now + ClientLimits.longestReconnectDelay)
    }

    @Test("A connection that lasted makes the pauses short again; one that the server drops at once does not")
    func lasting() {
        var bench = Bench()
        bench.take(.wanted(isUrgent: false))
        _ = bench.pauses(4)
        bench.take(.opened(number(5)))
        bench.now = bench.now + .milliseconds(50)
        #expect(bench.pauses(1) == [3_999])
        bench.take(.opened(number(6)))
        bench.now = bench.now + ClientLimits.steadyConnection
        #expect(bench.pauses(1) == [249])
    }

    @Test("A connection that is not wanted any more is closed, and none is opened until one is wanted")
    func unwanted() {
        var bench = Bench.open()
        #expect(bench.take(.unwanted) == [.connectionClosed, .giveUp(number(1))])
        #expect(bench.reconnection.deadline == nil && bench.take(.pathChanged).isEmpty)
        #expect(bench.take(.wanted(isUrgent: false)) == [.open(number(2))])
        // A pause does not end because the user leaves the app and comes back.
        bench.take(.closed(number(2)))
        bench.take(.unwanted)
        #expect(bench.take(.wanted(isUrgent: false)).isEmpty && bench.wait(250) == [.open(number(3))])
    }

    @Test("A clock that is set back by a day keeps no device away")
    func clock() {
        var bench = Bench.open()
        bench.take(.draining(.milliseconds(1_700)))
        bench.take(.closed(number(1)))
        bench.now = bench.now + .seconds(-86_400)
        bench.take(.deadlineReached)
        #expect(bench.wait(60_000).contains(.open(number(2))))
    }

    @Test("Whatever happens, there is one attempt at a time, numbers grow, and the core hears of each connection's end")
    func random() {
        for seed in 0..<300 {
            var generator = SeededGenerator(mixing: UInt64(seed))
            var reconnection = Reconnection()
            var now = Moment(milliseconds: 1_000_000)
            var last: UInt64 = 0
            var isOpen = false
            var inUse: ConnectionNumber?
            for _ in 0..<200 {
                now = now + .milliseconds(Int64.random(in: 0...4_000, using: &generator))
                let any = number(UInt64.random(in: last / 2...last + 1, using: &generator))
                let input: Reconnection.Input =
                    switch Int.random(in: 0..<9, using: &generator) {
                    case 0: .wanted(isUrgent: Bool.random(using: &generator))
                    case 1: .unwanted
                    case 2: .pathChanged
                    case 3, 4: .opened(any)
                    case 5: .closed(any)
                    case 6: .closed(any, reconnectAfter: .seconds(3))
                    case 7: .draining(.seconds(2))
                    default: .deadlineReached
                    }
                let notBefore = reconnection.reconnectAt
                if case .closed(let number, _) = input, number == inUse { inUse = nil }
                for output in reconnection.handle(
                    input,
                    at: now,
                    chance: Double.random(in: 0..<1, using: &generator)
                ) {
                    switch output {
                    case .open(let number):
                        #expect(inUse == nil && !isOpen && number.rawValue == last + 1)
                        #expect(notBefore.map { now >= $0 } ?? true)
                        (last, inUse) = (number.rawValue, number)
                    case .giveUp(let number):
                        #expect(number == inUse)
                        inUse = nil
                    case .connectionOpened:
                        #expect(!isOpen && inUse != nil)
                        isOpen = true
                    case .connectionClosed:
                        #expect(isOpen)
                        isOpen = false
                    }
                }
                #expect(reconnection.current == inUse)
                if let deadline = reconnection.deadline { #expect(deadline > now && deadline <= now + .seconds(60)) }
            }
        }
    }
}
