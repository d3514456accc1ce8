import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

/// A device that renews its token in a call stays the same device, on its connection and in requests that name no
/// device.
@Suite("A device that renews its token in a call")
struct RenewedTokenTests {
    /// The way by which a device gets its second token.
    enum Renewal: CaseIterable { case auth, reconnect }

    /// A call from 11 to 10; 10 answers by request or by its connection, and renews its token.
    ///
    /// With `before`, the token is renewed before the answer.
    private struct Renewed {
        let world = SwitchboardWorld()
        let caller: SocketID
        let callee: SocketID

        init(_ device: String?, by renewal: Renewal, answersByRequest: Bool, before: Bool = false) throws {
            let world = world
            caller = try world.open("11", "a1")
            let first = world.connect(try principal("10"), device: device)
            world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
            world.pong(first)
            if !before { try Self.answer(world, 1, by: answersByRequest ? nil : first) }
            callee = try Self.renew(world, first, device, by: renewal)
            if before { try Self.answer(world, 2, by: answersByRequest ? nil : callee) }
            _ = world.takeFrames(of: caller)
            if renewal == .auth, !before { _ = world.takeFrames(of: callee) }
        }

        private static func answer(_ world: SwitchboardWorld, _ token: UInt64, by connection: SocketID?) throws {
            if let connection {
                world.send(connection, SwitchboardWorld.answer("c-1"))
            } else {
                #expect(try world.post(try principal("10", token: token), SwitchboardWorld.answer("c-1")).status == 200)
            }
        }

        private static func renew(
            _ world: SwitchboardWorld,
            _ connection: SocketID,
            _ device: String?,
            by renewal: Renewal
        ) throws -> SocketID {
            let renewed = try principal("10", token: 2)
            switch renewal {
            case .auth:
                world.give(.verified(connection, id: nil, .success(renewed)))
                return connection
            case .reconnect:
                if device == nil { world.give(.closed(connection)) }
                return world.connect(renewed, device: device)
            }
        }
    }

    @Test(
        "A request with the renewed token that names no device ends the call",
        arguments: ["b1", nil] as [String?],
        Renewal.allCases
    )
    func end(_ device: String?, _ renewal: Renewal) throws {
        let talk = try Renewed(device, by: renewal, answersByRequest: false)
        let reply = try talk.world.reply(try principal("10", token: 2), .end(try call("c-1"), device: nil))
        #expect(reply.status == 200)
        #expect(talk.world.takeFrames(of: talk.caller).states == ["ended hangup"])
    }

    @Test(
        "A fetch with the renewed token that names no device returns the answered call",
        arguments: ["b1", nil] as [String?],
        Renewal.allCases
    )
    func fetch(_ device: String?, _ renewal: Renewal) throws {
        let talk = try Renewed(device, by: renewal, answersByRequest: false)
        #expect(try talk.world.fetched(try principal("10", token: 2), "c-1")["state"] == "answered")
    }

    @Test(
        "A device that answered by request takes part in the call over its connection, and ends it",
        arguments: [("b1", .auth), ("b1", .reconnect), (nil, .auth)] as [(String?, Renewal)]
    )
    func socket(_ device: String?, _ renewal: Renewal) throws {
        let talk = try Renewed(device, by: renewal, answersByRequest: true)
        if renewal == .reconnect {
            #expect(!talk.world.takeFrames(of: talk.callee).states.contains { $0.hasPrefix("ended") })
        }
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(talk.world.takeFrames(of: talk.callee).types.contains("ice"))
        talk.world.wait(20)
        for connection in [talk.caller, talk.callee] { talk.world.pong(connection) }
        talk.world.wait(20)
        #expect(talk.world.switchboard.calls.liveCount == 1)
        _ = talk.world.takeFrames(of: talk.caller)
        talk.world.send(talk.callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(talk.world.takeFrames(of: talk.caller).states == ["ended hangup"])
    }

    @Test(
        "A device that answers by request is not told over its connection that the call was answered elsewhere",
        arguments: ["b1", nil] as [String?],
        Renewal.allCases
    )
    func answers(_ device: String?, _ renewal: Renewal) throws {
        let talk = try Renewed(device, by: renewal, answersByRequest: true, before: true)
        #expect(!talk.world.takeFrames(of: talk.callee).states.contains { $0.hasPrefix("ended") })
        talk.world.send(talk.caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(talk.world.takeFrames(of: talk.callee).types.contains("ice"))
    }

    @Test("A device that renewed its token on its connection keeps its call over a restart", arguments: [false, true])
    func restarted(answersByRequest: Bool) throws {
        let talk = try Renewed(nil, by: .auth, answersByRequest: answersByRequest)
        let next = talk.world.restarted(uncleanStarts: 1)
        let caller = try next.open("11", "a1")
        let callee = next.connect(try principal("10", token: 2))
        #expect(next.takeFrames(of: callee).states == ["answered"])
        next.wait(20)
        for connection in [caller, callee] { next.pong(connection) }
        next.wait(20)
        #expect(next.switchboard.calls.liveCount == 1)
    }

    @Test("A call stays with the device that keeps the old token when another device renews the same token")
    func shared() throws {
        let world = SwitchboardWorld()
        let caller = try world.open("11", "a1")
        let inCall = world.connect(try principal("10"))
        let other = world.connect(try principal("10"))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        for connection in [inCall, other] { world.pong(connection) }
        #expect(try world.post(try principal("10"), SwitchboardWorld.answer("c-1")).status == 200)
        world.give(.verified(other, id: nil, .success(try principal("10", token: 2))))
        _ = world.takeFrames(of: inCall)
        world.send(caller, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(world.takeFrames(of: inCall).types.contains("ice"))
    }

    @Test("A caller that began the call by request continues it over its connection", arguments: Renewal.allCases)
    func caller(_ renewal: Renewal) throws {
        let world = SwitchboardWorld()
        let first = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        #expect(try world.post(try principal("11"), SwitchboardWorld.offer("c-1", to: "10")).status == 200)
        world.send(callee, SwitchboardWorld.answer("c-1"))
        #expect(world.takeFrames(of: first).types.contains("answer"))
        var again = first
        switch renewal {
        case .auth: world.give(.verified(first, id: nil, .success(try principal("11", token: 2))))
        case .reconnect: again = world.connect(try principal("11", token: 2), device: "a1")
        }
        world.send(callee, SwitchboardWorld.ice("c-1", id: "i"))
        #expect(world.takeFrames(of: again).types.contains("ice"))
        world.wait(20)
        for connection in [again, callee] { world.pong(connection) }
        world.wait(20)
        #expect(world.switchboard.calls.liveCount == 1)
        _ = world.takeFrames(of: callee)
        world.send(again, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(world.takeFrames(of: callee).states == ["ended hangup"])
    }
}
