import CallCore
import Testing

@Suite("A room's name")
struct RoomTests {
    private func peer(_ name: String, _ me: String) throws -> String? {
        guard case .pair(let peer) = try Room(name, for: try user(me)) else { return nil }
        return peer.text
    }

    @Test("The name of a pair's room is split at the asking user's id, at whichever end it stands")
    func split() throws {
        #expect(try peer("p2p:11-10", "11") == "10")
        #expect(try peer("p2p:11-10", "10") == "11")
    }

    @Test("The room of a pair is split correctly if a user id contains a dash")
    func dashes() throws {
        #expect(try peer("p2p:a-b-c", "a-b") == "c")
        #expect(try peer("p2p:a-b-c", "c") == "a-b")
        #expect(try peer("p2p:a-b-c", "a") == "b-c")
        #expect(try peer("p2p:a-b-c", "b-c") == "a")
        #expect(try peer("p2p:x-y-x-z", "x-y") == "x-z")
        #expect(try peer("p2p:x-y-x-z", "x-z") == "x-y")
    }

    @Test("A room's name that can be split into two different peers is refused")
    func ambiguous() throws {
        #expect(throws: Room.Refusal.foreign) { try Room("p2p:a-b-a", for: try user("a")) }
        #expect(throws: Room.Refusal.foreign) { try Room("p2p:a-a-b-a", for: try user("a")) }
    }

    @Test("A room's name is accepted if both ways to split it give the same peer")
    func sameEitherWay() throws {
        #expect(try peer("p2p:a-a-a", "a") == "a-a")
        #expect(try peer("p2p:11-11", "11") == "11")
    }

    @Test(
        "The room of a pair is refused for a user at neither end",
        arguments: ["p2p:111-10", "p2p:12-13", "p2p:12-1", "p2p:-11-", "p2p:1-1", "p2p:11-", "p2p:-11", "p2p:11-é"]
    )
    func foreign(_ name: String) throws {
        #expect(throws: Room.Refusal.foreign) { try Room(name, for: try user("11")) }
    }

    @Test(
        "A name without a known form is malformed",
        arguments: ["", "p2p", "p2p:", "p2p:11", "11-10", "P2P:11-10", "room:", "room:é", "room:a b", " p2p:11-10"]
    )
    func malformed(_ name: String) throws {
        #expect(throws: Room.Refusal.malformed) { try Room(name, for: try user("11")) }
    }

    @Test("A pair's name longer than two ids of the greatest length, and a group's name longer than one, are malformed")
    func tooLong() throws {
        let long = String(repeating: "x", count: 128)
        #expect(try peer("p2p:\(long)-\(long)", long) == long)
        #expect(throws: Room.Refusal.malformed) { try Room("p2p:\(long)-\(long)x", for: try user(long)) }
        #expect(throws: Room.Refusal.malformed) { try Room("room:\(long)x", for: try user("11")) }
    }

    @Test("The room of a group is its full name")
    func group() throws {
        #expect(try Room("room:team-1", for: try user("11")) == .group("room:team-1"))
    }

    @Test("The room of a call names the caller first")
    func name() throws {
        #expect(Room.name(caller: try user("11"), callee: try user("10")) == "p2p:11-10")
    }

    @Test("A callId of the form <me>-<peer> names the peer")
    func callID() throws {
        #expect(Room.peer(inCallID: try call("11-10"), for: try user("11"))?.text == "10")
        #expect(Room.peer(inCallID: try call("a-b-c"), for: try user("a-b"))?.text == "c")
        #expect(Room.peer(inCallID: try call("11-10"), for: try user("10")) == nil)
        #expect(Room.peer(inCallID: try call("11-"), for: try user("11")) == nil)
        #expect(Room.peer(inCallID: try call("11"), for: try user("11")) == nil)
    }
}
