import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("A user's share of long polls and of storage")
struct QuotaTests {
    /// Returns the number of different arrays that the responses to these requests share.
    private func bodies(of requests: ArraySlice<RequestID>, in world: SwitchboardWorld) -> Int {
        Set(requests.map { world.replies[$0]?.body.withUnsafeBytes { $0.baseAddress } }).count
    }

    @Test("A user may have four long polls of a call, which share one body; a fifth is refused")
    func polls() throws {
        let talk = try Talk.answered()
        let world = talk.world
        let since = UInt64(100)
        let polls = try (0..<5).map { _ in
            try world.fetch(try principal("10"), "c-1", since: since, wait: 20, device: "b1")
        }
        #expect(polls[0..<4].allSatisfy { world.replies[$0] == nil })
        #expect(world.replies[polls[4]]?.status == 429)
        #expect(world.replies[polls[4]]?.retryAfterSeconds == 1)
        let others = try (0..<4).map { _ in
            try world.fetch(try principal("11"), "c-1", since: since, wait: 20, device: "a1")
        }
        #expect(others.allSatisfy { world.replies[$0] == nil }, "each user has a share")
        world.wait(21)
        #expect(polls[0..<4].allSatisfy { world.replies[$0]?.status == 200 })
        #expect(bodies(of: polls[0..<4] + others, in: world) == 2, "one body for each user")
        let next = try world.fetch(try principal("10"), "c-1", since: since, wait: 20, device: "b1")
        #expect(world.replies[next] == nil, "the four polls that ended no longer count")
        #expect(world.switchboard.metrics.limited[.polls] == 1)
    }

    @Test("A signal wakes all long polls of a user with one body")
    func oneBody() throws {
        let talk = try Talk.answered()
        let world = talk.world
        let since = try #require(world.takeFrames(of: talk.callee).map(\.seq).max())
        let polls = try (0..<4).map { _ in
            try world.fetch(try principal("10"), "c-1", since: since, wait: 20, device: "b1")
        }
        world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(polls.allSatisfy { world.replies[$0]?.text.contains(#""id":"i""#) == true })
        #expect(bodies(of: polls[...], in: world) == 1)
    }

    @Test("Stored bytes use up a user's quota; then only ends are accepted, until the quota refills")
    func quota() throws {
        let world = SwitchboardWorld { $0.storedBytesPerDay = 100_000 }
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(callee, SwitchboardWorld.answer("c-1"))
        _ = world.takeFrames(of: caller)
        let data = String(repeating: "x", count: 9_000)
        for number in 0..<12 {
            world.send(caller, SwitchboardWorld.plain("info", "c-1", id: "i\(number)", more: #","data":"\#(data)""#))
            world.pong(callee)
        }
        let frames = world.takeFrames(of: caller)
        #expect((8..<12).contains(frames.of("ack").count))
        #expect(frames.code == "rate_limited")
        let refused = try world.post(
            try principal("11"),
            #"{"callId":"c-2","action":"offer","to":"12","data":{"sdp":"v=0\r\n"}}"#
        )
        #expect(refused.status == 429)
        #expect(refused.retryAfterSeconds.map { $0 > 1 } == true)
        world.send(callee, SwitchboardWorld.ice("c-1", id: "theirs"))
        #expect(world.takeFrames(of: callee).of("error").isEmpty, "the other user has a share of their own")
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.takeFrames(of: caller).ack?["id"] == "e")
        world.wait(3_600 * 6)
        let later = try world.open("11", "a2")
        world.send(later, SwitchboardWorld.offer("c-3", to: "12"))
        #expect(world.takeFrames(of: later).ack != nil)
        #expect(world.switchboard.metrics.limited[.storedBytes] >= 2)
    }

    @Test("A user whose quota is used up takes, declines and ends calls, and sends nothing else")
    func usedUp() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(try world.open("13", "d1"), SwitchboardWorld.offer("c-2", to: "10"))
        for id in ["10", "11"] {
            world.switchboard.limits.quotas.spend(1 << 40, for: try user(id), at: world.now)
        }
        func isTaken(_ frame: String, from connection: SocketID) -> Bool {
            _ = world.takeFrames(of: connection)
            world.send(connection, frame)
            world.commit()
            return world.takeFrames(of: connection).of("error").isEmpty
        }
        #expect(isTaken(SwitchboardWorld.plain("ringing", "c-1", id: "r"), from: callee))
        #expect(isTaken(SwitchboardWorld.answer("c-1"), from: callee))
        #expect(world.record("c-1")?.answeredAt != nil)
        #expect(isTaken(SwitchboardWorld.answer("c-1"), from: callee), "it is sent again")
        #expect(!isTaken(SwitchboardWorld.ice("c-1", id: "i"), from: callee))
        #expect(!isTaken(SwitchboardWorld.plain("info", "c-1", id: "f", more: #","data":1"#), from: callee))
        #expect(!isTaken(SwitchboardWorld.offer("c-3", to: "12"), from: callee))
        let silenced = SwitchboardWorld.plain("ringing", "c-2", id: "s", more: #","shown":false,"why":"focus""#)
        #expect(isTaken(silenced, from: try world.open("10", "b2")))
        #expect(isTaken(SwitchboardWorld.plain("end", "c-2", id: "d"), from: callee))
        #expect(isTaken(SwitchboardWorld.plain("end", "c-1", id: "e"), from: caller))
        #expect(["c-1", "c-2"].map { world.record($0)?.reason } == [.hangup, .declined])
    }

    @Test("A user whose quota is used up confirms a schedule that rings", arguments: ["frame", "request", "answer"])
    func confirmation(_ how: String) throws {
        let rig = ScheduleRig()
        let phone = try rig.world.open("10", "phone")
        try rig.make(ScheduleRig.confirmed)
        #expect(try rig.ask(.ring(rig.id("s"))).status == 200)
        let call = try #require(rig.world.takeFrames(of: phone).of("offer").last?["callId"])
        rig.world.switchboard.limits.quotas.spend(1 << 40, for: try user("10"), at: rig.world.now)
        if how == "answer" { rig.world.send(phone, SwitchboardWorld.plain("answer", call, id: "a")) }
        if how == "request" {
            #expect(try rig.ask(.confirm(rig.id("s"))).status == 200)
        } else {
            rig.world.send(phone, #"{"type":"info","id":"i","callId":"\#(call)","confirm":true}"#)
        }
        #expect(rig.world.takeFrames(of: phone).of("error").isEmpty)
        #expect(rig.outcomes == ["confirmed"])
    }

    @Test("Other users that ring a user do not use up that user's quota of stored bytes")
    func victim() throws {
        let world = SwitchboardWorld { $0.storedBytesPerDay = 50_000 }
        try world.register(try principal("10"), "b1")
        for number in 0..<40 {
            let caller = try world.open("c\(number)", "a")
            world.send(
                caller,
                SwitchboardWorld.offer("c-\(number)", to: "10", sdp: "v=0\\r\\n" + String(repeating: "x", count: 4_000))
            )
        }
        let callee = try world.open("10", "b1")
        for _ in 0..<40 { world.pong(callee) }
        world.send(callee, SwitchboardWorld.answer("c-0"))
        #expect(world.takeFrames(of: callee).ack != nil)
    }
}
