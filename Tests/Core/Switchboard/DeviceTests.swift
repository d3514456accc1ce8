import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("A registration")
struct DeviceTests {
    private func devices(_ world: SwitchboardWorld, _ user: String) throws -> [String] {
        let text = try world.reply(try principal(user), .devices(.list)).text
        return text.split(separator: "{").compactMap { part in
            part.contains(#""id":"#) ? String(part.split(separator: "\"")[2]) : nil
        }
    }

    @Test("A device that registers again keeps one row, with its newest push token")
    func upsert() throws {
        let world = SwitchboardWorld()
        let first = try world.register(try principal("10"), "b1", voip: "aa")
        #expect(first.status == 200)
        #expect(first["id"] == "b1")
        #expect(try world.register(try principal("10"), "b1", voip: "bb")["voipDeviceToken"] == "bb")
        #expect(try devices(world, "10") == ["b1"])
    }

    @Test("A registration without a device id updates the row with its push token, or a row that lacks that kind")
    func halves() throws {
        let world = SwitchboardWorld()
        let id = try world.register(try principal("10"), nil, voip: "aa")["id"]
        #expect(try world.register(try principal("10"), nil, voip: nil, alert: "bb")["id"] == id)
        #expect(try world.register(try principal("10"), nil, voip: "aa")["id"] == id)
        #expect(try world.register(try principal("10"), nil, voip: nil, alert: "bb")["id"] == id)
        #expect(try world.register(try principal("10"), nil, voip: "aa", alert: "bb")["id"] == id)
        #expect(try devices(world, "10").count == 1)
    }

    @Test("A registration without a device id adds a row if its app has no row that lacks a push token of that kind")
    func rows() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), nil, voip: "aa")
        try world.register(try principal("10"), nil, voip: "bb")
        #expect(try devices(world, "10").count == 2)
        try world.register(try principal("10"), nil, voip: nil, alert: "cc", bundle: "com.example.other")
        #expect(try devices(world, "10").count == 3)
        try world.register(try principal("10"), nil, voip: "dd", alert: "ee")
        #expect(try devices(world, "10").count == 4)
        try world.register(try principal("10"), "named", voip: "ff")
        try world.register(try principal("10"), nil, voip: nil, alert: "gg")
        #expect(try devices(world, "10").count == 5, "it completes a row without a device id, not the named row")
    }

    @Test("A push token that another user registers is removed from the device that had it")
    func moves() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa")
        try world.register(try principal("12"), "x1", voip: "aa")
        #expect(try devices(world, "10").isEmpty)
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.pushes.isEmpty)
    }

    @Test("Each device that loses a push token to another counts, also one of the same user; the same device does not")
    func movesAreCounted() throws {
        let world = SwitchboardWorld()
        func moved() -> UInt64 { world.switchboard.metrics.pushTokensMoved }
        try world.register(try principal("10"), "b1", voip: "aa", alert: "bb")
        try world.register(try principal("10"), "b1", voip: "aa", alert: "bb")
        try world.register(try principal("10"), "b1", voip: "cc")
        #expect(moved() == 0, "a device keeps its token, or has a new one")
        try world.register(try principal("12"), "x1", voip: "cc")
        #expect(moved() == 1, "to another user")
        try world.register(try principal("12"), "x2", voip: "cc")
        #expect(moved() == 2, "to another device of the user")
        try world.register(try principal("11"), "a1", voip: "cc", alert: "bb")
        #expect(moved() == 4, "two tokens of two devices")
    }

    @Test("A device that loses one of its two push tokens keeps the other")
    func movesHalf() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa", alert: "bb")
        try world.register(try principal("12"), "x1", voip: "aa")
        let text = try world.reply(try principal("10"), .devices(.list)).text
        #expect(text.contains("bb") && !text.contains(#""voipDeviceToken":"aa""#))
    }

    @Test("A user's 33rd device replaces the device that was not seen for the longest time")
    func tooMany() throws {
        let world = SwitchboardWorld()
        for index in 0..<32 {
            try world.register(try principal("10"), "b\(index)", voip: "aa\(index)")
            world.wait(1)
        }
        try world.register(try principal("10"), "b0", voip: "new")
        try world.register(try principal("10"), "b32", voip: "bb")
        let left = try devices(world, "10")
        #expect(left.count == 32)
        #expect(!left.contains("b1") && left.contains("b0") && left.contains("b32"))
    }

    @Test("A push under way is cancelled when a 33rd device replaces the push's device")
    func tooManyWhileRung() throws {
        let world = SwitchboardWorld()
        for index in 0..<32 {
            try world.register(try principal("10"), "b\(index)", voip: "aa\(index)")
            world.wait(1)
        }
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        let push = try #require(world.takenPushes().first { $0.route.token == "aa0" })
        try world.register(try principal("10"), "b32", voip: "bb")
        #expect(world.cancelled == [push.id])
    }

    @Test("Only a device's user can remove the device")
    func removal() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1")
        #expect(try world.reply(try principal("11"), .devices(.remove(try device("b1")))).status == 404)
        #expect(try world.reply(try principal("10"), .devices(.remove(try device("b1")))).status == 200)
        #expect(try world.reply(try principal("10"), .devices(.remove(try device("b1")))).status == 404)
    }

    @Test("A registration is stored, and restored after a restart")
    func kept() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "aa", environment: .sandbox)
        let again = world.restarted()
        again.send(try again.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(again.takenPushes().map(\.route.environment) == [.sandbox])
    }
}

@Suite("A block")
struct BlockTests {
    @Test("A block is listed once, with an integer id if the client's token names its user by an integer")
    func listed() throws {
        let world = SwitchboardWorld()
        var asking = try principal("10")
        _ = try world.reply(asking, .blocks(.block(try user("12"))))
        _ = try world.reply(asking, .blocks(.block(try user("11"))))
        _ = try world.reply(asking, .blocks(.block(try user("11"))))
        #expect(
            try world.reply(asking, .blocks(.list)).text == #"[{"id":"11","user_id":"11"},{"id":"12","user_id":"12"}]"#
        )
        asking.userIsInteger = true
        #expect(try world.reply(asking, .blocks(.list)).text == #"[{"id":11,"user_id":11},{"id":12,"user_id":12}]"#)
        _ = try world.reply(asking, .blocks(.unblock(try user("12"))))
        #expect(try world.reply(asking, .blocks(.unblock(try user("12")))).status == 200)
        #expect(try world.reply(asking, .blocks(.list)).text == #"[{"id":11,"user_id":11}]"#)
        #expect(try world.reply(try principal("12"), .blocks(.list)).text == "[]")
    }

    @Test("Blocking oneself is refused, and so is blocking more users than allowed")
    func limits() throws {
        let world = SwitchboardWorld { $0.blocksPerUser = 2 }
        #expect(try world.reply(try principal("10"), .blocks(.block(try user("10")))).status == 400)
        for (name, status) in [("1", 200), ("2", 200), ("3", 429), ("2", 200)] {
            #expect(try world.reply(try principal("10"), .blocks(.block(try user(name)))).status == status)
        }
        #expect(world.switchboard.metrics.limited[.blocks] == 1)
    }
}
