import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Marks and bonds of connections, for the next owner of the calls")
struct MarkTests {
    private static func world() -> SwitchboardWorld { SwitchboardWorld { $0.marksLogs = true } }

    /// The marks among the outputs for a connection, each followed by the frame that it is about.
    private static func marks(_ world: SwitchboardWorld, _ connection: SocketID) -> [String] {
        let all = world.marks[connection] ?? []
        return zip(all, all.dropFirst()).compactMap { mark, frame in
            guard case .mark(_, let seq) = mark, case .frame(let type) = frame else { return nil }
            return "\(seq) \(type)"
        }
    }

    private static func bonds(_ world: SwitchboardWorld, _ connection: SocketID) -> [Bool] {
        (world.marks[connection] ?? []).compactMap { if case .bound(let isBound) = $0 { isBound } else { nil } }
    }

    @Test("Each entry of a log that a connection is sent has its mark directly before it")
    func relayed() throws {
        let talk = try Talk.answered(Self.world())
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(Self.marks(talk.world, talk.callee) == ["1 offer", "4 call", "5 ice", "6 end", "7 call"])
        #expect(Self.marks(talk.world, talk.caller) == ["2 call", "3 answer", "4 call", "7 call"])
        let count = talk.world.marks[talk.callee]?.count { if case .mark = $0 { true } else { false } }
        #expect(count == 5, "no mark stands alone")
    }

    @Test("Replayed entries and end notices are marked")
    func replayed() throws {
        let talk = try Talk.answered(Self.world())
        let again = try talk.world.open("10", "b1")
        #expect(Self.marks(talk.world, again) == ["1 offer", "4 call"])
        talk.world.give(.closed(again))
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let late = try talk.world.open("10", "b1")
        #expect(Self.marks(talk.world, late) == ["6 call"])
    }

    @Test("Entries that were withheld are marked when they are shown")
    func withheld() throws {
        let world = SwitchboardWorld {
            $0.marksLogs = true
            $0.withholdsDecisions = true
        }
        world.holdsCommits = true
        let talk = try Talk(world)
        #expect(Self.marks(world, talk.callee).isEmpty)
        world.commit()
        #expect(Self.marks(world, talk.callee) == ["1 offer"])
    }

    @Test("Without the policy, there are no marks and no bonds")
    func off() throws {
        let talk = try Talk.answered()
        talk.world.send(talk.caller, #"{"type":"join","id":"j","room":"p2p:11-10"}"#)
        let others = talk.world.marks.values.joined().filter { if case .frame = $0 { false } else { true } }
        #expect(others.isEmpty)
    }

    @Test("A connection in a room is bound before its ack, until it has left its last room")
    func rooms() throws {
        let world = Self.world()
        let connection = try world.open("11", "a1")
        world.send(connection, #"{"type":"join","id":"1","room":"p2p:11-10"}"#)
        #expect(world.marks[connection]?.suffix(2) == [.bound(true), .frame("ack")])
        world.send(connection, #"{"type":"join","id":"2","room":"p2p:11-12"}"#)
        world.send(connection, #"{"type":"leave","id":"3","room":"p2p:11-10"}"#)
        #expect(Self.bonds(world, connection) == [true])
        world.send(connection, #"{"type":"leave","id":"4","room":"p2p:11-12"}"#)
        #expect(world.marks[connection]?.suffix(2) == [.bound(false), .frame("ack")])
    }

    @Test("A connection that watches somebody's presence stays bound")
    func presence() throws {
        let world = Self.world()
        let connection = try world.open("11", "a1")
        world.send(connection, #"{"type":"presence","id":"1","userId":"10"}"#)
        #expect(Self.bonds(world, connection) == [true])
        #expect(world.marks[connection]?.suffix(3) == [.bound(true), .frame("presence"), .frame("ack")])
    }

    @Test("A connection is bound while its token is verified, and stays bound if the token was renewed")
    func tokens() throws {
        let world = Self.world()
        let connection = try world.open("11", "a1")
        world.send(connection, #"{"type":"auth","id":"1","token":"x"}"#)
        #expect(Self.bonds(world, connection) == [true])
        let refusal = WireError(.unauthenticated, "no")
        world.give(.verified(connection, id: SignalID("1"), .failure(refusal)))
        #expect(Self.bonds(world, connection) == [true, false])
        world.send(connection, #"{"type":"auth","id":"2","token":"y"}"#)
        world.give(.verified(connection, id: SignalID("2"), .success(try principal("11", token: 2))))
        #expect(Self.bonds(world, connection) == [true, false, true])
    }

    @Test("A connection is bound while a signal of it waits for a call at rest, and until the signal is durable")
    func parked() throws {
        let talk = try Talk.answered(Self.world())
        let world = talk.world
        world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        for _ in 0..<2 {
            world.wait(26)
            world.pong(talk.caller)
            world.pong(talk.callee)
        }
        #expect(world.switchboard.calls.count == 0)
        world.holdsResults = true
        world.send(talk.caller, SwitchboardWorld.offer("c-1", to: "10", id: "o2", sdp: "v=0\\r\\ns=2\\r\\n"))
        #expect(Self.bonds(world, talk.caller) == [true])
        world.holdsCommits = true
        world.deliverResults()
        #expect(Self.bonds(world, talk.caller) == [true], "the offer is not durable yet")
        world.commit()
        #expect(Self.bonds(world, talk.caller) == [true, false])
        #expect(world.marks[talk.caller]?.last == .bound(false))
    }

    @Test("A connection is bound while the logs that it asked for are sent to it in slices")
    func sync() throws {
        let world = SwitchboardWorld {
            $0.marksLogs = true
            $0.replaySlice = 500
        }
        let talk = try Talk.answered(world)
        for number in 0..<20 { world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i\(number)")) }
        world.pong(talk.callee)
        world.send(talk.callee, #"{"type":"sync","id":"s","calls":{"c-1":0}}"#)
        #expect(Self.bonds(world, talk.callee) == [true])
        for _ in 0..<30 { world.pong(talk.callee) }
        #expect(Self.bonds(world, talk.callee) == [true, false])
        #expect(world.takeFrames(of: talk.callee).ack?["id"] == "s")
    }
}
