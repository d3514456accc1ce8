import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The audit log")
struct AuditTests {
    @Test("The move of a push token to another user is audited; a move between devices of one user is not")
    func moves() throws {
        let world = SwitchboardWorld()
        let (ten, twelve) = (try user("10"), try user("12"))
        try world.register(try principal("10"), "b1", voip: "aa", alert: "bb")
        try world.register(try principal("10"), "b2", voip: "aa")
        #expect(world.audited.isEmpty)
        try world.register(try principal("12"), "x1", voip: "aa", alert: "bb")
        let device = try device("x1")
        #expect(
            world.audited == [
                .pushTokenMoved(.voip, from: ten, to: twelve, device),
                .pushTokenMoved(.alert, from: ten, to: twelve, device),
            ]
        )
    }

    @Test("A block and its removal are audited once each, even if they are requested twice")
    func blocks() throws {
        let world = SwitchboardWorld()
        for _ in 0..<2 { #expect(try world.reply(principal("10"), .blocks(.block(try user("11")))).status == 200) }
        for _ in 0..<2 { #expect(try world.reply(principal("10"), .blocks(.unblock(try user("11")))).status == 200) }
        #expect(
            world.audited == [
                .blocked(try user("11"), by: try user("10")), .unblocked(try user("11"), by: try user("10")),
            ]
        )
    }

    @Test("A revocation is audited with who requested it: the user, a service or the operator")
    func revocations() throws {
        let world = SwitchboardWorld()
        var service = try principal("backend")
        service.isService = true
        _ = try world.reply(principal("10"), .credentials(.revokeTokens(nil)))
        _ = try world.reply(service, .credentials(.revokeTokens(try user("11"))))
        world.give(.operatorCommand(OperatorCommandID(rawValue: 1), .revoke(try user("12"), before: world.now)))
        #expect(
            world.audited == [
                .revoked(try user("10"), by: .user), .revoked(try user("11"), by: .service(try user("backend"))),
                .revoked(try user("12"), by: .theOperator),
            ]
        )
    }

    @Test("The refusal of a revoked token is audited with the token's user")
    func revoked() throws {
        let world = SwitchboardWorld()
        _ = try world.reply(principal("10"), .credentials(.revokeTokens(nil)))
        #expect(try world.reply(principal("10"), .devices(.list)).status == 401)
        #expect(world.audited.last == .tokenRefused(cause: "revoked", try user("10")))
    }
}
