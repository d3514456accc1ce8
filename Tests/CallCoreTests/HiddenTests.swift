import CallCore
import Testing

@Suite("A call that is hidden from its callee")
struct HiddenTests {
    @Test("rings for its caller as any other and ends unanswered")
    func forCaller() throws {
        var bench = try Bench(isHidden: true)
        #expect(bench.shown(.caller, bench.caller).count == 1)
        #expect(try bench.send(.ice, .caller, bench.caller).acknowledged?.isNew == true)
        #expect(try bench.letTimePass().ended?.reason == .unanswered)
        #expect(bench.endings(.caller, bench.caller) == [.unanswered])
    }

    @Test("has no callee: nobody is shown anything, rung, or owed news")
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

    @Test("acts for the caller's device, if its token took no part")
    func forCaller() throws {
        let bench = try Bench(callees: [try phone("b1")])
        #expect(bench.session.standIn(for: nameless, on: .caller) == bench.caller)
        #expect(try bench.session.standIn(for: try phone("a2"), on: .caller) == (try phone("a2")))
    }

    @Test("acts for itself while the call rings, and for the callee's device that is in the call then")
    func forCallee() throws {
        let b1 = try phone("b1")
        var bench = try Bench(callees: [b1])
        #expect(bench.session.standIn(for: nameless, on: .callee) == nameless)
        try bench.send(.answer(digest: 2), .callee, b1)
        #expect(bench.session.standIn(for: nameless, on: .callee) == b1)
    }

    @Test("has lost the call where the callee has other phones without a name")
    func lost() throws {
        let (b1, row) = (try phone("b1"), try phone("d-1"))
        for other in [row, Phone(unnamed: TokenMark(rawValue: 78))] {
            let bench = try Bench.answered(by: b1, others: [other])
            #expect(bench.session.standIn(for: nameless, on: .callee) == nameless)
        }
        let winner = try Bench.answered(by: Phone(unnamed: TokenMark(rawValue: 79)))
        #expect(winner.session.standIn(for: nameless, on: .callee) == nameless)
    }

    @Test("is a leg itself where its token took part")
    func tookPart() throws {
        let bench = try Bench.answered(by: try phone("b1"), others: [nameless])
        #expect(bench.session.standIn(for: nameless, on: .callee) == nameless)
    }

    @Test("calls together with the connections of its user that have no name either")
    func ofConnection() throws {
        let bench = try Bench(caller: nameless)
        #expect(try bench.session.isCaller(phone("c-9")))
        #expect(try !bench.session.isCaller(phone("iphone")))
        let named = try Bench()
        #expect(try !named.session.isCaller(phone("c-9")))
    }
}
