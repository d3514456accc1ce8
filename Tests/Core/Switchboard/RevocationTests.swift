import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Revocation")
struct RevocationTests {
    /// The principal of a user's token that was issued this many seconds after the world's start.
    private func issued(_ text: String, at seconds: Int64, token: UInt64 = 1) throws -> Principal {
        var principal = try principal(text, token: token)
        principal.issuedAt = SwitchboardWorld.start + .seconds(seconds)
        return principal
    }

    private func scope(_ callID: String, of user: String, with peer: String, device name: String) throws -> Principal {
        Principal(
            user: try SwitchboardTests.user(user),
            scope: CallScope(
                call: try call(callID),
                epoch: 1,
                peer: try SwitchboardTests.user(peer),
                device: try device(name)
            )
        )
    }

    @Test("Tokens issued up to the second of a revocation are refused, and tokens of a later second are accepted")
    func tokens() throws {
        let world = SwitchboardWorld()
        world.wait(10)
        #expect(try world.reply(issued("10", at: 0), .credentials(.revokeTokens(nil))).status == 200)
        #expect(world.revoked[try user("10")] == world.now)
        for seconds in [0, 9, 10] as [Int64] {
            #expect(try world.reply(issued("10", at: seconds), .devices(.list)).status == 401, "issued at \(seconds)")
        }
        world.wait(1)
        #expect(try world.reply(issued("10", at: 11), .devices(.list)).status == 200)
        #expect(try world.reply(issued("11", at: 0), .devices(.list)).status == 200, "another user's")
    }

    @Test(
        "A revocation dated by a clock a day ahead is cut to the current time after a restart with the right clock"
    )
    func fromAhead() throws {
        let before = SwitchboardWorld()
        before.wait(86_400)
        #expect(try before.reply(issued("10", at: 86_400), .credentials(.revokeTokens(nil))).status == 200)
        let world = before.restarted(after: -86_400 + 60)
        world.wait(61)
        #expect(world.revoked[try user("10")].map { $0 <= world.now } == true)
        world.wait(1)
        #expect(try world.reply(issued("10", at: 0), .devices(.list)).status == 401)
        #expect(try world.reply(issued("10", at: 123), .devices(.list)).status == 200)
    }

    @Test("A revocation still holds after a run of the server with a clock a day behind", arguments: [false, true])
    func fromBehind(byOperator: Bool) throws {
        let before = SwitchboardWorld()
        let revokedAt = before.now + .seconds(86_400)
        before.wait(86_400)
        if !byOperator {
            #expect(try before.reply(issued("10", at: 86_400), .credentials(.revokeTokens(nil))).status == 200)
        }
        let behind = before.restarted(after: -86_400 + 60)
        if byOperator {
            behind.give(.operatorCommand(OperatorCommandID(rawValue: 1), .revoke(try user("10"), before: revokedAt)))
        }
        behind.wait(300)
        let world = behind.restarted(after: 86_400)
        #expect(try world.reply(issued("10", at: 86_000), .devices(.list)).status == 401)
        #expect(try world.reply(issued("10", at: 86_401), .devices(.list)).status == 200)
    }

    @Test("A revocation dated in the future is permanently cut to the current time once the clock is trusted")
    func cut() throws {
        let before = SwitchboardWorld()
        before.wait(86_400)
        #expect(try before.reply(issued("10", at: 86_400), .credentials(.revokeTokens(nil))).status == 200)
        let world = before.restarted(after: -86_400 + 60)
        world.wait(3_700)
        #expect(world.switchboard.directory.originalRevocations.isEmpty)
        let next = world.restarted()
        #expect(try next.reply(issued("10", at: 200), .devices(.list)).status == 200)
    }

    @Test("A token without a time of issue is refused after a revocation, and not before")
    func withoutIssue() throws {
        let world = SwitchboardWorld()
        #expect(try world.reply(principal("10"), .devices(.list)).status == 200)
        #expect(try world.reply(principal("10"), .credentials(.revokeTokens(nil))).status == 200)
        world.wait(3_600)
        let refused = try world.reply(principal("10"), .devices(.list))
        #expect(refused.status == 401 && refused["code"] == "unauthenticated")
    }

    @Test("A revocation closes only the user's connections, all with 4401, and refuses the user's long polls")
    func connections() throws {
        let world = SwitchboardWorld()
        let device = world.connect(try issued("10", at: 0), device: "b1")
        let browser = world.connect(try issued("10", at: -100, token: 2))
        let other = world.connect(try issued("11", at: 0), device: "a1")
        world.send(other, SwitchboardWorld.offer("c-1", to: "10"))
        let fetch = Switchboard.Fetch(since: .init(epoch: nil, seq: 100), wait: .seconds(30))
        let poll = world.request(try issued("10", at: 0, token: 3), .fetch(try call("c-1"), fetch))
        #expect(world.replies[poll] == nil, "it waits")
        world.wait(1)
        _ = try world.reply(issued("10", at: 0), .credentials(.revokeTokens(nil)))
        #expect(world.closes[device] == 4401)
        #expect(world.closes[browser] == 4401)
        #expect(world.takeFrames(of: device).code == "unauthenticated")
        #expect(world.closes[other] == nil)
        #expect(world.replies[poll]?.status == 401)
        #expect(world.switchboard.metrics.closes[4401] == 2)
        #expect(world.switchboard.metrics.revocations == 1)
    }

    @Test("A token that was verified before the revocation is refused in a later connect or renewal")
    func late() throws {
        let world = SwitchboardWorld()
        _ = try world.reply(issued("10", at: 0), .credentials(.revokeTokens(nil)))
        let (device, app) = (world.connect(try issued("10", at: 0), device: "b1"), world.join(try issued("10", at: 0)))
        #expect(world.closes[device] == 4401)
        #expect(world.closes[app] == 4401)
        world.wait(1)
        let anew = world.connect(try issued("10", at: 1), device: "b1")
        #expect(world.closes[anew] == nil)
        world.give(.verified(anew, id: nil, .success(try issued("10", at: 0))))
        #expect(world.takeFrames(of: anew).code == "unauthenticated")
    }

    @Test("A revocation covers a token from an issuer whose clock is ahead by less than the leeway")
    func ahead() throws {
        let world = SwitchboardWorld()
        let device = world.connect(try issued("10", at: 20), device: "b1")
        let reply = try world.reply(issued("10", at: 5), .credentials(.revokeTokens(nil)))
        #expect(world.closes[device] == 4401)
        #expect(reply["before"] == "\((SwitchboardWorld.start + .seconds(20)).milliseconds)")
        let far = SwitchboardWorld()
        _ = try far.reply(issued("10", at: 3_600), .credentials(.revokeTokens(nil)))
        #expect(far.revoked[try user("10")] == SwitchboardWorld.start, "an hour is beyond the leeway for clocks")
    }

    @Test("A revocation voids the capabilities of existing calls, but not the capabilities of later calls")
    func capabilities() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        let capability = try scope("c-1", of: "10", with: "11", device: "b1")
        let fetch = Switchboard.Request.fetch(try call("c-1"), .init())
        #expect(try world.reply(capability, fetch).status == 200)
        world.wait(1)
        _ = try world.reply(issued("10", at: 0), .credentials(.revokeTokens(nil)))
        #expect(try world.reply(capability, fetch).status == 401)
        #expect(try world.reply(capability, .end(try call("c-1"), device: nil)).status == 401)
        world.wait(1)
        try world.register(try issued("10", at: 2), "b1", voip: "bb")
        world.send(caller, SwitchboardWorld.offer("c-2", to: "10"))
        let later = try scope("c-2", of: "10", with: "11", device: "b1")
        #expect(try world.reply(later, .fetch(try call("c-2"), .init())).status == 200)
    }

    @Test("A revocation removes the user's devices, which ring again only after they register again")
    func devices() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        try world.register(try principal("12"), "x1", voip: "cc")
        _ = try world.reply(issued("10", at: 0), .credentials(.revokeTokens(nil)))
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(caller, SwitchboardWorld.offer("c-2", to: "12"))
        #expect(world.takenPushes().map(\.route.token) == ["cc"])
        world.wait(1)
        try world.register(try issued("10", at: 1), "b1", voip: "aa")
        world.send(caller, SwitchboardWorld.offer("c-3", to: "10"))
        #expect(world.takenPushes().map(\.route.token) == ["aa"])
    }

    @Test("A revocation cancels the pushes under way, and the connections that it closes cause no push")
    func pushes() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        try world.register(try principal("10"), "b2", voip: "bb")
        _ = world.connect(try issued("10", at: 0), device: "b2")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takenPushes().map(\.route.token) == ["aa"], "b2 has a connection")
        _ = try world.reply(issued("10", at: 0), .credentials(.revokeTokens(nil)))
        #expect(world.cancelled.count == 1)
        world.wait(40)
        #expect(world.takenPushes().isEmpty)
    }

    @Test("A revocation is shown to a service in the timelines of the user's calls, but not to users")
    func timeline() throws {
        let world = SwitchboardWorld()
        _ = world.connect(try issued("10", at: 0), device: "b1")
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.wait(2)
        _ = try world.reply(issued("10", at: 0), .credentials(.revokeTokens(nil)))
        #expect(world.events("logged_out") == [#""side":"callee""#])
        #expect(try !world.reply(principal("11"), .calls(.timeline(try call("c-1")))).text.contains("logged_out"))
        var service = try principal("1")
        service.isService = true
        #expect(try world.reply(service, .calls(.timeline(try call("c-1")))).text.contains("logged_out"))
    }

    @Test("A revocation is durable before its response is sent, and holds after a restart")
    func restart() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        world.holdsCommits = true
        let request = world.request(try issued("10", at: 0), .credentials(.revokeTokens(nil)))
        #expect(world.replies[request] == nil)
        world.commit()
        #expect(world.replies[request]?.status == 200)
        let next = world.restarted(after: 5)
        #expect(try next.reply(issued("10", at: 0), .devices(.list)).status == 401)
        #expect(try next.reply(issued("10", at: 1), .devices(.list)).text == "[]")
    }

    @Test("Only a service may revoke another user's tokens, and a push's capability allows no revocation")
    func others() throws {
        let world = SwitchboardWorld()
        let forbidden = try world.reply(issued("11", at: 0), .credentials(.revokeTokens(try user("10"))))
        #expect(forbidden.status == 403 && forbidden["field"] == "userId")
        var service = try issued("1", at: 0)
        service.isService = true
        #expect(try world.reply(service, .credentials(.revokeTokens(try user("10")))).status == 200)
        #expect(try world.reply(issued("10", at: 0), .devices(.list)).status == 401)
        #expect(try world.reply(service, .devices(.list)).status == 200)
        let capability = try scope("c-1", of: "10", with: "11", device: "b1")
        #expect(try world.reply(capability, .credentials(.revokeTokens(nil))).status == 403)
    }

    @Test("An operator's revocation is reported as done once it is durable, and covers no token that is issued later")
    func operators() throws {
        let world = SwitchboardWorld()
        let device = world.connect(try issued("10", at: 0), device: "b1")
        let id = OperatorCommandID(rawValue: 7)
        world.holdsCommits = true
        world.give(.operatorCommand(id, .revoke(try user("10"), before: world.now + .seconds(3_600))))
        #expect(world.closes[device] == 4401)
        #expect(world.done.isEmpty)
        world.commit()
        #expect(world.done == [id])
        #expect(world.revoked[try user("10")] == world.now)
    }

    @Test("A late revocation with an earlier moment changes nothing")
    func neverBack() throws {
        let world = SwitchboardWorld()
        world.wait(10)
        _ = try world.reply(issued("10", at: 0), .credentials(.revokeTokens(nil)))
        world.give(
            .operatorCommand(OperatorCommandID(rawValue: 1), .revoke(try user("10"), before: SwitchboardWorld.start))
        )
        #expect(try world.reply(issued("10", at: 5), .devices(.list)).status == 401)
    }
}
