import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("A fetch")
struct FetchTests {
    @Test("The caller is shown the answer and the callee the offer, each with the other side's candidates")
    func views() throws {
        let talk = try Talk.answered()
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "from-a"))
        talk.world.send(talk.callee, SwitchboardWorld.ice("c-1", id: "from-b"))
        talk.world.send(talk.callee, SwitchboardWorld.plain("ice", "c-1", id: "n", more: #","candidate":null"#))
        let caller = try talk.world.fetched(try principal("11"), "c-1", device: "a1")
        #expect(caller["state"] == "answered")
        #expect(caller["offer"] == "null")
        #expect(caller["answer"]?.contains(#""sdp":"v=0\r\ns=b\r\n""#) == true)
        #expect(caller["candidates"] == #"[{"candidate":"from-b"}]"#)
        let callee = try talk.world.fetched(try principal("10"), "c-1", device: "b1")
        #expect(callee["answer"] == "null")
        #expect(callee["offer"]?.contains(#""hasVideo":false,"displayName":"Name of 11""#) == true)
        #expect(callee["candidates"] == #"[{"candidate":"from-a"}]"#)
        #expect(callee["ringUntil"] == "\(talk.world.now.milliseconds + 45_000)")
    }

    @Test("A device that lost the call is shown the call's end, and nothing of the answered leg")
    func otherDevice() throws {
        let talk = try Talk(SwitchboardWorld())
        _ = try talk.world.open("10", "b2")
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "secret"))
        let view = try talk.world.fetched(try principal("10"), "c-1", device: "b2")
        #expect(view["state"] == "ended")
        #expect(view["reason"] == "answered_elsewhere")
        #expect(!view.text.contains("secret"))
        #expect(view["offer"] == "null")
    }

    @Test("An outsider gets the same response as for a call that does not exist")
    func outsider() throws {
        let talk = try Talk()
        let outsider = try principal("12")
        for request in ["c-1", "never"] {
            let reply = try talk.world.fetched(outsider, request)
            #expect(reply.status == 404)
            #expect(try reply == talk.world.fetched(outsider, "x"))
            #expect(try talk.world.reply(outsider, .end(try call(request), device: nil)) == reply)
            #expect(try talk.world.reply(outsider, .calls(.one(try call(request)))) == reply)
            #expect(try talk.world.reply(outsider, .calls(.timeline(try call(request)))) == reply)
            let id = try talk.world.fetch(outsider, request, wait: 30)
            #expect(talk.world.replies[id] == reply, "a long poll gets it too, without waiting")
        }
    }

    @Test("A fetch that asks for an array gets the signals in the older form")
    func array() throws {
        let talk = try Talk()
        let reply = try talk.world.reply(
            try principal("10"),
            .fetch(try call("c-1"), .init(isArray: true, device: try device("b1")))
        )
        #expect(reply.text.hasPrefix(#"[{"action":"offer","data":{"#))
        #expect(reply.text.hasSuffix("}]"))
        #expect(!reply.text.contains(#""action":"call""#))
    }

    @Test("A fetch by a device without an id adds no leg to a ringing call, but still shows the call")
    func looksOn() throws {
        let talk = try Talk()
        _ = try talk.world.fetched(try principal("10", token: 9), "c-1")
        #expect(talk.world.switchboard.calls[CallNumber(rawValue: 1)]?.session.legs.count == 2)
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        #expect(try talk.world.fetched(try principal("10", token: 9), "c-1")["state"] == "answered")
    }

    @Test("A fetch of a ringing call by a named device adds a leg for that device")
    func rings() throws {
        let talk = try Talk()
        _ = try talk.world.fetched(try principal("10"), "c-1", device: "b9")
        talk.world.send(talk.callee, SwitchboardWorld.answer("c-1"))
        let view = try talk.world.fetched(try principal("10"), "c-1", device: "b9")
        #expect(view["reason"] == "answered_elsewhere")
        #expect(view["signals"]?.contains("answered_elsewhere") == true)
    }

    @Test("The timeline of a ringing call records one fetch for each device, and its length is limited (I11)")
    func timeline() throws {
        let talk = try Talk(SwitchboardWorld { $0.signalBurst = 1_000 })
        for _ in 0..<50 { _ = try talk.world.fetched(try principal("10"), "c-1") }
        #expect(talk.world.events("fetched").count == 1)
        for token in 1..<600 { _ = try talk.world.fetched(try principal("10", token: UInt64(token)), "c-1") }
        #expect((400..<SwitchboardLimits.timelineEvents).contains(talk.world.events("fetched").count))
    }

    @Test("A fetch with a peer returns the call with that user when the callId is in use with several users")
    func peer() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("10", "b1")
        for callee in ["11", "12"] { world.send(caller, SwitchboardWorld.offer("call", to: callee, id: "o" + callee)) }
        for callee in ["11", "12"] {
            let fetch = Switchboard.Fetch(peer: try user(callee), device: try device("b1"))
            let reply = try world.reply(try principal("10"), .fetch(try call("call"), fetch))
            #expect(reply["room"] == "p2p:10-\(callee)")
        }
        let fetch = Switchboard.Fetch(peer: try user("13"), device: try device("b1"))
        #expect(try world.reply(try principal("10"), .fetch(try call("call"), fetch)).status == 404)
    }
}

@Suite("A long poll")
struct PollTests {
    @Test("A poll gets a response immediately if there is a new entry, and otherwise waits for a new entry")
    func waits() throws {
        let talk = try Talk()
        let atOnce = try talk.world.fetch(try principal("10"), "c-1", since: 0, wait: 20, device: "b1")
        #expect(talk.world.replies[atOnce] != nil)
        let waits = try talk.world.fetch(try principal("10"), "c-1", since: 1, wait: 20, device: "b1")
        #expect(talk.world.replies[waits] == nil)
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(talk.world.replies[waits]?["next"] == "3")
        #expect(talk.world.replies[waits]?["signals"]?.contains(#""id":"i""#) == true)
    }

    @Test("A poll goes on waiting after an entry that is not addressed to its device")
    func others() throws {
        let talk = try Talk()
        let poll = try talk.world.fetch(try principal("10"), "c-1", since: 1, wait: 20, device: "b1")
        talk.world.send(talk.callee, SwitchboardWorld.plain("ringing", "c-1", id: "r"))
        #expect(talk.world.replies[poll] == nil)
    }

    @Test("A poll without a new entry gets an empty response exactly when its time is over, after 30 s at most")
    func timeout() throws {
        let talk = try Talk()
        let short = try talk.world.fetch(try principal("10"), "c-1", since: 1, wait: 10, device: "b1")
        let long = try talk.world.fetch(try principal("10"), "c-1", since: 1, wait: 500, device: "b1")
        talk.world.wait(.milliseconds(9_999))
        #expect(talk.world.replies[short] == nil)
        talk.world.wait(.milliseconds(1))
        #expect(talk.world.replies[short]?["signals"] == "[]")
        talk.world.wait(.milliseconds(19_999))
        #expect(talk.world.replies[long] == nil)
        talk.world.wait(.milliseconds(1))
        #expect(talk.world.replies[long]?["signals"] == "[]")
    }

    @Test("A poll gets its response when its call ends, and a poll of an ended call does not wait")
    func ended() throws {
        let talk = try Talk()
        let poll = try talk.world.fetch(try principal("10"), "c-1", since: 1, wait: 20, device: "b1")
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(talk.world.replies[poll]?["state"] == "ended")
        let late = try talk.world.fetch(try principal("10"), "c-1", since: 99, wait: 20, device: "b1")
        #expect(talk.world.replies[late]?["reason"] == "cancelled")
    }

    @Test("An abandoned poll gets no response, leaves no state behind, and no longer keeps its device in the call")
    func abandoned() throws {
        let talk = try Talk.answered()
        talk.world.give(.closed(talk.callee))
        let poll = try talk.world.fetch(try principal("10"), "c-1", since: 99, wait: 30, device: "b1")
        talk.world.wait(10)
        talk.world.give(.abandoned(poll))
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(talk.world.replies[poll] == nil)
        #expect(talk.world.switchboard.polls.ids.isEmpty)
        talk.world.wait(.milliseconds(29_999))
        #expect(!talk.world.takeFrames(of: talk.caller).states.contains("ended disconnected"))
        talk.world.wait(.milliseconds(1))
        #expect(talk.world.takeFrames(of: talk.caller).states.contains("ended disconnected"))
    }

    @Test("A poll keeps its device in the call as a connection does")
    func presence() throws {
        let talk = try Talk.answered()
        talk.world.give(.closed(talk.callee))
        talk.world.wait(20)
        let poll = try talk.world.fetch(try principal("10"), "c-1", since: 99, wait: 30, device: "b1")
        talk.world.wait(.milliseconds(29_999))
        #expect(talk.world.replies[poll] == nil)
        #expect(!talk.world.takeFrames(of: talk.caller).states.contains("ended disconnected"))
    }
}

@Suite("A request")
struct RequestTests {
    @Test("A request that names no device acts as its user's device in the call")
    func actingDevice() throws {
        let talk = try Talk.answered()
        let reply = try talk.world.reply(try principal("10", token: 9), .end(try call("c-1"), device: nil))
        #expect(reply["state"] == "ended")
        #expect(talk.world.takeFrames(of: talk.caller).states.last == "ended hangup")
    }

    @Test("A service may send a signal for other users; any other client may not")
    func service() throws {
        let world = SwitchboardWorld()
        let body = #"{"action":"offer","callId":"c-9","from":"11","to":"10","data":{"sdp":"v=0\r\n"}}"#
        #expect(try world.post(try principal("12"), body).status == 403)
        var service = try principal("svc")
        service.isService = true
        #expect(try world.post(service, body).status == 200)
        #expect(try world.fetched(try principal("10"), "c-9")["room"] == "p2p:11-10")
    }

    @Test("An offer without a callId is given a callId, which the response contains")
    func madeCallID() throws {
        let world = SwitchboardWorld()
        let reply = try world.post(try principal("11"), #"{"action":"offer","to":"10","data":{"sdp":"v=0\r\n"}}"#)
        let id = try #require(reply["callId"])
        #expect(UUIDv5.isUUID(id))
        #expect(reply["seq"] == "1")
        #expect(reply["epoch"] == "1")
        #expect(try world.fetched(try principal("10"), id)["callUUID"] == id)
    }

    @Test("A signal without a callId goes to the live call with its addressee, and is refused without an addressee")
    func noCallID() throws {
        let talk = try Talk()
        talk.clear()
        talk.world.send(talk.callee, #"{"type":"answer","id":"a","to":"11","sdp":"v=0\r\n"}"#)
        #expect(talk.world.takeFrames(of: talk.caller).states == ["answered"])
        talk.world.send(talk.callee, #"{"type":"ice","id":"i","candidate":null}"#)
        #expect(talk.world.takeFrames(of: talk.callee).of("error").last?["field"] == "callId")
    }

    @Test("History and timeline are read from the store, and contain all changes made before the request")
    func stored() throws {
        let talk = try Talk.answered()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let history = try talk.world.reply(try principal("10"), .calls(.history(limit: 10, before: nil))).text
        #expect(history.contains(#""callId":"c-1""#) && history.contains(#""direction":"incoming""#))
        let mine = try talk.world.reply(try principal("11"), .calls(.timeline(try call("c-1")))).text
        #expect(mine.contains(#""event":"ended""#) && !mine.contains("delivered.socket"))
        let theirs = try talk.world.reply(try principal("10"), .calls(.timeline(try call("c-1")))).text
        #expect(theirs.contains("delivered.socket"))
    }
}
