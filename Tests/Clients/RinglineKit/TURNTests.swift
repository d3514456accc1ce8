import CallCore
import KitFakes
import RinglineKit
import Testing

@MainActor
@Suite("The TURN credentials of a connection that stays open")
struct TURNTests {
    private let server = FakeServer()
    private let device: FakeDevice

    init() { device = server.add("10", "hanako-1", FakeSystem()) }

    /// Lets seconds pass, with the server's pongs.
    private func pass(_ seconds: Int) async {
        for _ in 0..<seconds {
            device.clock.advance(by: .seconds(1))
            await server.settle()
        }
    }

    private var requests: Int { device.paths.count { $0 == "GET /api/turn-cred" } }

    /// Launches the kit, and returns the seconds after which it has requested credentials, up to a last second.
    private func requestTimes(until last: Int, _ during: (Int) -> Void = { _ in }) async -> [Int] {
        device.launch()
        await server.settle()
        var times: [Int] = []
        for second in 0...last {
            if requests > times.count { times.append(second) }
            during(second)
            await pass(1)
        }
        return times
    }

    @Test("They are renewed at half of their remaining life, and the engine gets the fresh ones")
    func renewed() async throws {
        server.turnLifetime = .seconds(600)
        let times = await requestTimes(until: 700)
        #expect(times == [300, 600])
        #expect(device.sockets.count == 1 && device.sockets[0].isOpen)
        let expiry = (device.clock.now.milliseconds / 1_000) - 701 + 600 + 600
        #expect(device.media.servers.first?.username == "\(expiry):10")
        #expect(device.media.did.count { $0 == "servers" } == 3)
    }

    @Test("The user name has the server's time, which the clock skew corrects", arguments: [-3_600, 3_600] as [Int64])
    func skew(_ seconds: Int64) async throws {
        server.turnLifetime = .seconds(600)
        device.clockSkew = .seconds(seconds)
        device.store["clockSkew"] = String(seconds * 1_000)
        #expect(await requestTimes(until: 350) == [300])
    }

    @Test("With a wrong clock whose skew is unknown, the lifetime in the response counts")
    func unknownSkew() async throws {
        server.turnLifetime = .seconds(600)
        device.clockSkew = .seconds(3_600)
        // The first timer is due at once, and the response comes with the next second.
        #expect(await requestTimes(until: 350) == [1, 301])
    }

    @Test("After a failure the next request comes at half of the rest, but not within 30 s")
    func failures() async throws {
        server.turnLifetime = .seconds(600)
        let times = await requestTimes(until: 700) { device.forcedStatus = $0 < 680 ? 503 : nil }
        #expect(times == [300, 450, 525, 563, 593, 623, 653, 683])
        await pass(280)
        #expect(requests == 8)
        await pass(3)
        #expect(requests == 9, "the fresh ones are valid for as long as the first")
    }

    @Test("A server that no longer has TURN is not asked again")
    func withoutTURN() async throws {
        server.turnLifetime = .seconds(600)
        let times = await requestTimes(until: 1_000) { if $0 == 100 { server.turnLifetime = nil } }
        #expect(times == [300])
    }

    @Test("A refused token leads to a fresh one, with which the next request succeeds")
    func refusedToken() async throws {
        server.turnLifetime = .seconds(600)
        let times = await requestTimes(until: 500) { device.forcedStatus = (290..<310).contains($0) ? 401 : nil }
        #expect(times == [300, 450])
        #expect(device.tokens.refused == ["token-1"])
        #expect(device.requests.last?.authorization == "Bearer token-2")
    }

    @Test("Without a connection nothing is renewed: the next welcome brings fresh credentials")
    func background() async throws {
        server.turnLifetime = .seconds(600)
        let kit = device.launch()
        await server.settle()
        kit.isInForeground = false
        await pass(700)
        #expect(requests == 0)
        kit.isInForeground = true
        await pass(299)
        #expect(requests == 0)
        await pass(2)
        #expect(requests == 1)
    }

    @Test(
        "Credentials that do not say when they expire are kept",
        arguments: ["u", "", ":10", "-5:10", "٣:10", "99999999999999999999:10", "9223372036854775807:10"]
    )
    func withoutExpiry(_ username: String) async throws {
        server.turnLifetime = .seconds(600)
        device.turnUsername = username
        #expect(await requestTimes(until: 400).isEmpty)
    }
}
