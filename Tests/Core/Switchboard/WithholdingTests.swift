import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Withholding decisions until they are durable")
struct WithholdingTests {
    /// A world whose server withholds its decisions, and whose store commits only by ``SwitchboardWorld/commit()``.
    private static func world() -> SwitchboardWorld {
        let world = SwitchboardWorld { $0.withholdsDecisions = true }
        world.holdsCommits = true
        return world
    }

    /// A call that was answered, with every change durable.
    private static func answered() throws -> Talk {
        let world = SwitchboardWorld { $0.withholdsDecisions = true }
        let talk = try Talk.answered(world)
        world.holdsCommits = true
        talk.clear()
        return talk
    }

    @Test("An offer reaches the callee only when it is durable, and the ack comes after it")
    func offer() throws {
        let talk = try Talk(Self.world())
        #expect(!talk.world.takeFrames(of: talk.callee).types.contains("offer"))
        #expect(!talk.world.takeFrames(of: talk.caller).types.contains("call"))
        talk.world.commit()
        #expect(talk.world.takeFrames(of: talk.callee).types == ["offer"])
        #expect(talk.world.takeFrames(of: talk.caller).types == ["call", "ack"])
    }

    @Test("A candidate is relayed at once, unless the call withholds an entry before it")
    func candidates() throws {
        let talk = try Self.answered()
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i1"))
        #expect(talk.world.takeFrames(of: talk.callee).types == ["ice"])
        talk.world.send(talk.caller, SwitchboardWorld.plain("connected", "c-1", id: "k"))
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i2"))
        #expect(talk.world.takeFrames(of: talk.callee).isEmpty)
        talk.world.commit()
        #expect(talk.world.takeFrames(of: talk.callee).types.suffix(1) == ["ice"])
    }

    @Test("Each withheld entry waits for its own commit")
    func ownCommit() throws {
        let talk = try Talk(Self.world())
        let first = try #require(talk.world.heldTickets.last)
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        talk.clear()
        talk.world.give(.stored(.committed(upTo: first)))
        #expect(talk.world.takeFrames(of: talk.callee).types == ["offer"])
        #expect(!talk.world.takeFrames(of: talk.caller).types.contains("answer"))
        talk.world.commit()
        #expect(talk.world.takeFrames(of: talk.caller).types.contains("answer"))
    }

    @Test("A withheld offer is shown to the devices that are connected when it is released")
    func lateDevice() throws {
        let talk = try Talk(Self.world())
        let second = try talk.world.open("10", "b2")
        #expect(!talk.world.takeFrames(of: second).types.contains("offer"))
        talk.world.commit()
        #expect(talk.world.takeFrames(of: second).types == ["offer"])
        #expect(talk.world.pings[second] == 1, "it is probed like the others")
    }

    @Test("A push is sent when the record of it is durable")
    func push() throws {
        let world = SwitchboardWorld { $0.withholdsDecisions = true }
        try world.register(try principal("10"), "b1")
        world.holdsCommits = true
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.pushes.isEmpty)
        // The first commit lets the call ring, the second one contains the record of the push.
        world.commit()
        #expect(world.pushes.isEmpty)
        world.commit()
        #expect(world.pushes.count == 1)
    }

    @Test("A push whose call ends before the record of it is durable is never sent")
    func takenBack() throws {
        let world = SwitchboardWorld { $0.withholdsDecisions = true }
        try world.register(try principal("10"), "b1")
        world.holdsCommits = true
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.commit()
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.commit()
        world.commit()
        #expect(world.pushes.isEmpty)
        #expect(world.cancelled.isEmpty, "the push service has never heard of it")
        #expect(world.events("push.cancelled").count == 1)
    }

    @Test("A push that waits goes to the push token that its device has registered meanwhile, when that is durable too")
    func replacedToken() throws {
        let world = SwitchboardWorld { $0.withholdsDecisions = true }
        try world.register(try principal("10"), "b1", voip: "aa")
        world.holdsCommits = true
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.commit()
        let record = try #require(world.heldTickets.last)
        // The store holds back the response to the registration.
        _ = try? world.register(try principal("10"), "b1", voip: "bb")
        world.give(.stored(.committed(upTo: record)))
        #expect(world.pushes.isEmpty)
        world.commit()
        #expect(world.pushes.map(\.route.token) == ["bb"])
        #expect(world.cancelled.isEmpty, "the push service has never heard of the first push")
        #expect(world.events("push.sent").count == 2)
        #expect(world.events("push.cancelled").count == 1)
        world.respondToPush(try #require(world.pushes.first), 200)
        world.commit()
        #expect(world.record("c-1")?.pushes.values.map(\.self) == [.accepted])
    }

    @Test("A push that waits is not ordered anew when its device registers the same push token again")
    func sameToken() throws {
        let world = SwitchboardWorld { $0.withholdsDecisions = true }
        try world.register(try principal("10"), "b1", voip: "aa")
        world.holdsCommits = true
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.commit()
        _ = try? world.register(try principal("10"), "b1", voip: "aa")
        world.commit()
        #expect(world.pushes.map(\.route.token) == ["aa"])
        #expect(world.events("push.sent").count == 1)
    }

    @Test("A fetch of a call that withholds entries is answered when they are durable, and then shows them")
    func fetch() throws {
        let talk = try Talk(Self.world())
        let request = try talk.world.fetch(try principal("10"), "c-1", device: "b1")
        #expect(talk.world.replies[request] == nil)
        talk.world.commit()
        let reply = try #require(talk.world.replies[request])
        #expect(reply.status == 200)
        #expect(String(decoding: reply.body, as: UTF8.self).contains(#""type":"offer""#))
    }

    @Test("A fetch that waits for a commit is refused when the store stalls")
    func stalled() throws {
        let talk = try Talk(Self.world())
        let request = try talk.world.fetch(try principal("10"), "c-1", device: "b1")
        talk.world.give(.stored(.stalled(StoreFailure("the disk is full"))))
        #expect(talk.world.replies[request]?.status == 503)
    }

    @Test("The fetch of a client that has left is not answered")
    func abandoned() throws {
        let talk = try Talk(Self.world())
        let request = try talk.world.fetch(try principal("10"), "c-1", device: "b1")
        talk.world.give(.abandoned(request))
        talk.world.commit()
        #expect(talk.world.replies[request] == nil)
    }

    @Test("The refusal of a second answer waits until the first answer is durable")
    func refusal() throws {
        let talk = try Talk(Self.world())
        let second = try talk.world.open("10", "b2")
        talk.world.commit()
        talk.clear()
        _ = talk.world.takeFrames(of: second)
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        talk.world.send(second, SwitchboardWorld.answer("c-1", id: "late", sdp: "v=0\\r\\ns=c\\r\\n"))
        #expect(talk.world.takeFrames(of: second).isEmpty)
        talk.world.commit()
        #expect(talk.world.takeFrames(of: second).contains { $0["code"] == "already_answered" })
    }

    @Test("A device that lost the call and connects while the call's end is withheld is told of its own end afterwards")
    func endOfLoser() throws {
        let world = SwitchboardWorld { $0.withholdsDecisions = true }
        let talk = try Talk(world)
        let second = try world.open("10", "b2")
        world.give(.closed(second))
        world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        world.holdsCommits = true
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let again = try world.open("10", "b2")
        #expect(!world.takeFrames(of: again).types.contains("call"))
        world.commit()
        #expect(world.takeFrames(of: again).contains { $0["reason"] == "answered_elsewhere" })
    }

    @Test("A device that connects while the end is withheld is told of the end when it is durable")
    func end() throws {
        let talk = try Self.answered()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let again = try talk.world.open("10", "b1")
        #expect(!talk.world.takeFrames(of: again).types.contains("call"))
        talk.world.commit()
        #expect(talk.world.takeFrames(of: again).types.contains("call"))
    }

    @Test("A device that connects when the call is over is told only its end, not what was withheld before it")
    func offerOfEndedCall() throws {
        let talk = try Self.answered()
        talk.world.send(talk.callee, SwitchboardWorld.offer("c-1", to: "11", id: "restart"))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.give(.closed(talk.caller))
        talk.world.wait(.milliseconds(1))
        let again = try talk.world.open("11", "a1")
        talk.clear()
        talk.world.commit()
        let types = talk.world.takeFrames(of: again).types
        #expect(!types.contains("offer"), "it would ring for a call that is over")
        #expect(types.contains("call"))
    }
}
