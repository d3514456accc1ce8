import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Presence")
struct PresenceTests {
    private func states(_ frames: [Frame]) -> [String] {
        frames.of("presence").map { "\($0["userId"] ?? "") \($0["online"] ?? "")" }
    }

    @Test("A user that asks is told a peer's presence immediately and at each change, not once per connection")
    func asked() throws {
        let world = SwitchboardWorld()
        let asker = try world.open("11", "a1")
        let unrelated = try world.open("12", "c1")
        world.send(asker, SwitchboardWorld.text(to: "10"))
        _ = world.takeFrames(of: asker)
        world.send(asker, #"{"type":"presence","id":"p","userId":"10"}"#)
        #expect(states(world.takeFrames(of: asker)) == ["10 false"])
        let one = try world.open("10", "b1")
        let two = try world.open("10", "b2")
        #expect(states(world.takeFrames(of: asker)) == ["10 true"])
        world.give(.closed(one))
        #expect(states(world.takeFrames(of: asker)).isEmpty)
        world.give(.closed(two))
        #expect(states(world.takeFrames(of: asker)) == ["10 false"])
        #expect(states(world.takeFrames(of: unrelated)).isEmpty)
        world.give(.closed(asker))
        _ = try world.open("10", "b1")
        #expect(world.switchboard.connections.watchedCount == 0)
    }

    @Test("If the store could not be read, presence is reported with one of the next pings", arguments: [false, true])
    func unreadable(_ isStateless: Bool) throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.give(.closed(caller))
        world.failsQueries = true
        let asker = isStateless ? try world.openWithoutCursor("11", connection: 1 << 40) : try world.open("11", "a1")
        world.send(asker, #"{"type":"presence","id":"p","userId":"10"}"#)
        let peer = try world.open("10", "b1")
        #expect(!states(world.takeFrames(of: asker)).contains("10 true"))
        world.failsQueries = false
        for _ in 0..<2 {
            world.wait(26)
            for connection in [asker, peer] { world.pong(connection) }
        }
        #expect(states(world.takeFrames(of: asker)) == ["10 true"])
        world.give(.closed(peer))
        #expect(states(world.takeFrames(of: asker)) == ["10 false"])
    }

    @Test("Presence does not change when a device replaces its own connection")
    func replaced() throws {
        let world = SwitchboardWorld()
        let asker = try world.open("11", "a1")
        _ = try world.open("10", "b1")
        world.send(asker, SwitchboardWorld.text(to: "10"))
        world.send(asker, #"{"type":"presence","id":"p","userId":"10"}"#)
        #expect(states(world.takeFrames(of: asker)) == ["10 true"])
        _ = try world.open("10", "b1")
        #expect(states(world.takeFrames(of: asker)).isEmpty)
    }

    @Test("A client without a cursor is told the presence of a live call's peer unasked, unless that peer blocks it")
    func calls() throws {
        let world = SwitchboardWorld()
        let caller = try world.openWithoutCursor("11", connection: 1 << 40)
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10"))
        _ = world.takeFrames(of: caller)
        let callee = try world.open("10", "b1")
        #expect(states(world.takeFrames(of: caller)) == ["10 true"])
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        #expect(states(world.takeFrames(of: caller)) == ["10 false"])
        world.give(.closed(callee))
        #expect(states(world.takeFrames(of: caller)).isEmpty)
        world.send(caller, #"{"type":"presence","id":"p","userId":"10"}"#)
        _ = try world.open("10", "b1")
        #expect(states(world.takeFrames(of: caller)) == ["10 false"])
    }

    @Test("A connection may watch the presence of 256 users")
    func limit() throws {
        let world = SwitchboardWorld()
        let asker = try world.open("11", "a1")
        for index in 0...256 {
            world.send(asker, #"{"type":"presence","id":"p","userId":"u\#(index)"}"#)
            world.wait(.milliseconds(100))
        }
        #expect(world.takeFrames(of: asker).code == "rate_limited")
        #expect(world.switchboard.metrics.limited[.presence] == 1)
    }

    private static func ask(_ user: String) -> String { #"{"type":"presence","id":"p","userId":"\#(user)"}"# }

    @Test("A user looks offline to another until there is a call or a text between them")
    func unrelated() throws {
        let world = SwitchboardWorld()
        let (asker, other) = (try world.open("11", "a1"), try world.open("10", "b1"))
        _ = world.takeFrames(of: asker)
        world.send(asker, Self.ask("10"))
        let unrelated = world.takeFrames(of: asker).map(\.description)
        world.send(asker, Self.ask("nobody"))
        #expect(world.takeFrames(of: asker).map { $0.description.replacing("nobody", with: "10") } == unrelated)
        #expect(
            unrelated == [
                #"{"type":"presence","userId":"10","online":false}"#, #"{"type":"ack","id":"p","online":false}"#,
            ]
        )
        world.give(.closed(other))
        _ = try world.open("10", "b1")
        #expect(world.takeFrames(of: asker).isEmpty)
        world.send(asker, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(states(world.takeFrames(of: asker)) == ["10 true"])
        #expect(world.queries.count == 1, "the store is asked once")
    }

    @Test("Users with a call in the history see each other's presence, even after a restart")
    func history() throws {
        let talk = try Talk()
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        let world = talk.world.restarted()
        let (asker, third) = (try world.open("10", "b1"), try world.open("12", "d1"))
        _ = try world.open("11", "a1")
        for connection in [asker, third] { world.send(connection, Self.ask("11")) }
        #expect(states(world.takeFrames(of: asker)) == ["11 true"])
        #expect(states(world.takeFrames(of: third)) == ["11 false"])
    }

    @Test("A client without a cursor is told the presence of its contacts unasked")
    func contacts() throws {
        let talk = try Talk()
        let world = talk.world.restarted()
        let other = try world.openWithoutCursor("11", connection: 1 << 40)
        #expect(states(world.takeFrames(of: other)).isEmpty)
        let callee = try world.open("10", "b1")
        #expect(states(world.takeFrames(of: other)) == ["10 true"])
        world.give(.closed(callee))
        #expect(states(world.takeFrames(of: other)) == ["10 false"])
        _ = try world.open("10", "b1")
        let again = try world.openWithoutCursor("11", token: 2, connection: 2 << 40)
        #expect(states(world.takeFrames(of: again)) == ["10 true"])
        let third = try world.openWithoutCursor("12", connection: 3 << 40)
        #expect(states(world.takeFrames(of: third)).isEmpty)
        world.send(third, SwitchboardWorld.text(to: "10"))
        world.give(.closed(third))
        #expect(states(world.takeFrames(of: try world.openWithoutCursor("12", connection: 4 << 40))) == ["10 true"])
    }

    @Test("A client without a cursor is told the other user's presence as soon as the two get in touch")
    func newContact() throws {
        let world = SwitchboardWorld()
        let asker = try world.openWithoutCursor("11", connection: 1 << 40)
        let other = try world.open("10", "b1")
        _ = world.takeFrames(of: asker)
        world.send(other, SwitchboardWorld.text(to: "11"))
        #expect(states(world.takeFrames(of: asker)) == ["10 true"])
        world.give(.closed(other))
        #expect(states(world.takeFrames(of: asker)) == ["10 false"])
    }

    @Test("A block hides presence, and its removal shows it again")
    func block() throws {
        let world = SwitchboardWorld()
        let (asker, other) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(other, SwitchboardWorld.text(to: "11"))
        world.send(asker, Self.ask("10"))
        _ = world.takeFrames(of: asker)
        _ = try world.reply(try principal("10"), .blocks(.block(try user("11"))))
        #expect(states(world.takeFrames(of: asker)) == ["10 false"])
        _ = try world.reply(try principal("10"), .blocks(.unblock(try user("11"))))
        #expect(states(world.takeFrames(of: asker)) == ["10 true"])
    }

    @Test("If the store cannot be read, all replies that wait for it are returned, and the store is queried again")
    func failing() throws {
        var contacts = Contacts()
        let (a, b) = (try user("11"), try user("10"))
        let reply = Contacts.PendingReply.presence(SocketID(rawValue: 1), b, nil)
        #expect(contacts.areInTouch(a, b) == nil)
        let (first, second) = (contacts.addPending(reply, for: a), contacts.addPending(reply, for: a))
        #expect(first && !second)
        #expect(contacts.storeAnswered(nil, for: a).count == 2)
        #expect(contacts.areInTouch(a, b) == nil, "it is asked again")
    }

    @Test("A limited number of pairs that exchanged a text are remembered; the oldest is forgotten first")
    func texts() throws {
        var contacts = Contacts()
        let a = try user("11")
        for number in 0...SwitchboardLimits.textedPairs { contacts.texted(a, try user("u\(number)")) }
        #expect(contacts.areInTouch(a, try user("u0")) == nil)
        #expect(contacts.areInTouch(try user("u1"), a) == true)
    }
}
