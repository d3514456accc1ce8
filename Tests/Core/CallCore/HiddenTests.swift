import CallCore
import Testing

@Suite("A call that is hidden from its callee")
struct HiddenTests {
    @Test("A hidden call rings for its caller like any other call, and ends as unanswered")
    func forCaller() throws {
        var bench = try CallBench(isHidden: true)
        #expect(bench.shown(.caller, bench.caller).count == 1)
        #expect(try bench.send(.ice, .caller, bench.caller).acknowledged?.isNew == true)
        #expect(try bench.letTimePass().ended?.reason == .unanswered)
        #expect(bench.endings(.caller, bench.caller) == [.unanswered])
    }

    @Test("No device of the callee takes part in a hidden call or sees an entry of it")
    func forCallee() throws {
        let b1 = try device("b1")
        var bench = try CallBench(isHidden: true)
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
struct ActingDeviceTests {
    private let nameless = DeviceIdentity(unnamed: TokenFingerprint(rawValue: 77))

    @Test("A request without a device id acts for the caller's device if its token took no part in the call")
    func forCaller() throws {
        let bench = try CallBench(callees: [try device("b1")])
        #expect(bench.session.actingDevice(for: nameless, on: .caller) == bench.caller)
        let a2 = try device("a2")
        #expect(bench.session.actingDevice(for: a2, on: .caller) == a2)
    }

    @Test("A request without a device id acts for its own device until the answer, and then for the answering device")
    func forCallee() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        #expect(bench.session.actingDevice(for: nameless, on: .callee) == nameless)
        try bench.send(.answer(digest: 2), .callee, b1)
        #expect(bench.session.actingDevice(for: nameless, on: .callee) == b1)
    }

    @Test("A request without a device id acts for its own device if the callee has another device without an id")
    func lost() throws {
        let (b1, row) = (try device("b1"), try device("d-1"))
        for other in [row, DeviceIdentity(unnamed: TokenFingerprint(rawValue: 78))] {
            let bench = try CallBench.answered(by: b1, others: [other])
            #expect(bench.session.actingDevice(for: nameless, on: .callee) == nameless)
        }
        let answered = try CallBench.answered(by: DeviceIdentity(unnamed: TokenFingerprint(rawValue: 79)))
        #expect(answered.session.actingDevice(for: nameless, on: .callee) == nameless)
    }

    @Test("A request without a device id acts for its token's device if that device took part in the call")
    func tookPart() throws {
        let bench = try CallBench.answered(by: try device("b1"), others: [nameless])
        #expect(bench.session.actingDevice(for: nameless, on: .callee) == nameless)
    }

    @Test("If the calling device has no id, every connection of its user without an id counts as the calling device")
    func ofConnection() throws {
        let bench = try CallBench(caller: nameless)
        #expect(try bench.session.isCaller(device("c-9")))
        #expect(try !bench.session.isCaller(device("iphone")))
        let named = try CallBench()
        #expect(try !named.session.isCaller(device("c-9")))
    }
}
