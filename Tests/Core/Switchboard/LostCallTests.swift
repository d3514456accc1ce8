import CallClient
import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

/// Two client cores and a server that loses its uncommitted changes in a crash.
@Suite("A call lost in a crash, and later calls under its callId")
struct LostCallTests {
    /// A rig in which 11 (`a`) and 10 (`b`) are connected, with the stored state that a crash will leave.
    ///
    /// With `older`, an earlier call under the callId has ended and is durable.
    private func rig(older: Bool) throws -> (ClientRig, ClientRig.Device, ClientRig.Device, StoredState) {
        let rig = ClientRig()
        let a = rig.add(try ClientRig.Device("11", "a1", prefix: "a"))
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(a)
        try rig.open(b)
        if older {
            let first = try rig.call(a, to: "10", uuid: 1)
            #expect(b.phase == .ringing)
            try rig.feed(a, .end(first))
            try rig.deliver()
            #expect(b.live.isEmpty && a.live.isEmpty)
            try rig.advance(20)
        }
        // From here on commits are held back: signals are relayed, but not stored.
        let state = rig.world.kept.state(uncleanStarts: 1)
        rig.world.holdsCommits = true
        return (rig, a, b, state)
    }

    private func talk(_ rig: ClientRig, _ a: ClientRig.Device, _ b: ClientRig.Device) throws {
        let uuid = try rig.call(a, to: "10", uuid: 2)
        let ringing = try #require(b.live.last)
        try rig.feed(b, .answer(ringing.uuid))
        try rig.deliver()
        try rig.feed(a, .mediaConnected(uuid))
        try rig.feed(b, .mediaConnected(ringing.uuid))
        try rig.deliver()
        #expect(a.phase == .active && b.phase == .active)
    }

    @Test("A lost answered call continues, whichever side reconnects first", arguments: [false, true], [false, true])
    func answered(older: Bool, calleeFirst: Bool) throws {
        let (rig, a, b, state) = try rig(older: older)
        try talk(rig, a, b)
        try rig.crash(to: state)
        try rig.open(calleeFirst ? b : a)
        try rig.advance(0.5)
        try rig.open(calleeFirst ? a : b)
        try rig.advance(120)
        #expect(a.phase == .active && b.phase == .active, "\(String(describing: a.client.calls.last?.phase))")
    }

    @Test("A lost call that was declined has ended for its caller", arguments: [false, true])
    func declined(older: Bool) throws {
        let (rig, a, b, state) = try rig(older: older)
        // The caller's connection closes before the decline arrives.
        try rig.call(a, to: "10", uuid: 2)
        try rig.close(a)
        let ringing = try #require(b.live.last)
        try rig.feed(b, .end(ringing.uuid, .declined))
        try rig.deliver()
        try rig.crash(to: state)
        try rig.open(b)
        try rig.advance(0.5)
        try rig.open(a)
        try rig.advance(10)
        #expect(a.live.isEmpty, "the caller hears ringing although nothing rings at the callee")
    }

    @Test("A lost call that its caller hung up during the outage ends for the callee", arguments: [false, true])
    func hungUp(older: Bool) throws {
        let (rig, a, b, state) = try rig(older: older)
        try talk(rig, a, b)
        try rig.crash(to: state)
        try rig.feed(a, .end(try #require(a.live.last).uuid))
        try rig.open(b)
        try rig.open(a)
        try rig.advance(900)
        #expect(b.live.isEmpty, "a quarter of an hour later it is still \(String(describing: b.phase))")
    }

    @Test(
        "An app that was killed while its call rang replaces that call when it calls again",
        arguments: [false, true]
    )
    func redial(isOpen: Bool) throws {
        let (rig, a, b, _) = try rig(older: false)
        rig.world.holdsCommits = false
        try rig.call(a, to: "10", uuid: 2)
        #expect(b.phase == .ringing)
        rig.world.give(.closed(try #require(a.connection)))
        rig.devices.removeFirst()
        let again = rig.add(try ClientRig.Device("11", "a1", prefix: "again"))
        if isOpen { try rig.open(again) }
        try rig.call(again, to: "10", uuid: 3)
        if !isOpen { try rig.open(again) }
        try rig.advance(3)
        #expect(
            again.phase == .calling || again.live.count == 1,
            "\(String(describing: again.client.calls.map(\.phase)))"
        )
        #expect(b.live.count == 1)
    }

    @Test("A new call rings under the epoch of a lost declined call", arguments: [false, true], [5.0, 30, 600])
    func epochAgain(older: Bool, after seconds: Double) throws {
        let (rig, before, b, state) = try rig(older: older)
        try rig.call(before, to: "10", uuid: 2)
        try rig.feed(b, .end(try #require(b.live.last).uuid, .declined))
        try rig.deliver()
        #expect(before.live.isEmpty && b.live.isEmpty)
        try rig.crash(to: state)
        // This is another launch of the caller's app, which knows nothing of the lost call. `redialAfterCrash` tests
        // an app that keeps running.
        rig.devices.removeFirst()
        let a = rig.add(try ClientRig.Device("11", "a1", prefix: "again"))
        try rig.open(a)
        try rig.open(b)
        try rig.advance(seconds)
        try redialRings(rig, a, b)
    }

    @Test("A call in the other direction under the callId and epoch of a lost call is answered")
    func bothUseTheName() throws {
        let rig = ClientRig()
        let a = rig.add(try ClientRig.Device("11", "a1", prefix: "a"))
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(a)
        let state = rig.world.kept.state(uncleanStarts: 1)
        rig.world.holdsCommits = true
        try rig.call(a, to: "10", uuid: 2)
        #expect(a.client.calls.last?.epoch == 1)
        try rig.crash(to: state)
        try rig.open(b)
        try rig.call(b, to: "11", uuid: 3)
        try rig.open(a)
        try rig.advance(5)
        #expect(
            a.phase == .connecting && b.phase == .connecting,
            "\(String(describing: a.phase)) \(String(describing: b.phase))"
        )
    }

    @Test("A device does not end its new call that has a lost call's epoch", arguments: [false, true], [5.0, 100])
    func redialAfterCrash(older: Bool, after seconds: Double) throws {
        let (rig, a, b, state) = try rig(older: older)
        try rig.call(a, to: "10", uuid: 2)
        try rig.feed(b, .end(try #require(b.live.last).uuid, .declined))
        try rig.deliver()
        #expect(a.live.isEmpty && b.live.isEmpty)
        try rig.crash(to: state)
        try rig.open(a)
        try rig.open(b)
        try rig.advance(seconds)
        try rig.call(a, to: "10", uuid: 3)
        try rig.advance(1)
        #expect(a.phase == .calling, "\(String(describing: a.client.calls.last?.phase))")
    }

    @Test("A call that both users hung up during a long or short outage is over afterwards", arguments: [100.0, 200])
    func hungUpInAnOutage(seconds: Double) throws {
        let rig = ClientRig()
        let a = rig.add(try ClientRig.Device("11", "a1", prefix: "a"))
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(a)
        try rig.open(b)
        try talk(rig, a, b)
        try rig.outage(seconds) {
            try rig.feed(a, .end(try #require(a.live.last).uuid))
            try rig.feed(b, .mediaFailed(try #require(b.live.last).uuid))
        }
        try rig.open(a)
        try rig.open(b)
        try rig.advance(600)
        #expect(a.live.isEmpty && b.live.isEmpty)
        #expect(rig.world.switchboard.calls.liveCount == 0, "it lives on with nobody in it")
    }

    @Test("A signal for a lost call's epoch is refused as not_found, and the call can be restored under that epoch")
    func lostEpoch() throws {
        let world = SwitchboardWorld()
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("11-10", to: "10", id: "p-1", more: #","begin":true"#))
        world.send(a, SwitchboardWorld.plain("end", "11-10", id: "p-2"))
        // Assume that the crash lost later epochs, which were relayed but never committed.
        let stored = world.kept.state(uncleanStarts: 1)
        let again = SwitchboardWorld(stored: stored, after: world.kept, at: world.now + .seconds(30))
        let b = try again.open("10", "b1")
        _ = again.takeFrames(of: b)
        again.send(
            b,
            SwitchboardWorld.plain("answer", "11-10", id: "x-2", more: #","sdp":"v=0\r\ns=b\r\n","to":"11","epoch":2"#)
        )
        let code = again.takeFrames(of: b).code
        let back = try again.open("11", "a1")
        again.send(back, SwitchboardWorld.offer("11-10", to: "10", id: "p-3", more: #","begin":true"#))
        #expect(again.takeFrames(of: back).ack?["epoch"] == "2", "the lost call is back under its epoch")
        #expect(again.takeFrames(of: b).of("offer").count == 1)
        #expect(code == "not_found")
    }

    @Test("An app that was killed while its call rang calls again; the end of its old call does not end the new call")
    func redialWhileItRings() throws {
        let world = SwitchboardWorld()
        let b = try world.open("10", "b1")
        let before = try world.open("11", "a1")
        world.send(before, SwitchboardWorld.offer("11-10", to: "10", id: "p-1", more: #","begin":true"#))
        world.give(.closed(before))
        let again = try world.open("11", "a1")
        // The new launch of the app sends its offer as soon as its connection opens, before it has received the replay
        // of the old call.
        world.send(
            again,
            SwitchboardWorld.offer("11-10", to: "10", id: "q-1", sdp: "v=0\\r\\ns=new\\r\\n", more: #","begin":true"#)
        )
        let replayed = world.takeFrames(of: again)
        #expect(replayed.of("call").first?["offerId"] == "p-1" && replayed.of("call").first?["epoch"] == "1")
        // The client core ends the call of its earlier launch (`orphanOfTheSameNameUnderWay` in CallClientTests).
        world.send(
            again,
            SwitchboardWorld.plain("end", "11-10", id: "q-2", more: #","to":"10","epoch":1,"reason":"failed""#)
        )
        _ = world.takeFrames(of: b)
        #expect(try world.fetched(try principal("10"), "11-10", device: "b1")["state"] == "ringing")
        #expect(replayed.ack?["epoch"] == "2")
    }

    /// Checks that a new call rings at the callee.
    ///
    /// The callee has a live connection and is not pushed, so the offer itself must ring.
    private func redialRings(_ rig: ClientRig, _ caller: ClientRig.Device, _ callee: ClientRig.Device) throws {
        let before = reports(callee)
        try rig.call(caller, to: "10", uuid: 3)
        try rig.advance(5)
        #expect(caller.phase == .calling)
        #expect(reports(callee) == before + 1)
    }

    private func reports(_ device: ClientRig.Device) -> Int {
        device.outputs.count { if case .reportIncoming = $0 { true } else { false } }
    }

    @Test("A lost call keeps ringing when its caller reconnects seconds later", arguments: [false, true], [5.0, 20])
    func ringsOn(older: Bool, after seconds: Double) throws {
        let rig = ClientRig()
        let a = rig.add(try ClientRig.Device("11", "a1", prefix: "a"))
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(a)
        try rig.open(b)
        if older {
            let first = try rig.call(a, to: "10", uuid: 1)
            try rig.feed(a, .end(first))
            try rig.deliver()
            try rig.advance(20)
        }
        let state = rig.world.kept.state(uncleanStarts: 1)
        rig.world.holdsCommits = true
        try rig.call(a, to: "10", uuid: 2)
        #expect(b.phase == .ringing)
        try rig.crash(to: state)
        try rig.open(b)
        try rig.advance(seconds)
        try rig.open(a)
        try rig.advance(2)
        #expect(a.phase == .calling)
        #expect(b.phase == .ringing, "\(String(describing: b.client.calls.last?.phase))")
        #expect(rig.world.switchboard.calls.liveCount == 1)
    }

    @Test("A lost declined call does not ring again, even from a device with a new id", arguments: [true, false])
    func declinedUnnamed(named: Bool) throws {
        let rig = ClientRig()
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(b)
        let state = rig.world.kept.state(uncleanStarts: 1)
        rig.world.holdsCommits = true
        let name = named ? "a1" : nil
        let offer = SwitchboardWorld.offer("c-7", to: "10", id: "o-1", sdp: "v=0\\r\\ns=a\\r\\n")
        let a = rig.world.connect(try principal("11"), device: name)
        rig.world.send(a, offer)
        try rig.deliver()
        #expect(b.phase == .ringing)
        rig.world.give(.closed(a))
        try rig.feed(b, .end(try #require(b.live.last).uuid, .declined))
        try rig.deliver()
        #expect(b.live.isEmpty)
        let before = reports(b)
        try rig.crash(to: state)
        try rig.open(b)
        try rig.advance(0.5)
        // The server of a test draws the same random numbers again, so another connection takes the first generated id.
        if !named { _ = rig.world.connect(try principal("12"), device: nil) }
        let again = rig.world.connect(try principal("11"), device: name)
        rig.world.send(again, offer)
        try rig.deliver()
        try rig.advance(5)
        #expect(reports(b) == before, "it rings again: \(String(describing: b.client.calls.last?.phase))")
        #expect(rig.world.switchboard.calls.liveCount == 0)
    }

    @Test("An end with a push's capability for a lost call is refused as not_found")
    func act() throws {
        let world = SwitchboardWorld()
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("11-10", to: "10", id: "p-1"))
        world.send(a, SwitchboardWorld.plain("end", "11-10", id: "p-2"))
        let stored = world.kept.state(uncleanStarts: 1)
        let again = SwitchboardWorld(stored: stored, after: world.kept, at: world.now + .seconds(30))
        let scope = CallScope(call: try call("11-10"), epoch: 2, peer: try user("11"), device: try device("b1"))
        let body = #"{"action":"end","callId":"11-10","id":"x","data":{"reason":"declined"}}"#
        let reply = try again.post(Principal(user: try user("10"), scope: scope), body)
        #expect(reply.status == 404, "\(reply.text)")
    }

    @Test("The next call rings under the epoch of a lost call that a push had shown first")
    func pushedFirst() throws {
        let rig = ClientRig()
        let before = rig.add(try ClientRig.Device("11", "a1", prefix: "a"))
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(before)
        let state = rig.world.kept.state(uncleanStarts: 1)
        rig.world.holdsCommits = true
        try rig.call(before, to: "10", uuid: 2)
        let at = rig.now.milliseconds
        try rig.feed(
            b,
            .pushed([
                "type": .string("call.incoming"), "callId": .string("11-10"), "epoch": .int(1),
                "fromUserId": .string("11"), "sentAt": .int(at),
                "ringUntil": .int(at + 45_000),
            ])
        )
        #expect(b.phase == .ringing)
        try rig.open(b)
        try rig.feed(b, .end(try #require(b.live.last).uuid, .declined))
        try rig.deliver()
        try rig.crash(to: state)
        rig.devices.removeFirst()
        let a = rig.add(try ClientRig.Device("11", "a1", prefix: "again"))
        try rig.open(a)
        try rig.open(b)
        try rig.advance(30)
        try redialRings(rig, a, b)
    }
}
