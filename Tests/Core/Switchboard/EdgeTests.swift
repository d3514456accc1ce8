import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Clients that name a user but no call")
struct EdgeTests {
    /// A signal as a Socket.IO client's connection sends it: it names a user but no call.
    private static func toldTo(_ user: String, _ type: String, id: String, more: String = "") -> String {
        #"{"type":"\#(type)","id":"\#(id)","to":"\#(user)"\#(more)}"#
    }

    private static func candidate(id: String) -> String {
        toldTo("10", "ice", id: id, more: #","candidate":{"candidate":"\#(id)"}"#)
    }

    /// A world in which a call of 11 and 10 has ended and is at rest; 11's app names users but no calls.
    private func rested(
        _ callID: String = "11-10"
    ) throws -> (world: SwitchboardWorld, caller: SocketID, callee: SocketID) {
        let world = SwitchboardWorld()
        let caller = world.join(try principal("11"))
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer(callID, to: "10"))
        world.pong(callee)
        world.send(callee, SwitchboardWorld.answer(callID))
        world.send(callee, SwitchboardWorld.plain("end", callID, id: "e"))
        for _ in 0..<2 {
            world.wait(26)
            world.pong(caller)
            world.pong(callee)
        }
        #expect(world.switchboard.calls.resting.count == 1)
        _ = (world.takeFrames(of: caller), world.takeFrames(of: callee))
        return (world, caller, callee)
    }

    @Test("Candidates without a callId belong to the offer before them, even if the offer waits for a call at rest")
    func candidatesBehindAnOffer() throws {
        let (world, caller, callee) = try rested()
        world.holdsResults = true
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.send(caller, Self.candidate(id: "i1"))
        world.send(caller, Self.candidate(id: "i2"))
        world.deliverResults()
        #expect(world.takeFrames(of: callee).types == ["offer", "ice", "ice"])
        #expect(world.takeFrames(of: caller).of("ack").map { $0["id"] } == ["o2", "i1", "i2"])
    }

    @Test("An end without a callId ends the preceding offer's call, even if the offer waits for a call at rest")
    func endBehindAnOffer() throws {
        let (world, caller, callee) = try rested()
        world.holdsResults = true
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.send(caller, Self.toldTo("10", "end", id: "e2"))
        world.deliverResults()
        #expect(world.takeFrames(of: callee).states == ["ended cancelled"])
        #expect(world.takeFrames(of: caller).of("ack").map { $0["id"] } == ["o2", "e2"])
    }

    @Test("A signal without a callId to another user does not wait for an offer that waits for a call at rest")
    func othersDoNotWait() throws {
        let (world, caller, _) = try rested()
        let other = try world.open("12", "c1")
        world.send(other, SwitchboardWorld.offer("c-2", to: "11"))
        world.pong(caller)
        world.holdsResults = true
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        world.send(caller, Self.toldTo("12", "ringing", id: "r"))
        #expect(world.takeFrames(of: caller).of("ack").map { $0["id"] } == ["r"])
    }

    @Test("An app that asks for the record while its offer waits for a call at rest gets the new call's record")
    func recordBehindAnOffer() throws {
        let (world, caller, _) = try rested()
        world.holdsResults = true
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        let id = world.request(try principal("11"), .calls(.justBegun(with: try user("10"))))
        // The results of both queries come from before the first commit of the new call.
        let answers = world.queries.map { ($1, world.kept.run($0)) }
        for (query, answer) in answers { world.give(.stored(.queryResult(query, answer))) }
        let reply = try #require(world.replies[id])
        #expect(reply.text.contains(#""epoch":2"#), "\(reply.text)")
    }

    @Test("A Socket.IO client that has every entry of an answered call is sent the call's state when it reconnects")
    func aLiveCallIsKnown() throws {
        let world = SwitchboardWorld()
        let caller = world.join(try principal("11"))
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10"))
        world.pong(callee)
        world.send(callee, SwitchboardWorld.answer("11-10"))
        let newest = try #require(world.takeFrames(of: caller).map(\.seq).max())
        world.give(.closed(caller))
        let name = LogIdentity(callID: try call("11-10"), room: "p2p:11-10", epoch: 1)
        let back = SocketID(rawValue: 99)
        world.give(.joined(back, try principal("11"), device: nil, seen: [name: newest]))
        let told = world.takeFrames(of: back)
        #expect(!told.types.contains("answer"))
        #expect(told.states == ["answered"], "otherwise it takes the end of another call with 10 for this one's end")
    }
}
