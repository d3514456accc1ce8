import CallClient
import CallCore
import KitFakes
import RinglineKit
import Testing

@MainActor
@Suite("Ringing by notifications, without CallKit")
struct InAppPushTests {
    private let server = FakeServer()
    private let system = InAppCallSystem()
    private let hanako: FakeDevice
    private let taro: FakeDevice

    init() {
        hanako = server.add("10", "hanako-1", system)
        taro = server.add("11", "Taro", FakeSystem())
    }

    private func ring() async -> [AnyHashable: Any] {
        taro.launch()
        await server.settle()
        taro.kit?.startCall(to: hanako.user, hasVideo: false)
        await server.settle()
        hanako.launch(inForeground: false)
        return server.push(sentAt: hanako.clock.now, ["aps": ["category": "ringline.call"]])
    }

    @Test("A notification's payload gives the call, which is then answered or declined")
    func acts() async throws {
        let push = await ring()
        let call = try #require(system.received(push: push))
        #expect(system.received(push: push) == call, "the user taps it again")
        hanako.kit?.answer(call)
        await server.settle()
        #expect(server.types.contains("answer"))
    }

    @Test("Declining works with the capability of the push when the token has expired")
    func declines() async throws {
        let push = await ring()
        system.events?(.input(.tokenExpired))
        let call = try #require(system.received(push: push))
        hanako.kit?.end(call)
        await server.settle()
        #expect(server.reason == "declined")
        #expect(hanako.requests.contains { $0.authorization == "Ring capability" })
    }

    @Test("A payload of a call that no longer rings, of another kind, or for another user gives no call")
    func none() async {
        let push = await ring()
        #expect(system.received(push: push.merging(["sentAt": 1, "ringUntil": 2]) { $1 }) == nil)
        #expect(system.received(push: push.merging(["type": "call.missed"]) { $1 }) == nil)
        #expect(system.received(push: push.merging(["toUserId": "20"]) { $1 }) == nil)
        #expect(system.received(push: [:]) == nil && system.received(push: ["aps": 1, 7: "x"]) == nil)
    }
}
