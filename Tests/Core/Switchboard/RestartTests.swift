import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("After a restart")
struct RestartTests {
    @Test("A call rings until its original deadline, and a device whose push has an unknown result is pushed again")
    func ringing() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "bb")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takenPushes().count == 1)
        world.wait(10)
        let again = world.restarted(after: 5)
        let caller = try again.open("11", "a1")
        #expect(again.takeFrames(of: caller).states == ["ringing"])
        #expect(again.pushes.isEmpty, "the device first gets some time to come back by itself")
        again.wait(.milliseconds(29_999))
        #expect(again.takeFrames(of: caller).states.isEmpty)
        again.wait(.milliseconds(1))
        #expect(again.takeFrames(of: caller).states == ["ended unanswered"])
        #expect(again.pushes.count == 1, "the first push's result is unknown, and I6 demands a delivery or a push")
    }

    @Test("A node that takes a live call over notes its address, which only operators see")
    func takenOver() throws {
        let talk = try Talk.answered()
        let again = talk.world.restarted { $0.nodeAddress = "node-2:7070" }
        _ = try again.open("11", "a1")
        #expect(again.events("restarted") == [""])
        #expect(again.events("taken_over") == [#""node":"node-2:7070""#])
        let timeline = try again.reply(principal("11"), .calls(.timeline(try call("c-1")))).text
        #expect(timeline.contains("restarted") && !timeline.contains("taken_over"))
        #expect(talk.world.restarted().events("taken_over").isEmpty)
    }

    @Test("A call whose ring time ended during the restart ends immediately")
    func late() throws {
        let world = SwitchboardWorld()
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        let again = world.restarted(after: 100)
        again.wait(0)
        #expect(try again.fetched(try principal("11"), "c-1")["reason"] == "unanswered")
    }

    @Test("After a start whose clock is behind, a call rings for a whole ring at most", arguments: [20, 45, 120])
    func clockBehind(_ ring: Int64) throws {
        let world = SwitchboardWorld()
        let offer = SwitchboardWorld.offer("c-1", to: "10", more: #","ringTimeout":\#(ring)"#)
        world.send(try world.open("11", "a1"), offer)
        world.wait(5)
        let once = world.restarted(after: -600)
        // A signal has the call stored again.
        once.send(try once.open("10", "b1"), #"{"type":"ringing","id":"r","callId":"c-1"}"#)
        let again = once.restarted(after: -600)
        again.wait(ring - 1)
        #expect(again.notes == [])
        again.wait(1)
        #expect(again.notes == [.ended(try call("c-1"), epoch: 1, .unanswered)])
    }

    @Test("A call stored with moments in the far future still ends in time")
    func future() throws {
        let far = Moment(milliseconds: 7_258_118_400_000)
        let ringing = SwitchboardWorld()
        ringing.send(try ringing.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        var state = ringing.kept.state(uncleanStarts: 0)
        (state.calls[0].record.session.startedAt, state.calls[0].record.session.ringUntil) = (far, far)
        let rings = SwitchboardWorld(stored: state, at: ringing.now)
        rings.wait(121)
        #expect(rings.notes == [.ended(try call("c-1"), epoch: 1, .unanswered)])

        let talk = try Talk.answered()
        state = talk.world.kept.state(uncleanStarts: 0)
        state.calls[0].record.session.answeredAt = far
        let talks = SwitchboardWorld(stored: state, at: talk.world.now)
        talks.wait(31)
        #expect(talks.notes == [.ended(try call("c-1"), epoch: 1, .disconnected)])

        var record = state.calls[0].record
        record.session.ending = CallSession.Ending(reason: .hangup, at: far)
        var kept = talk.world.kept
        kept.apply([.call(record)])
        let ended = SwitchboardWorld(stored: kept.state(uncleanStarts: 0), after: kept, at: talk.world.now)
        #expect(try ended.fetched(try principal("10"), "c-1").status == 200)
        ended.wait(601)
        #expect(try ended.fetched(try principal("10"), "c-1").status == 404)
    }

    @Test("An answered call continues: it is replayed, knows the ids of its signals, and its `seq` keeps growing")
    func answered() throws {
        let talk = try Talk.answered()
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        let again = talk.world.restarted(uncleanStarts: 1, after: 3)
        let (a, b) = (try again.open("11", "a1"), try again.open("10", "b1"))
        #expect(again.takeFrames(of: b).map(\.seq) == [0, 1, 4, 5])
        _ = again.takeFrames(of: a)
        again.send(a, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(again.takeFrames(of: a).ack?.seq == 5)
        #expect(again.takeFrames(of: b).isEmpty)
        again.send(a, SwitchboardWorld.ice("c-1", id: "j"))
        #expect(again.takeFrames(of: b).first.map { $0.seq > 5 } == true)
        again.wait(29)
        again.pong(a)
        again.wait(29)
        #expect(!again.takeFrames(of: a).states.contains("ended disconnected"))
    }

    @Test("An answered call whose devices do not reconnect is disconnected")
    func notBack() throws {
        let talk = try Talk.answered()
        let again = talk.world.restarted()
        again.wait(.milliseconds(29_999))
        #expect(again.notes.isEmpty)
        again.wait(.milliseconds(1))
        #expect(again.notes == [.ended(try call("c-1"), epoch: 1, .disconnected)])
    }

    @Test("Log entries are restored unchanged, including entries that name devices")
    func entries() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let (b1, b2) = (try world.open("10", "b1"), try world.open("10", "b2"))
        for id in ["c-1", "c-2"] { world.send(caller, SwitchboardWorld.offer(id, to: "10", id: "o" + id)) }
        world.send(b1, SwitchboardWorld.answer("c-1"))
        world.send(b2, SwitchboardWorld.plain("end", "c-2", id: "e", more: #","reason":"busy""#))
        world.send(b1, SwitchboardWorld.plain("update", "c-1", id: "u", more: #","hold":true,"audioMuted":false"#))
        let again = world.restarted()
        for id in ["c-1", "c-2"] {
            for (asking, device) in [("11", "a1"), ("10", "b1"), ("10", "b2")] {
                let before = try world.fetched(try principal(asking), id, device: device)
                #expect(try again.fetched(try principal(asking), id, device: device) == before, "\(id) \(device)")
            }
        }
        for number in 1...2 {
            let (old, new) = (
                world.switchboard.calls[CallNumber(rawValue: Int64(number))],
                again.switchboard.calls[CallNumber(rawValue: Int64(number))]
            )
            #expect(new?.session.log == old?.session.log)
            #expect(new?.session.phase == old?.session.phase)
            #expect(new?.session.calleeMedia == old?.session.calleeMedia)
            #expect(new?.record == old?.record)
        }
    }

    @Test("A device is notified again of an end that it has not confirmed")
    func endNotices() throws {
        let talk = try Talk()
        talk.world.give(.closed(talk.callee))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let again = talk.world.restarted()
        #expect(again.takeFrames(of: try again.open("10", "b1")).states == ["ended cancelled"])
        #expect(
            again.takeFrames(of: try again.open("11", "a1")).states == ["ended cancelled"],
            "it has not confirmed the end"
        )
    }

    @Test("For three minutes after a crash, new logs begin above every `seq` that the crash may have lost")
    func shadow() throws {
        let world = SwitchboardWorld().restarted(uncleanStarts: 2)
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takeFrames(of: caller).ack?.seq == 2_049)
        world.wait(180)
        let later = try world.open("11", "a2")
        world.send(later, SwitchboardWorld.offer("c-2", to: "10"))
        #expect(world.takeFrames(of: later).ack?.seq == 1)
    }

    @Test("The renegotiation of a call that was lost in a crash begins no call")
    func lostRenegotiation() throws {
        let world = SwitchboardWorld().restarted(uncleanStarts: 1)
        let (a, b) = (try world.open("11", "a1"), try world.open("10", "b1"))
        _ = world.takeFrames(of: b)
        world.send(a, SwitchboardWorld.offer("c-1", to: "10", more: #","epoch":1"#))
        #expect(world.takeFrames(of: a).code == "not_found")
        #expect(world.takeFrames(of: b).isEmpty)
        world.send(a, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takeFrames(of: b).of("offer").count == 1)
    }

    @Test("A crash is forgotten once no lost `seq` can be given to another entry")
    func forgetting() throws {
        let talk = try Talk.answered()
        let again = talk.world.restarted(uncleanStarts: 1)
        let (a, b) = (try again.open("11", "a1"), try again.open("10", "b1"))
        for _ in 0..<5 {
            again.wait(50)
            for connection in [a, b] { again.give(.signOfLife(connection)) }
        }
        #expect(!again.kept.hasForgottenUncleanStarts, "no entry above the gap is durable yet")
        again.send(a, SwitchboardWorld.ice("c-1", id: "j"))
        again.wait(61)
        #expect(again.kept.hasForgottenUncleanStarts)
    }

    @Test("Epochs and call numbers continue after the stored epochs and call numbers")
    func numbers() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10"))
        world.send(caller, SwitchboardWorld.plain("end", "11-10", id: "e"))
        let again = world.restarted(after: 5_000)
        again.wait(0)
        #expect(try again.fetched(try principal("11"), "11-10").status == 404)
        let back = try again.open("11", "a1")
        again.send(back, SwitchboardWorld.offer("11-10", to: "10"))
        #expect(again.takeFrames(of: back).ack?["epoch"] == "2")
        #expect(again.switchboard.calls.lastNumber == 2)
    }

    @Test("Blocks and do-not-disturb still hold, and a hidden call stays hidden")
    func hidden() throws {
        let world = SwitchboardWorld()
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        _ = try world.reply(try principal("12"), .blocks(.doNotDisturb(until: world.now + .seconds(3_600))))
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        let again = world.restarted()
        #expect(again.takeFrames(of: try again.open("10", "b1")).types == ["welcome"])
        let x = try again.open("12", "x1")
        again.send(try again.open("11", "a2"), SwitchboardWorld.offer("c-2", to: "12"))
        #expect(again.takeFrames(of: x).types == ["welcome"])
    }

    @Test("A stored call that is inconsistent is left out and reported, and the other calls are restored")
    func unreadable() throws {
        let talk = try Talk()
        var state = talk.world.kept.state(uncleanStarts: 0)
        state.calls.append(state.calls[0])
        state.calls[1].record.session.number = CallNumber(rawValue: 99)
        state.calls[1].record.session.key = CallKey(
            id: try call("broken"),
            pair: state.calls[0].record.session.key.pair
        )
        state.calls[1].record.session.legs = []
        let again = SwitchboardWorld(stored: state, at: talk.world.now)
        again.wait(0)
        again.give(.deadlineReached)
        #expect(again.notes.contains(.unreadable(CallNumber(rawValue: 99))))
        #expect(try again.fetched(try principal("10"), "c-1", device: "b1").status == 200)
    }
}
