import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("An ended call at rest")
struct RestTests {
    /// A call that 11 made and hung up after 10 had answered it, now at rest.
    private func rested(_ world: SwitchboardWorld = SwitchboardWorld(), callID: String = "c-1") throws -> Talk {
        let talk = try Talk.answered(world, callID: callID)
        for number in 0..<20 { world.send(talk.caller, SwitchboardWorld.ice(callID, id: "i\(number)")) }
        world.send(talk.caller, SwitchboardWorld.plain("end", callID, id: "e"))
        world.pong(talk.caller)
        world.pong(talk.callee)
        talk.clear()
        try world.putToRest()
        return talk
    }

    /// Returns a world with a call at rest that the caller cancelled while device b1, which had rung, was away.
    private func missed() throws -> SwitchboardWorld {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.pong(callee)
        world.give(.closed(callee))
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.pong(caller)
        try world.putToRest()
        return world
    }

    @Test("An ended call soon leaves memory; it is loaded when a client asks for it, and leaves memory again")
    func inAndOut() throws {
        let talk = try rested()
        let world = talk.world
        let fetched = try world.fetched(try principal("10"), "c-1", device: "b1")
        #expect(fetched["state"] == "ended" && fetched["reason"] == "hangup")
        #expect(fetched.text.contains(#""id":"i19""#))
        #expect(world.switchboard.calls.count == 1 && world.switchboard.calls.resting.isEmpty)
        try world.putToRest()
        #expect(try world.fetched(try principal("11"), "c-1", device: "a1").text.contains(#""type":"answer""#))
    }

    @Test("Fetches, resends, late signals and requests have the same results for a call at rest as in memory")
    func same() throws {
        func ask(_ talk: Talk) throws -> [String] {
            let world = talk.world
            var said = [
                try world.fetched(try principal("10"), "c-1", device: "b1").text,
                try world.fetched(try principal("11"), "c-1", since: 5, device: "a1").text,
                try world.reply(try principal("11"), .calls(.one(try call("c-1")))).text,
                try world.reply(try principal("10"), .calls(.timeline(try call("c-1")))).text,
                try world.post(try principal("11"), #"{"callId":"c-1","action":"end"}"#).text,
                try world.reply(try principal("10"), .end(try call("c-1"), device: try device("b1"))).text,
                "\(try world.fetched(try principal("12"), "c-1").status)",
            ]
            for (connection, frame) in [
                (talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e")),
                (talk.caller, SwitchboardWorld.plain("end", "c-1", id: "other")),
                (talk.callee, SwitchboardWorld.ice("c-1", id: "late")),
                (talk.caller, SwitchboardWorld.offer("c-1", to: "10")),
                (talk.callee, SwitchboardWorld.answer("c-1")),
                (talk.callee, #"{"type":"sync","id":"s","calls":{"c-1":0,"x":3}}"#),
            ] {
                world.send(connection, frame)
                said += world.takeFrames(of: connection).map(\.description)
            }
            return said
        }
        let talk = try Talk.answered()
        for number in 0..<20 { talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(number)")) }
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        talk.world.pong(talk.caller)
        talk.world.pong(talk.callee)
        talk.clear()
        #expect(try ask(rested()) == ask(talk))
    }

    @Test("A later call under the callId of a call at rest gets the next epoch")
    func nextEpoch() throws {
        let talk = try rested(callID: "11-10")
        let world = talk.world
        world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        #expect(world.takeFrames(of: talk.caller).ack?["epoch"] == "2")
        #expect(world.switchboard.calls.count == 1 && world.switchboard.calls.resting.isEmpty)
        world.send(talk.caller, SwitchboardWorld.plain("end", "11-10", id: "e2"))
        world.pong(talk.caller)
        world.pong(talk.callee)
        try world.putToRest()
        #expect(try world.fetched(try principal("11"), "11-10", device: "a1")["epoch"] == "2")
    }

    @Test("A later call under the UUID of a call at rest gets the next epoch")
    func uuid() throws {
        let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
        let talk = try rested(callID: id)
        talk.world.send(talk.caller, SwitchboardWorld.offer(id, to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        #expect(talk.world.takeFrames(of: talk.caller).ack?["epoch"] == "2")
    }

    @Test("A resent offer without a callId goes to the call at rest that it began")
    func withoutCallID() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let offer = #"{"type":"offer","id":"o","to":"10","sdp":"v=0\r\n"}"#
        world.send(caller, offer)
        let id = try #require(world.takeFrames(of: caller).ack?["callId"])
        world.send(caller, SwitchboardWorld.plain("end", id, id: "e"))
        world.pong(caller)
        _ = world.takeFrames(of: caller)
        try world.putToRest()
        world.send(caller, offer)
        #expect(world.takeFrames(of: caller).of("ack").first?["callId"] == id)
        #expect(world.switchboard.metrics.callsBegun == 1)
    }

    @Test("A device that was away is notified once of the end of a call at rest, and the call goes to rest again")
    func endNotices() throws {
        let world = try missed()
        let back = try world.open("10", "b1")
        #expect(world.takeFrames(of: back).states == ["ended cancelled"])
        world.settle()
        world.give(.closed(back))
        #expect(world.takeFrames(of: try world.open("10", "b1")).states.isEmpty)
        try world.putToRest()
    }

    @Test("A device is pinged with its notices at once, so that a connection confirms them however short it is")
    func shortConnection() throws {
        let world = try missed()
        let back = try world.open("10", "b1")
        #expect(world.takeFrames(of: back).states == ["ended cancelled"])
        world.pong(back)
        world.give(.closed(back))
        #expect(world.takeFrames(of: try world.open("10", "b1")).states.isEmpty)
    }

    @Test("If the store could not read an ended call, the device that was away is notified with one of its next pings")
    func unreadEndNotices() throws {
        let world = try missed()
        world.failsQueries = true
        let back = try world.open("10", "b1")
        #expect(world.takeFrames(of: back).states.isEmpty)
        world.failsQueries = false
        world.settle()
        #expect(world.takeFrames(of: back).states == ["ended cancelled"])
    }

    @Test("A resent end goes to the call at rest, even if a third user uses its callId", arguments: [false, true])
    func resentEnd(_ isRequest: Bool) throws {
        let talk = try Talk.answered()
        let world = talk.world
        let end = SwitchboardWorld.plain("end", "c-1", id: "e")
        world.pong(talk.caller)
        talk.clear()
        world.send(talk.callee, end)
        let first = try #require(world.takeFrames(of: talk.callee).ack)
        try world.putToRest()
        let other = try world.open("66", "x1")
        world.send(other, SwitchboardWorld.offer("c-1", to: "10", id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        world.pong(talk.callee)
        talk.clear()
        _ = world.takeFrames(of: other)
        if isRequest {
            let body = #"{"callId":"c-1","action":"end","id":"e","deviceId":"b1","data":{}}"#
            let reply = try world.post(try principal("10"), body)
            #expect(reply["seq"] == first["seq"] && reply["state"] == "ended")
        } else {
            world.send(talk.callee, end)
            #expect(world.takeFrames(of: talk.callee).map(\.description) == [first.description])
        }
        #expect(world.switchboard.calls.live(of: try user("66")).count == 1)
        #expect(world.takeFrames(of: other).isEmpty)
        // A signal with a new id belongs to the call that rings.
        world.send(talk.callee, SwitchboardWorld.plain("ringing", "c-1", id: "r"))
        #expect(world.takeFrames(of: other).of("ringing").count == 1)
    }

    @Test("A fetch under a callId made of two user ids returns their call at rest, not a third user's ringing call")
    func namesTheTwo() throws {
        let talk = try rested(callID: "11-10")
        let world = talk.world
        let other = try world.open("66", "x1")
        world.send(other, SwitchboardWorld.offer("11-10", to: "10", id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        let fetched = try world.fetched(try principal("10"), "11-10", device: "b1")
        #expect(fetched["room"] == "p2p:11-10" && fetched["state"] == "ended")
        let ring = try world.reply(try principal("10"), .fetch(try call("11-10"), .init(peer: try user("66"))))
        #expect(ring["state"] == "ringing")
    }

    @Test(
        "A call's timeline and details are shown, even if a later call under its callId is hidden from its callee",
        arguments: [0, 12]
    )
    func timelineBeside(_ minutes: Int64) throws {
        let talk = try Talk()
        let world = talk.world
        let outsider = try world.open("66", "x1")
        world.send(outsider, SwitchboardWorld.offer("c-1", to: "10", id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        for connection in [talk.caller, outsider] {
            world.send(connection, SwitchboardWorld.plain("end", "c-1", id: "e"))
        }
        world.pong(talk.callee)
        try world.putToRest(2)
        // With an argument of 12 minutes the call is no longer at rest: only the history has its record.
        world.wait(60 * minutes)
        for reply in [
            try world.reply(try principal("10"), .calls(.timeline(try call("c-1")))),
            try world.reply(try principal("10"), .calls(.one(try call("c-1")))),
        ] {
            #expect(reply.status == 200 && !reply.text.contains("name_taken"))
        }
        #expect(
            try world.reply(try principal("66"), .calls(.timeline(try call("c-1")))).text.contains("name_taken")
                == false
        )
    }

    @Test("A call that is loaded does not take its callId back from a later call at rest")
    func overtaken() throws {
        // The callId is a UUID, because the epochs of other callIds are remembered separately.
        let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
        let talk = try Talk(callID: id)
        let world = talk.world
        world.give(.closed(talk.callee))
        world.send(talk.caller, SwitchboardWorld.plain("end", id, id: "e"))
        world.pong(talk.caller)
        // A third user uses the callId, so that the next call of the two is hidden from the callee.
        let other = try world.open("66", "x1")
        world.send(other, SwitchboardWorld.offer(id, to: "10", id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        world.send(talk.caller, SwitchboardWorld.offer(id, to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        #expect(world.takeFrames(of: talk.caller).ack?["epoch"] == "2")
        for connection in [other, talk.caller] { world.send(connection, SwitchboardWorld.plain("end", id, id: "e2")) }
        try world.putToRest(3)
        // The first call is loaded only to notify its device of the end.
        let back = try world.open("10", "b1")
        #expect(world.takeFrames(of: back).states.contains("ended cancelled"))
        world.send(talk.caller, SwitchboardWorld.offer(id, to: "10", id: "o3", sdp: "v=0\\r\\ns=3\\r\\n"))
        #expect(world.takeFrames(of: talk.caller).of("ack").last?["epoch"] == "3")
    }

    @Test("An ended call stays in memory while a push for it is under way")
    func underWay() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        let push = try #require(world.takenPushes().first)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.settle()
        #expect(world.switchboard.calls.count == 1)
        world.respondToPush(push, 200)
        #expect(world.events("push.result").count == 1)
        try world.putToRest()
    }

    @Test("When a call at rest can no longer be fetched, its log moves to its timeline")
    func forgotten() throws {
        let talk = try rested()
        let world = talk.world
        #expect(world.events("signal.ice").isEmpty)
        world.wait(600)
        #expect(world.switchboard.calls.resting.isEmpty && world.switchboard.calls.count == 0)
        #expect(world.events("signal.ice").count == 20)
        #expect(world.changes.contains { if case .logForgotten = $0 { true } else { false } })
        #expect(try world.fetched(try principal("10"), "c-1").status == 404)
        #expect(try world.reply(try principal("10"), .calls(.timeline(try call("c-1")))).text.contains("signal.ice"))
    }

    @Test("A call that the store cannot read stays at rest, and requests for it are refused as temporarily unavailable")
    func unavailable() throws {
        let talk = try rested()
        let world = talk.world
        world.failsQueries = true
        #expect(try world.fetched(try principal("10"), "c-1").status == 503)
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.takeFrames(of: talk.caller).code == "store_unavailable")
        world.wait(700)
        #expect(world.switchboard.calls.resting.count == 1)
        world.failsQueries = false
        world.wait(70)
        #expect(world.switchboard.calls.resting.isEmpty)
        #expect(world.events("signal.ice").count == 20)
    }

    @Test("A device's signals for a call at rest keep their order, and the store is queried once")
    func order() throws {
        let talk = try rested(callID: "11-10")
        let world = talk.world
        world.holdsResults = true
        world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.send(talk.caller, SwitchboardWorld.ice("11-10", id: "after"))
        #expect(world.takeFrames(of: talk.caller).isEmpty)
        #expect(world.queries.count == 1)
        world.deliverResults()
        #expect(world.takeFrames(of: talk.callee).types == ["offer", "ice"])
        #expect(world.takeFrames(of: talk.caller).of("ack").map { $0["id"] } == ["o2", "after"])
    }

    @Test("An abandoned request for a call at rest gets no response, and no work is left that waits for the store")
    func abandoned() throws {
        let talk = try rested()
        let world = talk.world
        world.holdsResults = true
        let request = try world.fetch(try principal("10"), "c-1")
        world.give(.abandoned(request))
        world.deliverResults()
        #expect(world.replies[request] == nil)
        #expect(world.switchboard.queries.isIdle)
    }

    @Test("A call at rest is loaded for a push's capability of its epoch, but not for a capability of another epoch")
    func capability() throws {
        let talk = try rested()
        let scope = CallScope(call: try call("c-1"), epoch: 1, peer: try user("11"), device: try device("b1"))
        let reply = try talk.world.reply(
            Principal(user: try user("10"), scope: scope),
            .fetch(try call("c-1"), .init())
        )
        #expect(reply["reason"] == "hangup")
        var later = scope
        later.epoch = 2
        let other = try talk.world.reply(
            Principal(user: try user("10"), scope: later),
            .fetch(try call("c-1"), .init())
        )
        #expect(other.status == 404)
    }

    @Test("An ended call goes to rest after a restart just as it does without a restart")
    func restart() throws {
        let talk = try rested()
        let world = talk.world.restarted(after: 5)
        try world.putToRest()
        #expect(try world.fetched(try principal("10"), "c-1", device: "b1")["reason"] == "hangup")
    }

    @Test("The structure of a call at rest takes at most 48 bytes, without the table entries that refer to it")
    func small() {
        #expect(MemoryLayout<RestingCall>.stride <= 48)
    }
}
