import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("The registry of connections")
struct ConnectionRegistryTests {
    @Test("A user's connections are found in the order in which they opened, until they close")
    func byUser() throws {
        var registry = ConnectionRegistry()
        let connections = try [(3, "11"), (1, "11"), (2, "10")].map { try Values.connection($0.0, $0.1) }
        for connection in connections { registry.insert(connection) }
        let user = try user("11")
        #expect(registry.of(user).map(\.id.rawValue) == [3, 1])
        #expect(registry.all.map(\.id.rawValue) == [1, 2, 3])
        #expect(registry[SocketID(rawValue: 2)] === connections[2])
        for id in [3, 1] {
            #expect(registry.isOnline(user))
            let removed = registry.remove(SocketID(rawValue: UInt64(id)))
            #expect(removed?.id.rawValue == UInt64(id))
        }
        #expect(!registry.isOnline(user) && registry.of(user).isEmpty && registry.count == 1)
        let again = registry.remove(SocketID(rawValue: 3))
        #expect(again == nil)
    }

    @Test("A room lists its members in the order in which they entered, under the name that each used")
    func rooms() throws {
        var registry = ConnectionRegistry()
        let (a, b) = (try Values.connection(1, "11"), try Values.connection(2, "10"))
        let room = RoomKey.pair(Pair(a.user, b.user))
        registry.enter(room, b, as: "p2p:10-11")
        registry.enter(room, a, as: "p2p:11-10")
        #expect(registry.members(of: room).map(\.id.rawValue) == [2, 1])
        #expect(a.rooms[room] == "p2p:11-10")
        let wasThere = [registry.leave(room, b), registry.leave(room, b)]
        #expect(wasThere == [true, false])
        #expect(registry.members(of: room).map(\.id.rawValue) == [1] && b.rooms.isEmpty)
    }

    @Test("A connection can watch a limited number of users, and `watchNobody` removes it from their watchers")
    func watching() throws {
        var registry = ConnectionRegistry()
        let connection = try Values.connection(1, "11")
        for number in 0..<SwitchboardLimits.watchedPerConnection {
            let isWatched = registry.watch(try user("u\(number)"), by: connection)
            #expect(isWatched)
        }
        let (further, again) = (
            registry.watch(try user("x"), by: connection), registry.watch(try user("u0"), by: connection)
        )
        #expect(!further && again)
        #expect(registry.watchers(of: try user("u0")).count == 1)
        registry.watchNobody(connection)
        #expect(registry.watchedCount == 0 && connection.watched.isEmpty)
    }

    @Test("The registry remembers how many connections there were when the draining began")
    func draining() throws {
        var registry = ConnectionRegistry()
        registry.insert(try Values.connection(1, "11"))
        #expect(!registry.isDraining && registry.drained == 0)
        registry.drain()
        _ = registry.remove(SocketID(rawValue: 1))
        #expect(registry.isDraining && registry.drained == 1)
    }
}
