import CallCore
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
        let world = World()
        let caller: SessionID
        let callee: SessionID

        init(_ device: String?, by renewal: Renewal, answersByRequest: Bool, before: Bool = false) throws {
            let world = world
            caller = try world.open("11", "a1")
            let first = world.session(try who("10"), device: device)
            world.send(caller, World.offer("c-1", to: "10"))
            world.pong(first)
            if !before { try Self.answer(world, 1, by: answersByRequest ? nil : first) }
            callee = try Self.renew(world, first, device, by: renewal)
            if before { try Self.answer(world, 2, by: answersByRequest ? nil : callee) }
            _ = world.taken(caller)
            if renewal == .auth, !before { _ = world.taken(callee) }
        }

        private static func answer(_ world: World, _ token: UInt64, by session: SessionID?) throws {
            if let session {
                world.send(session, World.answer("c-1"))
            } else {
                #expect(try world.post(try who("10", token: token), World.answer("c-1")).status == 200)
            }
        }

        private static func renew(
            _ world: World,
            _ session: SessionID,
            _ device: String?,
            by renewal: Renewal
        ) throws -> SessionID {
            let renewed = try who("10", token: 2)
            switch renewal {
            case .auth:
                world.give(.verified(session, id: nil, .success(renewed)))
                return session
            case .reconnect:
                if device == nil { world.give(.closed(session)) }
                return world.session(renewed, device: device)
            }
        }
    }

    @Test(
        "A request that names no device ends the call under the renewed token",
        arguments: ["b1", nil] as [String?],
        Renewal.allCases
    )
    func end(_ device: String?, _ renewal: Renewal) throws {
        let talk = try Renewed(device, by: renewal, answersByRequest: false)
        let reply = try talk.world.reply(try who("10", token: 2), .end(try call("c-1"), device: nil))
        #expect(reply.status == 200)
        #expect(talk.world.taken(talk.caller).states == ["ended hangup"])
    }

    @Test(
        "A request that names no device is shown the answered call under the renewed token",
        arguments: ["b1", nil] as [String?],
        Renewal.allCases
    )
    func fetch(_ device: String?, _ renewal: Renewal) throws {
        let talk = try Renewed(device, by: renewal, answersByRequest: false)
        #expect(try talk.world.fetched(try who("10", token: 2), "c-1")["state"] == "answered")
    }

    @Test(
        "A device that answered by request takes part in the call over its connection, and ends it",
        arguments: [("b1", .auth), ("b1", .reconnect), (nil, .auth)] as [(String?, Renewal)]
    )
    func socket(_ device: String?, _ renewal: Renewal) throws {
        let talk = try Renewed(device, by: renewal, answersByRequest: true)
        if renewal == .reconnect { #expect(!talk.world.taken(talk.callee).states.contains { $0.hasPrefix("ended") }) }
        talk.world.send(talk.caller, World.ice("c-1", id: "i"))
        #expect(talk.world.taken(talk.callee).types.contains("ice"))
        talk.world.wait(20)
        for session in [talk.caller, talk.callee] { talk.world.pong(session) }
        talk.world.wait(20)
        #expect(talk.world.board.calls.liveCount == 1)
        _ = talk.world.taken(talk.caller)
        talk.world.send(talk.callee, World.plain("end", "c-1", id: "e"))
        #expect(talk.world.taken(talk.caller).states == ["ended hangup"])
    }

    @Test(
        "A device that answers by request is not told over its connection that the call was answered elsewhere",
        arguments: ["b1", nil] as [String?],
        Renewal.allCases
    )
    func answers(_ device: String?, _ renewal: Renewal) throws {
        let talk = try Renewed(device, by: renewal, answersByRequest: true, before: true)
        #expect(!talk.world.taken(talk.callee).states.contains { $0.hasPrefix("ended") })
        talk.world.send(talk.caller, World.ice("c-1", id: "i"))
        #expect(talk.world.taken(talk.callee).types.contains("ice"))
    }

    @Test("A device that renewed its token on its connection keeps its call over a restart", arguments: [false, true])
    func restarted(answersByRequest: Bool) throws {
        let talk = try Renewed(nil, by: .auth, answersByRequest: answersByRequest)
        let next = talk.world.restarted(crashes: 1)
        let caller = try next.open("11", "a1")
        let callee = next.session(try who("10", token: 2))
        #expect(next.taken(callee).states == ["answered"])
        next.wait(20)
        for session in [caller, callee] { next.pong(session) }
        next.wait(20)
        #expect(next.board.calls.liveCount == 1)
    }

    @Test("A call stays with the device that keeps the old token when another device renews the same token")
    func shared() throws {
        let world = World()
        let caller = try world.open("11", "a1")
        let inCall = world.session(try who("10"))
        let other = world.session(try who("10"))
        world.send(caller, World.offer("c-1", to: "10"))
        for session in [inCall, other] { world.pong(session) }
        #expect(try world.post(try who("10"), World.answer("c-1")).status == 200)
        world.give(.verified(other, id: nil, .success(try who("10", token: 2))))
        _ = world.taken(inCall)
        world.send(caller, World.ice("c-1", id: "i"))
        #expect(world.taken(inCall).types.contains("ice"))
    }

    @Test("A caller that began the call by request continues it over its connection", arguments: Renewal.allCases)
    func caller(_ renewal: Renewal) throws {
        let world = World()
        let first = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        #expect(try world.post(try who("11"), World.offer("c-1", to: "10")).status == 200)
        world.send(callee, World.answer("c-1"))
        #expect(world.taken(first).types.contains("answer"))
        var again = first
        switch renewal {
        case .auth: world.give(.verified(first, id: nil, .success(try who("11", token: 2))))
        case .reconnect: again = world.session(try who("11", token: 2), device: "a1")
        }
        world.send(callee, World.ice("c-1", id: "i"))
        #expect(world.taken(again).types.contains("ice"))
        world.wait(20)
        for session in [again, callee] { world.pong(session) }
        world.wait(20)
        #expect(world.board.calls.liveCount == 1)
        _ = world.taken(callee)
        world.send(again, World.plain("end", "c-1", id: "e"))
        #expect(world.taken(callee).states == ["ended hangup"])
    }
}
