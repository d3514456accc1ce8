import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Presence when the store is slow or fails")
struct SlowStorePresenceTests {
    private func states(_ frames: [Frame]) -> [String] {
        frames.of("presence").map { "\($0["userId"] ?? "") \($0["online"] ?? "")" }
    }

    private static func ask(_ user: String) -> String { #"{"type":"presence","id":"p","userId":"\#(user)"}"# }

    @Test("The late result of a query from before a call does not decide presence")
    func staleAnswer() throws {
        let world = SwitchboardWorld()
        world.holdsResults = true
        let early = try world.open("11", "a1")
        world.send(early, Self.ask("12"))
        world.give(.closed(early))
        // 10 calls 11, who has no connection. 10 then ends the call and stays online.
        let peer = try world.open("10", "b1")
        world.send(peer, SwitchboardWorld.offer("c-1", to: "11"))
        world.send(peer, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let asker = try world.open("11", "a1")
        world.send(asker, Self.ask("10"))
        // Only now does the result of the query from before the call arrive, and then that of the later query, if there
        // is one.
        for (number, query) in world.queries.map(\.1).enumerated() {
            world.give(.stored(.queryResult(query, .peers(number == 0 ? [] : [try user("10")]))))
        }
        #expect(states(world.takeFrames(of: asker)).last == "10 true")
        world.give(.closed(peer))
        #expect(states(world.takeFrames(of: asker)).last == "10 false")
    }

    @Test("A connection learns that a peer went offline while the store is queried for the user's other connection")
    func askedAgain() throws {
        let world = SwitchboardWorld()
        let peer = try world.open("10", "b1")
        world.send(peer, SwitchboardWorld.offer("c-1", to: "11"))
        world.send(peer, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.failsQueries = true
        let first = try world.open("11", "a1")
        world.send(first, Self.ask("12"))
        world.failsQueries = false
        let second = try world.open("11", "a2")
        world.send(second, Self.ask("10"))
        #expect(states(world.takeFrames(of: second)) == ["10 true"])
        // When the server pings the first connection, it queries the store again. The store's result is held back.
        world.holdsResults = true
        for _ in 0..<2 {
            world.wait(25)
            for connection in [first, second, peer] { world.pong(connection) }
        }
        world.give(.closed(peer))
        world.deliverResults()
        #expect(states(world.takeFrames(of: second)) == ["10 false"])
    }
}
