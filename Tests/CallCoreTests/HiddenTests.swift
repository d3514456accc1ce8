import CallCore
import Testing

@Suite("A call that is hidden from its callee")
struct HiddenTests {
    @Test("A hidden call rings for its caller like any other call, and ends as unanswered")
    func forCaller() throws {
        var bench = try Bench(isHidden: true)
        #expect(bench.shown(.caller, bench.caller).count == 1)
        #expect(try bench.send(.ice, .caller, bench.caller).acknowledged?.isNew == true)
        #expect(try bench.letTimePass().ended?.reason == .unanswered)
        #expect(bench.endings(.caller, bench.caller) == [.unanswered])
    }

    @Test("No device of the callee takes part in a hidden call or sees an entry of it")
    func forCallee() throws {
        let b1 = try phone("b1")
        var bench = try Bench(isHidden: true)
        #expect(bench.session.side(of: try user("10")) == nil)
        #expect(bench.session.side(of: try user("11")) == .caller)
        #expect(bench.give(.notified(b1)) == [])
        try bench.send(.ice, .caller, bench.caller)
        try bench.send(.offer(offer(9)), .caller, bench.caller)
        try bench.send(.end(nil), .caller, bench.caller)
        #expect(bench.shown(.callee, b1).isEmpty)
        #expect(bench.session.legs.count == 1)
    }
}

@Suite("A request that names no device")
struct StandInTests {
    private let nameless = Phone(unnamed: TokenMark(rawValue: 77))

    @Test("A request without a device id acts for the caller's device if its token took no part in the call")
    func forCaller() throws {
        let bench = try Bench(callees: [try phone("b1")])
        #expect(bench.session.standIn(for: nameless, on: .caller) == bench.caller)
        let a2 = try phone("a2")
        #expect(bench.session.standIn(for: a2, on: .caller) == a2)
    }

    @Test("A request without a device id acts for its own device until the callee answers, and then for the winner")
    func forCallee() throws {
        let b1 = try phone("b1")
        var bench = try Bench(callees: [b1])
        #expect(bench.session.standIn(for: nameless, on: .callee) == nameless)
        try bench.send(.answer(digest: 2), .callee, b1)
        #expect(bench.session.standIn(for: nameless, on: .callee) == b1)
    }

    @Test("A request without a device id acts for its own device if the callee has another device without an id")
    func lost() throws {
        let (b1, row) = (try phone("b1"), try phone("d-1"))
        for other in [row, Phone(unnamed: TokenMark(rawValue: 78))] {
            let bench = try Bench.answered(by: b1, others: [other])
            #expect(bench.session.standIn(for: nameless, on: .callee) == nameless)
        }
        let winner = try Bench.answered(by: Phone(unnamed: TokenMark(rawValue: 79)))
        #expect(winner.session.standIn(for: nameless, on: .callee) == nameless)
    }

    @Test("A request without a device id acts for its token's device if that took part in the call")
    func tookPart() throws {
        let bench = try Bench.answered(by: try phone("b1"), others: [nameless])
        #expect(bench.session.standIn(for: nameless, on: .callee) == nameless)
    }

    @Test("If the caller has no device id, every connection of its user without one counts as the caller")
    func ofConnection() throws {
        let bench = try Bench(caller: nameless)
        #expect(try bench.session.isCaller(phone("c-9")))
        #expect(try !bench.session.isCaller(phone("iphone")))
        let named = try Bench()
        #expect(try !named.session.isCaller(phone("c-9")))
    }
}
