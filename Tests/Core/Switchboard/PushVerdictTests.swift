import CallCore
import CallPorts
import CallTrace
import Testing

@testable import Switchboard

@Suite("The verdict on pushes, and on devices that reacted to them")
struct PushVerdictTests {
    private func rung(
        _ world: SwitchboardWorld = SwitchboardWorld()
    ) throws -> (world: SwitchboardWorld, caller: SocketID, first: OutgoingPush) {
        try world.register(try principal("10"), "b1", voip: "b1b1")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        return (world, caller, try #require(world.takenPushes().first))
    }

    /// Explains a callId's newest call, or its call of one epoch, from the changes that these server runs stored.
    private func explain(_ callID: String, epoch: UInt32? = nil, _ worlds: SwitchboardWorld...) throws -> String {
        let changes = worlds.flatMap(\.changes)
        let records = changes.compactMap { if case .call(let record) = $0 { record } else { nil } }
        let record = try #require(
            records.last { $0.id.text == callID && (epoch == nil || $0.epoch == epoch) }
        )
        let events = changes.compactMap { change -> TimelineRecord? in
            if case .event(record.number, let event) = change { event } else { nil }
        }
        let log = changes.compactMap { change -> EntryRecord? in
            if case .entry(record.number, let entry) = change { entry } else { nil }
        }
        let now = try #require(worlds.last).now
        return Explanation(record: record, events: events, log: log, devices: [], at: now).text
    }

    @Test("A device that rang over its connection is reported, even if APNs refused its push")
    func refusedAndRang() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 503, "ServiceUnavailable")
        world.wait(.milliseconds(100))
        let b = try world.open("10", "b1")
        world.send(b, SwitchboardWorld.plain("ringing", "c-1", id: "r"))
        for _ in 0..<5 { world.pong(b); world.wait(10) }
        let text = try explain("c-1", world)
        #expect(text.contains("refused: 503"))
        #expect(text.contains("the device came back all the same at +0.10 s and rang."), "\(text)")
    }

    @Test("A device that connected is reported, even if the result of its push is unknown")
    func unknownAndCame() throws {
        let (world, _, _) = try rung()
        world.wait(.milliseconds(500))
        let b = try world.open("10", "b1")
        world.send(b, SwitchboardWorld.plain("ringing", "c-1", id: "r"))
        for _ in 0..<5 { world.pong(b); world.wait(10) }
        let text = try explain("c-1", world)
        let expected = "no response from APNs is recorded; the device came back all the same at +0.50 s and rang."
        #expect(text.contains(expected), "\(text)")
    }

    @Test("A push whose result was lost in a crash is not reported as cancelled")
    func notCancelled() throws {
        let (world, _, _) = try rung()
        let later = world.restarted(uncleanStarts: 1)
        let a = try later.open("11", "a1")
        later.send(a, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let text = try explain("c-1", world, later)
        #expect(text.contains("ended: cancelled"))
        #expect(!text.contains("cancelled before it was sent"), "\(text)")
    }

    @Test("The verdict says that a push was cancelled because of a revocation, not because the ring ended")
    func cancelledForRevocation() throws {
        let (world, _, push) = try rung()
        _ = try world.reply(try principal("10"), .credentials(.revokeTokens(nil)))
        #expect(world.cancelled == [push.id])
        world.give(.pushed(push.id, .cancelled))
        let text = try explain("c-1", world)
        #expect(text.contains("cancelled before it was sent, because 10 logged out everywhere."), "\(text)")
    }

    @Test("A device that reconnected after a dead connection and rang is reported")
    func deadConnectionCameBack() throws {
        let world = SwitchboardWorld()
        _ = try world.open("10", "b1")
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("c-1", to: "10"))
        world.wait(4)
        let b = try world.open("10", "b1")
        world.send(b, SwitchboardWorld.plain("ringing", "c-1", id: "r"))
        for _ in 0..<5 { world.pong(b); world.pong(a); world.wait(10) }
        let text = try explain("c-1", world)
        #expect(text.contains("(no answer to the ping by +2.00 s); it came back at +4.00 s and rang."), "\(text)")
    }

    @Test("If the callee began the call anew, the verdict does not say that the caller did")
    func calleeBeganAnew() throws {
        let talk = try Talk.answered()
        let anew = SwitchboardWorld.offer("c-1", to: "11", id: "n", sdp: "v=0\\r\\ns=n\\r\\n", more: #","begin":true"#)
        talk.world.send(talk.callee, anew)
        let text = try explain("c-1", epoch: 1, talk.world)
        #expect(text.contains("ended: replaced"))
        #expect(!text.contains("caller started again"), "\(text)")
    }

    @Test("A device that fetched the call before and after its push is not reported as missing")
    func fetchedBeforePush() throws {
        let (world, _, push) = try rung()
        world.respondToPush(push, 503)
        _ = try world.fetched(try principal("10"), "c-1", device: "b1")
        world.wait(.milliseconds(300))
        world.respondToPush(try #require(world.takenPushes().first), 200)
        world.wait(1)
        _ = try world.fetched(try principal("10"), "c-1", device: "b1")
        world.wait(40)
        let text = try explain("c-1", world)
        #expect(!text.contains("never came back") && !text.contains("has not come back"), "\(text)")
    }
}
