import CallCore
import CallPorts
import CallWire
import LibWebSockets
import ServerTesting
import SocketIO
import Switchboard
import Testing

@testable import Gateway

@Suite("The Socket.IO sessions of a gateway")
struct SocketIOSessionsTests {
    private static let start = Moment(milliseconds: 1_700_000_000_000)

    private static func session(in table: inout SocketIOSessions) -> SocketIOSession {
        let machine = SocketSession(
            names: ("sid", "public", "tag"),
            version: .v4,
            isSocket: true,
            credential: .none,
            trustsUnverifiedSocketIOUsers: false,
            at: start
        )
        let beginning = EngineHandshake.NewSession(
            version: .v4,
            credential: .none,
            principal: nil,
            device: nil,
            clientNetwork: RequestHead(path: "/").clientNetwork
        )
        let session = SocketIOSession(machine, id: table.makeID(), beginning)
        table.insert(session, at: start)
        table.join(session)
        return session
    }

    @Test("A device's cursors are remembered while its session is open, and for ten minutes after that")
    func cursors() throws {
        var table = SocketIOSessions()
        let session = Self.session(in: &table)
        let key = ReplayCursors.Key(user: try #require(UserID("11")), device: try #require(DeviceID("t-1")))
        let log = LogIdentity(callID: try #require(CallID("11-10")), room: "p2p:11-10", epoch: 1)
        session.cursorKey = key
        table.cursors.note([log: 7], by: key, at: Self.start)
        var now = Self.start
        func wait(_ seconds: Int64) {
            let end = now + .seconds(seconds)
            while now < end {
                now = now + .seconds(5)
                _ = table.due(at: now)
            }
        }
        // The call has no signal for an hour, so no cursor is noted again.
        wait(3_600)
        #expect(table.cursors.seen(by: key) == [log: 7])
        table.remove(session)
        // The table forgets cursors only when it checks a session, so there must be another session.
        _ = Self.session(in: &table)
        wait(500)
        #expect(table.cursors.seen(by: key) == [log: 7])
        wait(200)
        #expect(table.cursors.seen(by: key).isEmpty)
    }
}
