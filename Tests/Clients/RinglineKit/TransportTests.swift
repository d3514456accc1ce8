import CallClient
import CallCore
import Foundation
import KitFakes
import RinglineKit
import Testing

@MainActor
@Suite("The kit's connection, requests and token")
struct TransportTests {
    private let server = FakeServer()
    private let system = FakeSystem()
    private let device: FakeDevice
    private let peer: UserID

    init() throws {
        peer = try #require(UserID("11"))
        device = server.add("10", "hanako-1", system)
    }

    @Test("In the foreground the kit connects at once, with the device's id and the token")
    func connects() async throws {
        let kit = device.launch()
        await server.settle()
        #expect(kit.isConnected)
        #expect(device.sockets.map(\.request.url) == ["wss://calls.example.com/ws?device=hanako-1"])
        #expect(device.sockets.first?.request.authorization == "Bearer token-1")
        #expect(device.heard.contains(.connection(true)))
    }

    @Test("While the server is down, the kit tries again with pauses that grow")
    func pauses() async throws {
        device.isOnline = false
        device.launch()
        var attempts: [Int64] = []
        let began = device.clock.now
        for _ in 0..<400 {
            let count = device.sockets.count
            await server.settle()
            device.clock.advance(by: .milliseconds(100))
            if device.sockets.count > count { attempts.append((device.clock.now - began).milliseconds) }
        }
        #expect((8...16).contains(device.sockets.count), "\(attempts)")
    }

    @Test("In the background, the connection is closed when no call needs it, and no attempt follows")
    func background() async throws {
        let kit = device.launch()
        await server.settle()
        kit.isInForeground = false
        #expect(!kit.isConnected && device.sockets.count == 1)
        device.clock.advance(by: .seconds(120))
        await server.settle()
        #expect(device.sockets.count == 1)
        kit.isInForeground = true
        await server.settle()
        #expect(kit.isConnected)
    }

    @Test("A connection without a sign of life is given up after a ping without a pong, without waiting for its close")
    func deadSocket() async throws {
        let kit = device.launch()
        await server.settle()
        device.clock.advance(by: .seconds(26))
        await server.settle()
        #expect(device.sockets[0].pings == 1 && kit.isConnected, "a pong came")
        device.sockets[0].isDead = true
        device.clock.advance(by: .seconds(40))
        #expect(device.sockets[0].isClosed)
        device.clock.advance(by: .seconds(1))
        await server.settle()
        #expect(device.sockets.count == 2 && kit.isConnected)
    }

    @Test("A kit whose connection was replaced stays without one, and says so once")
    func replaced() async throws {
        let kit = device.launch()
        await server.settle()
        // Without a pause, an attempt would follow at once.
        device.clock.chance = 0
        device.replace()
        #expect(device.heard.suffix(2) == [.connection(false), .connectionReplaced])
        kit.pathChanged()
        kit.setAlertToken("abab")
        for _ in 0..<20 {
            device.clock.advance(by: .seconds(10))
            await server.settle()
        }
        #expect(device.sockets.count == 1 && !kit.isConnected)
        #expect(device.heard.count { $0 == .connectionReplaced } == 1)
    }

    @Test("In a call, too, a replaced connection stays closed, and the call goes on")
    func replacedInCall() async throws {
        let taro = server.add("11", "Taro", FakeSystem())
        let kit = device.launch()
        taro.launch().startCall(to: device.user, hasVideo: false)
        await server.settle()
        kit.answer(try system.call)
        await server.settle()
        device.replace()
        for _ in 0..<6 {
            device.clock.advance(by: .seconds(5))
            await server.settle()
        }
        #expect(device.sockets.count == 1 && kit.calls.count == 1)
        kit.end(try system.call)
        await server.settle()
        #expect(server.reason == "hangup", "a request takes the end to the server")
    }

    @Test("An action of the user, or a push, ends the state of a replaced connection", arguments: Resumption.allCases)
    func resumed(_ resumption: Resumption) async throws {
        server.namesICEServers = resumption != .callWithoutICEServers
        let taro = server.add("11", "Taro", FakeSystem())
        let kit = device.launch()
        await server.settle()
        if [.answer, .lateAnswer].contains(resumption) {
            let call = try #require(taro.launch().startCall(to: device.user, hasVideo: false))
            await server.settle()
            if resumption == .lateAnswer { taro.kit?.end(call) }
            await server.settle()
        }
        device.replace()
        switch resumption {
        case .foreground: (kit.isInForeground, kit.isInForeground) = (false, true)
        case .call, .callWithoutICEServers: kit.startCall(to: peer, hasVideo: false)
        case .answer, .lateAnswer: kit.answer(try system.call)
        case .push:
            system.events?(.input(.pushed(["callId": .string("c-1"), "fromUserId": .string("11"), "epoch": .int(1)])))
        }
        await server.settle()
        #expect(device.sockets.count == 2 && kit.isConnected)
    }

    /// The events after which a kit whose connection was replaced connects again.
    enum Resumption: CaseIterable { case foreground, call, callWithoutICEServers, answer, lateAnswer, push }

    @Test("A refused token is replaced by a fresh one, and the kit then connects with that")
    func refusedToken() async throws {
        device.forcedStatus = 401
        let kit = device.launch()
        await server.settle()
        #expect(device.tokens.refused.first == "token-1")
        device.forcedStatus = nil
        for _ in 0..<10 {
            device.clock.advance(by: .seconds(1))
            await server.settle()
        }
        #expect(kit.isConnected && device.socket?.request.authorization != "Bearer token-1")
    }

    @Test("A backend whose tokens are all refused is not asked without end")
    func uselessTokens() async throws {
        device.forcedStatus = 401
        device.launch()
        for _ in 0..<600 {
            await server.settle()
            device.clock.advance(by: .milliseconds(100))
        }
        #expect((2...15).contains(device.tokens.count), "\(device.tokens.count) tokens in a minute")
    }

    @Test("If the token source fails, the app is told, and the source is asked again after a pause")
    func failingSource() async throws {
        device.tokens.isFailing = true
        let kit = device.launch()
        await server.settle()
        #expect(device.heard.contains { if case .tokenMissing = $0 { true } else { false } })
        let asked = device.tokens.count
        device.tokens.isFailing = false
        for _ in 0..<12 {
            device.clock.advance(by: .seconds(1))
            await server.settle()
        }
        #expect(device.tokens.count == asked + 1 && kit.isConnected)
    }

    @Test("A connection with the token of another user is closed, and the app is told")
    func tokenOfAnotherUser() async throws {
        server.tokenUser = "12"
        let kit = device.launch()
        await server.settle()
        #expect(!kit.isConnected && device.sockets.allSatisfy(\.isClosed))
        let told = device.heard.compactMap { if case .tokenMissing(let why) = $0 { why } else { nil } }
        #expect(told.contains { $0.contains("user 12") }, "\(told)")
    }

    @Test("A token for calls is uploaded, and one that the system takes back is withdrawn")
    func registration() async throws {
        device.launch()
        await server.settle()
        #expect(!device.paths.contains("PUT /api/me/devices"), "there is no token yet")
        system.events?(.voipToken("abab"))
        await server.settle()
        let upload = try #require(device.requests.last { $0.method == "PUT" })
        let body = String(decoding: upload.body, as: UTF8.self)
        #expect(body.contains(#""voipDeviceToken":"abab""#) && body.contains(#""bundleId":"com.example.chat""#))
        system.events?(.voipToken(nil))
        await server.settle()
        #expect(device.paths.last == "DELETE /api/me/devices/hanako-1")
    }

    @Test("Logging out ends the calls, removes the device, and later pushes find no kit")
    func logout() async throws {
        let kit = device.launch()
        system.events?(.voipToken("abab"))
        await server.settle()
        system.events?(.input(.pushed(["callId": .string("c-1"), "fromUserId": .string("11"), "epoch": .int(1)])))
        #expect(kit.calls.count == 1)
        kit.logOut()
        await server.settle()
        #expect(kit.calls.isEmpty && system.did.last == "ended remoteEnded")
        #expect(system.events == nil)
        #expect(device.paths.contains("DELETE /api/me/devices/hanako-1"))
        #expect(device.heard.last == .loggedOut && !kit.isConnected)
    }

    @Test("The device's id is made once, and kept over launches")
    func deviceID() {
        device.store.values = [:]
        let first = device.launch().device
        #expect(device.launch().device == first)
    }

    @Test("A call that was started before there is a connection waits for the TURN servers, but not for ever")
    func delayedStart() async throws {
        device.isOnline = false
        let kit = device.launch()
        kit.startCall(to: peer, hasVideo: false)
        await server.settle()
        #expect(!device.media.did.contains("make offer"))
        device.isOnline = true
        device.clock.advance(by: .milliseconds(1_000))
        await server.settle()
        #expect(device.media.did.prefix(2) == ["servers", "make offer"])

        let other = server.add("11", "Taro", FakeSystem())
        other.isOnline = false
        other.launch().startCall(to: device.user, hasVideo: false)
        await server.settle()
        other.clock.advance(by: .milliseconds(2_001))
        #expect(other.media.did == ["make offer"])
    }

    @Test("A call that the user ends before it has begun never begins")
    func withdrawnStart() async throws {
        device.isOnline = false
        let kit = device.launch()
        let call = try #require(kit.startCall(to: peer, hasVideo: false))
        kit.end(call)
        device.clock.advance(by: .seconds(5))
        #expect(device.media.did.isEmpty && kit.calls.isEmpty)
    }
}

@MainActor
@Suite("The kit's small parts")
struct PartTests {
    @Test(
        "Links and handles name the user to call",
        arguments: [
            ("myapp:10", "10", false), ("myapp:10?video=1", "10", true), ("myapp://call/10", "10", false),
            ("https://example.com/call/a@b?video=true", "a@b", true), ("myapp://10", "10", false),
        ]
    )
    func links(_ link: String, _ user: String, _ hasVideo: Bool) throws {
        let url = try #require(URL(string: link))
        let request = try #require(DialRequest(url: url))
        #expect(request.to.text == user && request.hasVideo == hasVideo)
        #expect(DialRequest(handle: " 10 ")?.to.text == "10")
        #expect(DialRequest(handle: "山田") == nil)
    }

    @Test("The file store keeps its values over launches, and a damaged file is as none")
    func fileStore() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("kit-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        FileStore(file: file)["device"] = "d-1"
        #expect(FileStore(file: file)["device"] == "d-1")
        try Data("{".utf8).write(to: file)
        #expect(FileStore(file: file)["device"] == nil)
    }

    @Test("URLSession's sockets report a failure on Linux, and requests without a server have status 0")
    func urlSession() async {
        let transport = URLSessionTransport()
        let response = await withCheckedContinuation { done in
            transport.send(SignalingRequest(method: "GET", url: "http://127.0.0.1:9/", authorization: "Bearer t")) {
                done.resume(returning: $0)
            }
        }
        #expect(response == .none)
        let event = await withCheckedContinuation { done in
            let request = SocketRequest(url: "ws://127.0.0.1:9/ws", authorization: "Bearer t")
            Self.kept = transport.open(request) { done.resume(returning: $0) }
        }
        guard case .closed = event else { return #expect(Bool(false), "\(event)") }
    }

    /// Sockets live as long as somebody holds them.
    private static var kept: (any SignalingSocket)?
}
