import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("A device whose connection ends while it rings")
struct AbsenceTests {
    /// A world in which 11 rings 10, whose device b1 has a VoIP token and a connection that has answered its probe.
    private func world() throws -> (SwitchboardWorld, caller: SocketID, callee: SocketID) {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1")
        let caller = try world.open("11", "a1")
        let callee = try world.open("10", "b1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.pong(callee)
        return (world, caller, callee)
    }

    @Test("It is pushed once after three seconds of absence")
    func absent() throws {
        let (world, _, callee) = try world()
        world.wait(1)
        world.give(.closed(callee))
        world.wait(.milliseconds(2_999))
        #expect(world.pushes.isEmpty)
        world.wait(.milliseconds(1))
        let push = try #require(world.takenPushes().first)
        #expect(push.route.token == "b1b1")
        world.respondToPush(push, 200)
        world.wait(20)
        #expect(world.pushes.isEmpty)
    }

    @Test("The verdict says why it was pushed")
    func verdict() throws {
        let (world, _, callee) = try world()
        world.give(.closed(callee))
        world.wait(4)
        world.respondToPush(try #require(world.takenPushes().first), 200)
        var service = try principal("1")
        service.isService = true
        let told = try world.reply(service, .calls(.timeline(try call("c-1")))).text
        #expect(told.contains("its connection had answered its ping, and ended before it rang"), "\(told)")
    }

    @Test("It is not pushed if it has said that it rings, before or after it came back")
    func ringing() throws {
        for comesBack in [false, true] {
            let (world, _, callee) = try world()
            if comesBack {
                world.give(.closed(callee))
                world.wait(1)
                let again = try world.open("10", "b1")
                world.send(again, SwitchboardWorld.plain("ringing", "c-1", id: "r"))
                world.give(.closed(again))
            } else {
                world.send(callee, SwitchboardWorld.plain("ringing", "c-1", id: "r"))
                world.give(.closed(callee))
            }
            world.wait(20)
            #expect(world.pushes.isEmpty)
        }
    }

    @Test("It is not pushed if it comes back in time; if it leaves again, the time starts again")
    func returns() throws {
        let (world, _, callee) = try world()
        world.give(.closed(callee))
        world.wait(2)
        let again = try world.open("10", "b1")
        world.pong(again)
        world.wait(2)
        #expect(world.pushes.isEmpty)
        world.give(.closed(again))
        world.wait(.milliseconds(2_999))
        #expect(world.pushes.isEmpty)
        world.wait(.milliseconds(1))
        #expect(world.takenPushes().count == 1)
    }

    @Test("It is not pushed once the call no longer rings, is silenced, or if its user sets do-not-disturb")
    func over() throws {
        for reason in 0..<3 {
            let (world, caller, callee) = try world()
            if reason == 1 {
                world.send(
                    callee,
                    SwitchboardWorld.plain("ringing", "c-1", id: "r", more: #","shown":false,"why":"focus""#)
                )
            }
            world.give(.closed(callee))
            world.wait(1)
            if reason == 0 { world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e")) }
            if reason == 2 {
                _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(600))))
            }
            world.wait(20)
            #expect(world.takenPushes().allSatisfy { $0.route.kind != .voip })
        }
    }

    @Test("Only the device that left is pushed, by its best route; a device that was pushed before is not")
    func others() throws {
        let (world, _, callee) = try world()
        try world.register(try principal("10"), "b2", voip: "b2b2")
        world.give(.closed(callee))
        world.wait(4)
        #expect(world.takenPushes().map(\.route.token) == ["b1b1"])
    }
}

@Suite("A device that has said that it rings, after a restart")
struct RingingAfterRestartTests {
    /// A world in which 11 rings the devices of 10 with these ids, which have VoIP tokens and connections.
    private func rung(_ ids: [String]) throws -> (SwitchboardWorld, [SocketID]) {
        let world = SwitchboardWorld()
        for id in ids { try world.register(try principal("10"), id, voip: id) }
        let connections = try ids.map { try world.open("10", $0) }
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        for connection in connections { world.pong(connection) }
        return (world, connections)
    }

    private let ringing = SwitchboardWorld.plain("ringing", "c-1", id: "r")

    @Test("It is not pushed, whether it had left before or not; the others are", arguments: [false, true])
    func restart(_ hasLeft: Bool) throws {
        let (world, connections) = try rung(["b1", "b2"])
        world.send(connections[0], ringing)
        if hasLeft { for connection in connections { world.give(.closed(connection)) } }
        world.commit()
        for node in [nil, "node-2:7070"] {
            let again = world.restarted(uncleanStarts: 1) { $0.nodeAddress = node }
            again.wait(10)
            #expect(again.takenPushes().map(\.route.token) == ["b2"])
        }
    }

    @Test("It is not pushed if it has said so by a request")
    func request() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takenPushes().count == 1, "its result is lost with the server")
        _ = try world.post(try principal("10"), #"{"action":"ringing","callId":"c-1","deviceId":"b1"}"#)
        world.commit()
        let again = world.restarted(uncleanStarts: 1)
        again.wait(10)
        #expect(again.takenPushes().isEmpty)
    }

    @Test("It is not pushed either if it says so after the restart, and leaves at once", arguments: [false, true])
    func afterwards(_ says: Bool) throws {
        let (world, _) = try rung(["b1"])
        world.commit()
        let again = world.restarted(uncleanStarts: 1)
        let phone = try again.open("10", "b1")
        if says { again.send(phone, ringing) } else { again.pong(phone) }
        again.give(.closed(phone))
        again.wait(10)
        #expect(again.takenPushes().count == (says ? 0 : 1))
    }

    @Test("Of two devices without an id one may not ring yet, so both are pushed", arguments: [1, 2])
    func unnamed(_ count: Int) throws {
        let world = SwitchboardWorld()
        let ten = try principal("10")
        for number in 0..<count {
            try world.register(ten, nil, voip: "v\(number)", bundle: "com.example.app\(number)")
        }
        let phone = world.connect(ten)
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        world.send(phone, ringing)
        world.commit()
        let again = world.restarted(uncleanStarts: 1)
        again.wait(10)
        #expect(again.takenPushes().count == (count == 1 ? 0 : 2))
    }
}

@Suite("A push that cannot be sent")
struct UnsentPushTests {
    private func rung(voip: String? = nil, alert: String? = "bb") throws -> (SwitchboardWorld, OutgoingPush) {
        let world = SwitchboardWorld { $0.pushKinds = [.firebase] }
        try world.register(
            try principal("10"),
            "b1",
            voip: voip,
            alert: alert,
            firebase: "f:1",
            platform: "android"
        )
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        return (world, try #require(world.takenPushes().first))
    }

    private let notSent = PushResult.notSent("no access token")

    @Test("The next route rings at once, and the push says that there is one")
    func nextRoute() throws {
        let (world, push) = try rung()
        #expect(push.route.kind == .firebase && push.hasOtherRoute)
        world.give(.pushed(push.id, notSent))
        let next = try #require(world.takenPushes().first)
        #expect(next.route.kind == .alert && !next.hasOtherRoute)
        world.respondToPush(next, 200)
        world.wait(40)
        #expect(world.pushes.isEmpty)
    }

    @Test("Without another route it is tried again")
    func alone() throws {
        let (world, push) = try rung(alert: nil)
        #expect(!push.hasOtherRoute)
        world.give(.pushed(push.id, notSent))
        #expect(world.pushes.isEmpty)
        world.wait(1)
        #expect(world.takenPushes().map(\.route.kind) == [.firebase])
    }

    @Test("If the other routes refuse the push for good, the first one is tried again")
    func comesBack() throws {
        let (world, push) = try rung()
        world.give(.pushed(push.id, notSent))
        let alert = try #require(world.takenPushes().first)
        world.respondToPush(alert, 403, "InvalidProviderToken")
        let again = try #require(world.takenPushes().first)
        #expect(again.route.kind == .firebase)
        world.give(.pushed(again.id, notSent))
        world.wait(1)
        #expect(world.takenPushes().map(\.route.kind) == [.firebase])
    }

    @Test("After a lost response the push stays on its route, because the device may have it")
    func lostBefore() throws {
        let (world, push) = try rung()
        world.give(.pushed(push.id, .unreachable("no response")))
        world.wait(1)
        let again = try #require(world.takenPushes().first)
        world.give(.pushed(again.id, notSent))
        world.wait(1)
        #expect(world.takenPushes().map(\.route.kind) == [.firebase])
    }
}
