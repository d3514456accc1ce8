import CallCore
import CallWire
import Testing

@testable import Switchboard

@Suite("What is remembered, and for how long:")
struct RememberedTests {
    @Test("users who had used up their quota are forgotten once it is full again")
    func quota() throws {
        let world = World { $0.keptBytesPerDay = 20_000 }
        let talk = try Talk.answered(world)
        let text = String(repeating: "x", count: 9_000)
        for number in 0..<4 {
            world.send(talk.caller, World.plain("info", "c-1", id: "\(number)", more: #","data":"\#(text)""#))
        }
        #expect(!world.board.overQuota.isEmpty)
        world.send(talk.callee, World.plain("end", "c-1", id: "e"))
        world.give(.closed(talk.caller))
        world.give(.closed(talk.callee))
        world.wait(2 * 86_400)
        #expect(world.board.keptBuckets.isEmpty)
        #expect(world.board.overQuota.isEmpty)
        #expect(!world.board.isRestrained)
    }
}
