import CallCore
import CallPorts
import CallWire
import JSON
import Testing

@testable import Switchboard

@Suite("A resent offer or answer")
struct ResentDescriptionTests {
    private static let first = SwitchboardWorld.offer("c-1", to: "10", id: "first", sdp: "v=0\\r\\ns=1\\r\\n")

    /// A world in which 11 called 10 with the first offer and hung up, and both have confirmed the end.
    private func over() throws -> (SwitchboardWorld, caller: SocketID, callee: SocketID, ack: Frame) {
        let world = SwitchboardWorld()
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(caller, Self.first)
        let ack = try #require(world.takeFrames(of: caller).ack)
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        for connection in [caller, callee] { world.pong(connection) }
        return (world, caller, callee, ack)
    }

    private func clear(_ world: SwitchboardWorld, _ connections: SocketID...) {
        for connection in connections { _ = world.takeFrames(of: connection) }
    }

    @Test(
        "A resent offer gets its ack and does not ring, even if its callee used the callId to call back",
        arguments: [0, 3],
        [0, 3]
    )
    func usedByCallee(_ before: Int, _ after: Int) throws {
        let (world, caller, callee, ack) = try over()
        func pass(_ rounds: Int) {
            for _ in 0..<rounds {
                world.wait(26)
                for connection in [caller, callee] { world.pong(connection) }
            }
        }
        pass(before)
        world.send(callee, SwitchboardWorld.offer("c-1", to: "11", id: "back", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.pong(caller)
        world.send(callee, SwitchboardWorld.plain("end", "c-1", id: "e2"))
        world.pong(caller)
        pass(after)
        clear(world, caller, callee)
        world.send(caller, Self.first)
        #expect(world.takeFrames(of: caller).map(\.description) == [ack.description])
        #expect(world.takeFrames(of: callee).isEmpty)
    }

    @Test("A resent offer gets its ack and is not relayed during the next call", arguments: [false, true])
    func redialled(_ isAnswered: Bool) throws {
        let (world, caller, callee, ack) = try over()
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", id: "second", sdp: "v=0\\r\\ns=2\\r\\n"))
        if isAnswered { world.send(callee, SwitchboardWorld.answer("c-1")) }
        clear(world, caller, callee)
        world.send(caller, Self.first)
        #expect(world.takeFrames(of: caller).map(\.description) == [ack.description])
        #expect(world.takeFrames(of: callee).isEmpty)
    }

    @Test("A resent offer of a renegotiation gets its ack, with and without a restart", arguments: [false, true])
    func reoffer(_ isRestarted: Bool) throws {
        let talk = try Talk.answered()
        let again = SwitchboardWorld.plain("offer", "c-1", id: "ro", more: #","sdp":"v=0\r\ns=9\r\n""#)
        talk.clear()
        talk.world.send(talk.caller, again)
        let ack = try #require(talk.world.takeFrames(of: talk.caller).ack)
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        for connection in [talk.caller, talk.callee] { talk.world.pong(connection) }
        talk.world.send(talk.callee, SwitchboardWorld.offer("c-1", to: "11", id: "back", sdp: "v=0\\r\\ns=2\\r\\n"))
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e2"))
        let world = isRestarted ? talk.world.restarted() : talk.world
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        clear(world, caller, callee)
        world.send(caller, again)
        #expect(world.takeFrames(of: caller).map(\.description) == [ack.description])
        #expect(world.takeFrames(of: callee).isEmpty)
    }

    @Test("A resent answer does not answer a later call, even after a restart", arguments: [1, 2, 3], [false, true])
    func answer(_ uses: Int, _ isRestarted: Bool) throws {
        let talk = try Talk(callID: "11-10")
        let answer = SwitchboardWorld.answer("11-10", id: "a1")
        talk.world.send(talk.callee, answer)
        let ack = try #require(talk.world.takeFrames(of: talk.callee).of("ack").last)
        for number in 1...uses {
            talk.world.send(talk.caller, SwitchboardWorld.plain("end", "11-10", id: "e\(number)"))
            for connection in [talk.caller, talk.callee] { talk.world.pong(connection) }
            let sdp = "v=0\\r\\ns=\(number)\\r\\n"
            talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o\(number)", sdp: sdp))
        }
        let world = isRestarted ? talk.world.restarted() : talk.world
        let callee = try world.open("10", "b1")
        clear(world, callee)
        world.send(callee, answer)
        #expect(world.takeFrames(of: callee).map(\.description) == [ack.description])
        let call = try #require(world.switchboard.calls.live(of: try user("10")).first)
        #expect(call.session.answeredAt == nil)
    }

    @Test("An offer with another description is a new offer, even if its client uses the same signal id again")
    func sameName() throws {
        let (world, caller, callee, _) = try over()
        world.send(callee, SwitchboardWorld.offer("c-1", to: "11", id: "back", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.send(callee, SwitchboardWorld.plain("end", "c-1", id: "e2"))
        clear(world, caller, callee)
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", id: "first", sdp: "v=0\\r\\ns=3\\r\\n"))
        #expect(world.takeFrames(of: caller).ack?["epoch"] == "3")
        #expect(world.takeFrames(of: callee).of("offer").count == 1)
    }

    @Test("An end does not overtake the offer before it, which waits for a call at rest with the same offer id")
    func numbersAnew() throws {
        let (world, caller, callee, _) = try over()
        for _ in 0..<3 {
            world.wait(26)
            for connection in [caller, callee] { world.pong(connection) }
        }
        #expect(world.switchboard.calls.resting.count == 1)
        clear(world, caller, callee)
        world.holdsResults = true
        world.send(caller, SwitchboardWorld.offer("other", to: "10", id: "first", sdp: "v=0\\r\\ns=4\\r\\n"))
        world.send(caller, SwitchboardWorld.plain("end", "other", id: "e"))
        world.deliverResults()
        #expect(world.takeFrames(of: caller).types == ["call", "ack", "call", "ack"])
        #expect(world.switchboard.calls.live(of: try user("11")).isEmpty)
    }
}

@Suite("A resent end")
struct ResentEndTests {
    private let end = SwitchboardWorld.plain("end", "11-10", id: "e")

    @Test("A resent end gets its ack and ends no other call, even if its callId was used again")
    func reused() throws {
        let talk = try Talk.answered(callID: "11-10")
        talk.clear()
        talk.world.send(talk.callee, end)
        let first = try #require(talk.world.takeFrames(of: talk.callee).ack)
        talk.world.pong(talk.callee)
        talk.world.pong(talk.caller)
        talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        talk.world.send(talk.callee, SwitchboardWorld.answer("11-10", id: "a2", sdp: "v=0\\r\\ns=22\\r\\n"))
        talk.clear()
        talk.world.send(talk.callee, end)
        #expect(talk.world.takeFrames(of: talk.callee).map(\.description) == [first.description])
        #expect(talk.world.takeFrames(of: talk.caller).isEmpty)
        #expect(talk.world.switchboard.calls.live(of: try user("11")).count == 1)
        // An end with the same id from another device is another end.
        let other = try principal("11", token: 9)
        let body = #"{"callId":"11-10","action":"end","id":"e","deviceId":"a1","data":{}}"#
        let reply = try talk.world.post(other, body)
        #expect(reply["epoch"] == "2" && reply["state"] == "ended")
    }

    @Test("An end that is resent by request is recognized after a restart too")
    func restarted() throws {
        let talk = try Talk(callID: "11-10")
        let body = #"{"callId":"11-10","action":"end","id":"e \n","deviceId":"b1","data":{}}"#
        let odd = #"{"callId":"11-10","action":"end","id":"e é\"","deviceId":"b1","data":{}}"#
        let first = try talk.world.post(try principal("10"), odd)
        #expect(first["reason"] == "declined")
        talk.world.pong(talk.callee)
        talk.world.pong(talk.caller)
        talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        let world = talk.world.restarted()
        #expect(try world.post(try principal("10"), odd) == first)
        #expect(world.switchboard.calls.live(of: try user("11")).count == 1)
        #expect(try world.post(try principal("10"), body)["epoch"] == "2")
    }

    @Test(
        "A resent end is recognized under any signal id, and also under another token of a device without an id",
        arguments: ["e", "\u{301}e", "\u{200D}", "x\r"]
    )
    func odd(_ id: String) throws {
        let talk = try Talk.answered(callID: "11-10")
        var json = JSONWriter()
        json.value(id)
        let name = String(decoding: json.bytes, as: UTF8.self)
        // Another device of 10, which has lost the call, ends it as well.
        let tablet = try talk.world.open("10", "b2")
        talk.world.send(tablet, #"{"type":"end","callId":"11-10","id":\#(name)}"#)
        let body = #"{"callId":"11-10","action":"end","id":\#(name),"data":{}}"#
        let first = try talk.world.post(try principal("11", token: 1), body)
        #expect(first["state"] == "ended")
        for connection in [talk.caller, talk.callee, tablet] { talk.world.pong(connection) }
        talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        let world = talk.world.restarted()
        #expect(try world.post(try principal("11", token: 2), body) == first)
        #expect(world.switchboard.calls.live(of: try user("11")).count == 1)
        let back = try world.open("10", "b2")
        _ = world.takeFrames(of: back)
        world.send(back, #"{"type":"end","callId":"11-10","id":\#(name)}"#)
        #expect(world.takeFrames(of: back).ack?["epoch"] == "1")
        #expect(world.switchboard.calls.live(of: try user("11")).count == 1)
    }

    @Test("Resent ends of several epochs are recognized for as long as the first call can be fetched")
    func several() throws {
        let talk = try Talk(callID: "11-10")
        for number in 1...3 {
            talk.world.send(talk.callee, SwitchboardWorld.plain("end", "11-10", id: "e\(number)"))
            talk.world.pong(talk.callee)
            talk.world.pong(talk.caller)
            for _ in 1...8 {
                talk.world.wait(25)
                talk.world.pong(talk.callee)
                talk.world.pong(talk.caller)
            }
            talk.world.send(
                talk.caller,
                SwitchboardWorld.offer("11-10", to: "10", id: "p\(number)", sdp: "v=0\\r\\ns=\(number)\\r\\n")
            )
        }
        talk.clear()
        for number in 1...3 { talk.world.send(talk.callee, SwitchboardWorld.plain("end", "11-10", id: "e\(number)")) }
        #expect(talk.world.takeFrames(of: talk.callee).of("ack").map { $0["epoch"] } == ["1", "2", "3"])
        #expect(talk.world.switchboard.calls.live(of: try user("11")).count == 1)
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "11-10", id: "e9"))
        #expect(talk.world.takeFrames(of: talk.callee).ack?["epoch"] == "4")
    }

    @Test("A resent end from a device that had lost the call does not decline the next call")
    func otherDevice() throws {
        let talk = try Talk(callID: "11-10")
        let tablet = try talk.world.open("10", "b2")
        talk.world.send(talk.callee, SwitchboardWorld.answer("11-10"))
        _ = talk.world.takeFrames(of: tablet)
        talk.world.send(tablet, end)
        let first = try #require(talk.world.takeFrames(of: tablet).ack)
        #expect(first["seq"] == nil)
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "11-10", id: "z"))
        talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        _ = talk.world.takeFrames(of: tablet)
        talk.world.send(tablet, end)
        #expect(talk.world.takeFrames(of: tablet).map(\.description) == [first.description])
        #expect(talk.world.switchboard.calls.live(of: try user("11")).count == 1)
    }

    @Test("A resent end goes to its own call, even if the next call is hidden and a third user uses the callId")
    func outsider() throws {
        let talk = try Talk()
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let first = try #require(talk.world.takeFrames(of: talk.callee).ack)
        talk.world.wait(30)
        talk.world.pong(talk.callee)
        talk.world.pong(talk.caller)
        let outsider = try talk.world.open("66", "x1")
        talk.world.send(outsider, SwitchboardWorld.offer("c-1", to: "10", id: "x", sdp: "v=0\\r\\ns=x\\r\\n"))
        talk.world.pong(talk.callee)
        talk.world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        talk.clear()
        _ = talk.world.takeFrames(of: outsider)
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(talk.world.takeFrames(of: talk.callee).map(\.description) == [first.description])
        #expect(talk.world.takeFrames(of: outsider).isEmpty)
    }

    @Test("The ack of a resent end reveals nothing of a later call that is hidden from its sender")
    func hidden() throws {
        let talk = try Talk(callID: "11-10")
        talk.clear()
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "11-10", id: "e", more: #","to":"11""#))
        let first = try #require(talk.world.takeFrames(of: talk.callee).ack)
        talk.world.pong(talk.callee)
        talk.world.pong(talk.caller)
        talk.world.request(try principal("10"), .blocks(.block(try user("11"))))
        talk.world.send(talk.caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "11-10", id: "e", more: #","to":"11""#))
        #expect(talk.world.takeFrames(of: talk.callee).map(\.description) == [first.description])
    }
}
