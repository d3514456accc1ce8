import CallCore
import CallPorts
import CallTrace
import CallWire
import Testing

@testable import Switchboard

@Suite("At most one ringing call from one caller to one callee")
struct OneRingTests {
    @Test("A newer call replaces the ringing call, and both sides are sent the callId of the newer call")
    func replaced() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.pong(callee)
        _ = (world.takeFrames(of: caller), world.takeFrames(of: callee))
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        let (told, heard) = (world.takeFrames(of: caller), world.takeFrames(of: callee))
        #expect(told.states == ["ended replaced", "ringing"])
        #expect(told.of("call").first?["replacedBy"] == "c-2")
        #expect(told.ack?["callId"] == "c-2")
        // The end comes before the offer: a client that shows one call at a time then shows the new call.
        #expect(heard.types == ["call", "offer"])
        #expect(heard.states == ["ended replaced"])
        #expect(heard.first?["replacedBy"] == "c-2")
        #expect(heard.last?["callId"] == "c-2")
        let fetched = try world.fetched(try principal("11"), "c-1", device: "a1")
        #expect(fetched["state"] == "ended" && fetched["reason"] == "replaced" && fetched["replacedBy"] == "c-2")
        #expect(world.switchboard.countCalls()[.ringing] == 1)
        #expect(world.switchboard.metrics.callsEnded == [.replaced: 1])
    }

    @Test("A call of the caller's other device replaces the ringing call too, also under a generated callId")
    func otherDevice() throws {
        let world = SwitchboardWorld()
        let first = try world.open("11", "a1")
        world.send(first, SwitchboardWorld.offer("c-1", to: "10"))
        _ = world.takeFrames(of: first)
        let second = try world.open("11", "a2")
        world.send(second, #"{"type":"offer","id":"o","to":"10","sdp":"v=0\r\n"}"#)
        let made = try #require(world.takeFrames(of: second).ack?["callId"])
        #expect(world.takeFrames(of: first).of("call").last?["replacedBy"] == made)
    }

    @Test("Each newer call replaces the older call, whose pushes are cancelled")
    func pushes() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        let caller = try world.open("11", "a1")
        for number in 1...3 { world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)")) }
        #expect(world.pushes.count == 3)
        #expect(world.cancelled == world.pushes.dropLast().map(\.id))
    }

    @Test("A new ring does not replace an answered call of the same pair, nor a call with another user")
    func others() throws {
        let talk = try Talk.answered()
        let world = talk.world
        world.send(talk.caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        world.send(talk.caller, SwitchboardWorld.offer("c-3", to: "12", id: "o3"))
        world.send(try world.open("12", "c1"), SwitchboardWorld.offer("c-4", to: "10", id: "o4"))
        #expect(world.switchboard.countCalls() == [.ringing: 3, .answered: 1, .active: 0])
    }

    @Test("A call that a block hides is replaced too, because the caller must not notice the block")
    func hidden() throws {
        let world = SwitchboardWorld()
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        _ = (world.takeFrames(of: caller), world.takeFrames(of: callee))
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        #expect(world.takeFrames(of: caller).states == ["ended replaced", "ringing"])
        #expect(world.takeFrames(of: callee).isEmpty)
    }

    @Test("A resent offer of a replaced call gets its ack and does not ring")
    func again() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        _ = world.takeFrames(of: caller)
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takeFrames(of: caller).types == ["ack"])
        #expect(world.switchboard.countCalls()[.ringing] == 1)
    }

    @Test("The explanation of a replaced call names the call that replaced it")
    func explained() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10", id: "o2"))
        let record = try #require(world.record("c-1"))
        let text = Explanation(record: record, events: [], log: [], devices: [], at: world.now).text
        #expect(text.contains("The caller started again with call c-2 at +0.00 s."))
    }
}

@Suite("Several callers of one callee")
struct CrowdTests {
    private func ring(_ count: Int, in world: SwitchboardWorld) throws -> [SocketID] {
        try (0..<count).map { number in
            let caller = try world.open("c\(number)", "a")
            world.send(caller, SwitchboardWorld.offer("call-\(number)", to: "10"))
            return caller
        }
    }

    @Test("A sixth caller's call ends as busy without ringing, and only the callee's timeline gives the reason")
    func sixth() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        let callers = try ring(6, in: world)
        #expect(world.pushes.count == 5)
        let frames = world.takeFrames(of: callers[5])
        #expect(frames.states == ["ringing", "ended busy"])
        #expect(frames.ack?["reason"] == "busy")
        #expect(world.events("crowded").count == 1)
        #expect(world.switchboard.metrics.limited[.tooManyCallers] == 1)
        #expect(!(try world.reply(try principal("c5"), .calls(.timeline(try call("call-5")))).text.contains("crowded")))
        #expect(try world.reply(try principal("10"), .calls(.timeline(try call("call-5")))).text.contains("crowded"))
        // When one of the five cancels its call, another caller may ring.
        world.send(callers[0], SwitchboardWorld.plain("end", "call-0", id: "e"))
        world.send(callers[5], SwitchboardWorld.offer("call-6", to: "10", id: "o6"))
        #expect(world.takeFrames(of: callers[5]).states == ["ringing"])
    }

    @Test("A caller that rings again counts once, so each of the five callers may ring anew")
    func anew() throws {
        let world = SwitchboardWorld()
        let callers = try ring(5, in: world)
        _ = world.takeFrames(of: callers[0])
        world.send(callers[0], SwitchboardWorld.offer("anew", to: "10", id: "o2"))
        #expect(world.takeFrames(of: callers[0]).states == ["ended replaced", "ringing"])
    }

    @Test("Blocked callers do not count, and a blocked sixth caller sees an ordinary ring")
    func blocked() throws {
        let world = SwitchboardWorld()
        for number in 0..<5 { _ = try world.reply(try principal("10"), .blocks(.block(try user("c\(number)")))) }
        _ = try ring(5, in: world)
        let honest = try world.open("11", "a1")
        world.send(honest, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takeFrames(of: honest).states == ["ringing"])
        let full = SwitchboardWorld()
        _ = try ring(5, in: full)
        _ = try full.reply(try principal("10"), .blocks(.block(try user("11"))))
        let caller = try full.open("11", "a1")
        full.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(full.takeFrames(of: caller).states == ["ringing"])
    }

    @Test("The limit of five callers does not change how a glare is decided")
    func glare() throws {
        let world = SwitchboardWorld()
        _ = try ring(5, in: world)
        let (one, other) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(other, SwitchboardWorld.offer("b", to: "11"))
        world.send(one, SwitchboardWorld.offer("a", to: "10"))
        #expect(world.takeFrames(of: one).states == ["ringing", "ended glare"])
    }
}

@Suite("The limits on rings")
struct RingLimitTests {
    @Test("One caller may ring one callee six times a minute, and a refusal says after how many seconds to try again")
    func pair() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        let caller = try world.open("11", "a1")
        for number in 0..<30 {
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)"))
            world.send(caller, SwitchboardWorld.plain("end", "c-\(number)", id: "e\(number)"))
            world.wait(.milliseconds(73))
        }
        #expect(world.pushes.count == 6)
        let frames = world.takeFrames(of: caller)
        let refused = frames.of("error").filter { $0["code"] == "rate_limited" }
        #expect(refused.count == 24)
        #expect(refused.first?["retryAfter"] == "10")
        #expect(world.switchboard.metrics.limited[.ringsPerPair] == 24)
        #expect(try world.post(try principal("11"), Self.offer("rest")).retryAfterSeconds == 8)
        world.send(caller, SwitchboardWorld.offer("other", to: "12", id: "other"))
        #expect(world.takeFrames(of: caller).ack?["id"] == "other", "the caller may ring another user")
        world.wait(10)
        #expect(try world.post(try principal("11"), Self.offer("later")).status == 200)
    }

    private static func offer(_ callID: String) -> String {
        #"{"callId":"\#(callID)","action":"offer","to":"10","data":{"sdp":"v=0\r\n"}}"#
    }

    @Test("All callers together may ring one callee thirty times a minute")
    func callee() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        var refusals: [Frame] = []
        for number in 0..<40 {
            let caller = try world.open("c\(number)", "a")
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10"))
            world.send(caller, SwitchboardWorld.plain("end", "c-\(number)", id: "e"))
            refusals += world.takeFrames(of: caller).of("error").filter { $0["code"] == "rate_limited" }
        }
        #expect(world.pushes.count == 30)
        #expect(refusals.count == 10)
        #expect(refusals.allSatisfy { $0["retryAfter"] == "2" })
        #expect(world.switchboard.metrics.limited[.ringsPerCallee] == 10)
    }

    @Test("Rings under one callId count like any others; renegotiations and resends do not count")
    func sameName() throws {
        let world = SwitchboardWorld { $0.ringsPerPair = 2 }
        let talk = try Talk.answered(world)
        for number in 0..<5 {
            world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10"))
            world.send(
                talk.caller,
                SwitchboardWorld.offer("c-1", to: "10", id: "r\(number)", sdp: "v=0\\r\\ns=\(number)\\r\\n")
            )
        }
        #expect(world.takeFrames(of: talk.caller).of("error").isEmpty)
        for number in 0..<3 {
            world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e\(number)"))
            world.send(
                talk.caller,
                SwitchboardWorld.offer("c-1", to: "10", id: "n\(number)", sdp: "v=0\\r\\ns=n\(number)\\r\\n")
            )
        }
        #expect(world.takeFrames(of: talk.caller).of("error").filter { $0["code"] == "rate_limited" }.count == 2)
    }

    @Test("Each doubling of the number of refused rings is recorded in the last call that rang, for the callee only")
    func told() throws {
        let world = SwitchboardWorld { $0.ringsPerPair = 1 }
        let caller = try world.open("11", "a1")
        for number in 0..<21 { world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)")) }
        #expect(
            world.events("ring.refused")
                == [1, 2, 4, 8, 16].map { #""limit":"rings_per_pair","from":"11","count":\#($0)"# }
        )
        #expect(
            !(try world.reply(try principal("11"), .calls(.timeline(try call("c-0")))).text.contains("ring.refused"))
        )
        let shown = try world.reply(try principal("10"), .calls(.timeline(try call("c-0")))).text
        #expect(shown.contains(#""event":"ring.refused""#))
    }

    @Test("A blocked caller's rings do not count for the callee's limit, but above that limit they are refused too")
    func blocked() throws {
        let world = SwitchboardWorld { $0.ringsPerCallee = 3 }
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        let blocked = try world.open("11", "a1")
        for number in 0..<6 { world.send(blocked, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)")) }
        #expect(world.takeFrames(of: blocked).of("error").isEmpty)
        for number in 0..<4 {
            world.send(try world.open("c\(number)", "a"), SwitchboardWorld.offer("d-\(number)", to: "10"))
        }
        #expect(world.switchboard.metrics.limited[.ringsPerCallee] == 1)
        world.send(blocked, SwitchboardWorld.offer("c-9", to: "10", id: "o9"))
        #expect(world.takeFrames(of: blocked).code == "rate_limited", "otherwise the caller would notice the block")
        #expect(!world.events("ring.refused").contains { $0.contains(#""from":"11""#) && $0.contains("callee") })
    }

    @Test("A limit of 0 means no limit, and nothing is stored for it")
    func unlimited() throws {
        let world = SwitchboardWorld {
            $0.ringsPerPair = 0
            $0.ringsPerCallee = 0
        }
        let caller = try world.open("11", "a1")
        for number in 0..<30 { world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)")) }
        #expect(world.takeFrames(of: caller).of("error").isEmpty)
        #expect(world.switchboard.limits.rings.count == 0)
    }

    @Test("Rings are forgotten when they no longer count for a limit")
    func bounded() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        for number in 0..<20 {
            world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "b\(number)", id: "o\(number)"))
        }
        #expect(world.switchboard.limits.rings.count == 40)
        world.wait(180)
        #expect(world.switchboard.limits.rings.count == 0)
    }

    @Test("The explanation of a call names the rings that were refused after it")
    func explained() throws {
        let world = SwitchboardWorld { $0.ringsPerPair = 1 }
        let caller = try world.open("11", "a1")
        for number in 0..<5 { world.send(caller, SwitchboardWorld.offer("c-\(number)", to: "10", id: "o\(number)")) }
        let events = world.changes.compactMap { if case .event(_, let event) = $0 { event } else { nil } }
        let record = try #require(world.record("c-0"))
        let text = Explanation(record: record, events: events, log: [], devices: [], at: world.now).text
        #expect(text.contains("ring of 11 refused ×4"))
        #expect(text.contains("at least 4 more rings were refused, one of them from 11 at +0.00 s"))
        #expect(text.contains("--rings-per-pair"))
    }
}
