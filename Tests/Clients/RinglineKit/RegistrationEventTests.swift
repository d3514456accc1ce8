import CallClient
import CallCore
import KitFakes
import RinglineKit
import Testing

@MainActor
@Suite("What the kit tells the app of its registration, and its log")
struct RegistrationEventTests {
    private let server = FakeServer()
    private let system = FakeSystem()
    private let hanako: FakeDevice

    init() { hanako = server.add("10", "hanako-1", system) }

    private var registrations: [RinglineEvent] {
        hanako.heard.filter { if case .registered = $0 { true } else { false } }
    }

    @Test("A registration that the server takes is an event, with the server's hint if it has one")
    func taken() async {
        hanako.launch().setAlertToken("aa")
        await server.settle()
        #expect(registrations == [.registered(true, nil)])
        hanako.forcedBody = #"{"message":"no iPhone rings by Firebase"}"#
        hanako.kit?.setAlertToken("bb")
        await server.settle()
        #expect(registrations.last == .registered(true, "no iPhone rings by Firebase"))
    }

    @Test("A registration that is refused is an event at each try, with the server's reason")
    func refused() async {
        hanako.forcedStatus = 400
        hanako.forcedBody = #"{"code":"invalid_field","message":"bundleId: missing","field":"bundleId"}"#
        hanako.launch(inForeground: false).setAlertToken("aa")
        await server.settle()
        let why = "400 invalid_field: bundleId: missing"
        #expect(registrations == [.registered(false, why)])
        hanako.clock.advance(by: .seconds(3))
        await server.settle()
        #expect(registrations == [.registered(false, why), .registered(false, why)])
        hanako.forcedStatus = nil
        hanako.forcedBody = nil
        hanako.clock.advance(by: .seconds(10))
        await server.settle()
        #expect(registrations.last == .registered(true, nil))
    }

    @Test("An error page of a proxy, and no response at all, have a reason as well")
    func unreadable() async {
        hanako.forcedStatus = 502
        hanako.forcedBody = "<html>"
        hanako.launch(inForeground: false).setAlertToken("aa")
        await server.settle()
        hanako.isOnline = false
        hanako.clock.advance(by: .seconds(3))
        await server.settle()
        #expect(registrations.first == .registered(false, "502"))
        guard case .registered(false, let why?)? = registrations.last else {
            return #expect(Bool(false), "\(registrations)")
        }
        #expect(why.hasPrefix("no response"))
    }

    @Test("The log names requests, pushes, reports and signals, and no token, capability or description")
    func log() async throws {
        let taro = server.add("11", "Taro", FakeSystem())
        var lines: [String] = []
        taro.launch()
        hanako.launch(inForeground: false).onLog = { lines.append($0) }
        hanako.kit?.setAlertToken("f00dfeed")
        system.events?(.voipToken("cafe01"))
        await server.settle()
        taro.kit?.startCall(to: hanako.user, hasVideo: false)
        await server.settle()
        system.events?(
            .input(
                .pushed([
                    "callId": .string(server.log.first?["callId"] as? String ?? ""), "fromUserId": .string("11"),
                    "epoch": .int(1),
                    "toUserId": .string("10"), "act": .string("capability"), "offer": .string("v=0 secret"),
                ])
            )
        )
        hanako.kit?.answer(try #require(system.shown))
        await server.settle()
        let all = lines.joined(separator: "\n")
        for part in [
            "PUT /api/me/devices: 200", "push callId=", "toUserId=10", "a call from 11", "connected", "send answer of ",
        ] {
            #expect(all.contains(part), "\(part) in \(all)")
        }
        for secret in ["f00dfeed", "cafe01", "token-", "capability", "v=0", "candidate:"] {
            #expect(!all.contains(secret), "\(secret) in \(all)")
        }
    }
}
