import CallClient
import CallCore
import CallWire
import Testing

@testable import Switchboard

/// Two client cores and the server, whose commits a crash takes.
@Suite("A call that a crash took, or under its name")
struct LostCallTests {
    /// 11 (a) and 10 (b), connected; with `older` a first call under the name is over and durable.
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
        // From here on commits are slow: what comes is shown, and nothing of it is kept.
        let state = rig.world.kept.state(crashes: 1)
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

    @Test("that was answered goes on, whoever is back first", arguments: [false, true], [false, true])
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

    @Test("that was declined is over for its caller", arguments: [false, true])
    func declined(older: Bool) throws {
        let (rig, a, b, state) = try rig(older: older)
        // The caller's socket is gone before the decline is there.
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
        #expect(a.live.isEmpty, "nothing rings at the callee, and the caller hears it ring")
    }

    @Test("that its caller hung up while the server was away ends for the callee", arguments: [false, true])
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
        "that was made anew after the app was killed takes the place of the one that rings",
        arguments: [false, true]
    )
    func redial(isOpen: Bool) throws {
        let (rig, a, b, _) = try rig(older: false)
        rig.world.holdsCommits = false
        try rig.call(a, to: "10", uuid: 2)
        #expect(b.phase == .ringing)
        rig.world.give(.closed(try #require(a.session)))
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

    @Test("rings under the epoch of one that was declined and lost", arguments: [false, true], [5.0, 30, 600])
    func epochAgain(older: Bool, after seconds: Double) throws {
        let (rig, before, b, state) = try rig(older: older)
        try rig.call(before, to: "10", uuid: 2)
        try rig.feed(b, .end(try #require(b.live.last).uuid, .declined))
        try rig.deliver()
        #expect(before.live.isEmpty && b.live.isEmpty)
        try rig.crash(to: state)
        // Another run of the caller's app, which knows nothing (what it knows is S12).
        rig.devices.removeFirst()
        let a = rig.add(try ClientRig.Device("11", "a1", prefix: "again"))
        try rig.open(a)
        try rig.open(b)
        try rig.advance(seconds)
        try redialRings(rig, a, b)
    }

    @Test("is answered under the callId and epoch of a lost one the other way round")
    func bothUseTheName() throws {
        let rig = ClientRig()
        let a = rig.add(try ClientRig.Device("11", "a1", prefix: "a"))
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(a)
        let state = rig.world.kept.state(crashes: 1)
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

    @Test("is not ended by its own device for having the epoch of a lost one", arguments: [false, true], [5.0, 100])
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

    @Test("that both hung up while the server was away is over, however long that was", arguments: [100.0, 200])
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
        #expect(rig.world.board.calls.liveCount == 0, "it lives on with nobody in it")
    }

    @Test("is not found by a signal that names its epoch, so that the signal is said again")
    func lostEpoch() throws {
        let world = World()
        let a = try world.open("11", "a1")
        world.send(a, World.offer("11-10", to: "10", id: "p-1", more: #","begin":true"#))
        world.send(a, World.plain("end", "11-10", id: "p-2"))
        // The later epochs were relayed and never committed.
        let again = World(stored: world.kept.state(crashes: 1), at: world.now + .seconds(30))
        let b = try again.open("10", "b1")
        _ = again.taken(b)
        again.send(b, World.plain("answer", "11-10", id: "x-2", more: #","sdp":"v=0\r\ns=b\r\n","to":"11","epoch":2"#))
        let code = again.taken(b).code
        let back = try again.open("11", "a1")
        again.send(back, World.offer("11-10", to: "10", id: "p-3", more: #","begin":true"#))
        #expect(again.taken(back).ack?["epoch"] == "2", "the lost call is there again, under its epoch")
        #expect(again.taken(b).of("offer").count == 1)
        #expect(code == "not_found")
    }

    @Test("is not meant by an app that was killed while it rang, and begins again")
    func redialWhileItRings() throws {
        let world = World()
        let b = try world.open("10", "b1")
        let before = try world.open("11", "a1")
        world.send(before, World.offer("11-10", to: "10", id: "p-1", more: #","begin":true"#))
        world.give(.closed(before))
        let again = try world.open("11", "a1")
        // The new run has its offer ready when the socket opens; the replay of the old call crosses it.
        world.send(
            again,
            World.offer("11-10", to: "10", id: "q-1", sdp: "v=0\\r\\ns=new\\r\\n", more: #","begin":true"#)
        )
        let replayed = world.taken(again)
        #expect(replayed.of("call").first?["offerId"] == "p-1" && replayed.of("call").first?["epoch"] == "1")
        // The core ends what its earlier run left (RingingTests.orphanOfTheSameNameUnderWay).
        world.send(again, World.plain("end", "11-10", id: "q-2", more: #","to":"10","epoch":1,"reason":"failed""#))
        _ = world.taken(b)
        #expect(try world.fetched(try who("10"), "11-10", device: "b1")["state"] == "ringing")
        #expect(replayed.ack?["epoch"] == "2")
    }

    /// The callee has a sound socket and is not pushed: the offer itself must ring.
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

    @Test("that rings goes on ringing, whenever its caller is back", arguments: [false, true], [5.0, 20])
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
        let state = rig.world.kept.state(crashes: 1)
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
        #expect(rig.world.board.calls.liveCount == 1)
    }

    @Test("that was declined does not ring again, whatever the server names its caller", arguments: [true, false])
    func declinedUnnamed(named: Bool) throws {
        let rig = ClientRig()
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(b)
        let state = rig.world.kept.state(crashes: 1)
        rig.world.holdsCommits = true
        let name = named ? "a1" : nil
        let offer = World.offer("c-7", to: "10", id: "o-1", sdp: "v=0\\r\\ns=a\\r\\n")
        let a = rig.world.session(try who("11"), device: name)
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
        // The random numbers of a test's server begin anew: another connection takes the first name.
        if !named { _ = rig.world.session(try who("12"), device: nil) }
        let again = rig.world.session(try who("11"), device: name)
        rig.world.send(again, offer)
        try rig.deliver()
        try rig.advance(5)
        #expect(reports(b) == before, "it rings again: \(String(describing: b.client.calls.last?.phase))")
        #expect(rig.world.board.calls.liveCount == 0)
    }

    @Test("is not over for a push's capability")
    func act() throws {
        let world = World()
        let a = try world.open("11", "a1")
        world.send(a, World.offer("11-10", to: "10", id: "p-1"))
        world.send(a, World.plain("end", "11-10", id: "p-2"))
        let again = World(stored: world.kept.state(crashes: 1), at: world.now + .seconds(30))
        let scope = CallScope(call: try call("11-10"), epoch: 2, peer: try user("11"), device: try device("b1"))
        let body = #"{"action":"end","callId":"11-10","id":"x","data":{"reason":"declined"}}"#
        let reply = try again.post(Who(user: try user("10"), scope: scope), body)
        #expect(reply.status == 404, "\(reply.text)")
    }

    @Test("that a push had shown first makes room for the next under its epoch")
    func pushedFirst() throws {
        let rig = ClientRig()
        let before = rig.add(try ClientRig.Device("11", "a1", prefix: "a"))
        let b = rig.add(try ClientRig.Device("10", "b1", prefix: "b"))
        try rig.open(before)
        let state = rig.world.kept.state(crashes: 1)
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
