import CallCore
import CallPorts
import Crypto
import Foundation
import ServerLog
import ServerTesting
import Testing

@testable import Pushes

@Suite("A push to Apple", .serialized)
struct APNsSenderTests {
    let apple: FakeAPNs
    let reports = Reports()

    init() throws { apple = try FakeAPNs() }

    private func sender(_ configuration: APNsConfiguration? = nil, log: ServerLog = quiet) throws -> HTTPPushSender {
        try HTTPPushSender(configuration ?? apple.configuration(), log: log, report: reports.take)
    }

    @Test("A push for a call has exactly the headers of the protocol, and the payload byte for byte")
    func voip() async throws {
        let sender = try sender()
        let payload = #"{"aps":{"content-available":1},"callerName":"山田太郎","escaped":"\u2028\/"}"#
        let sent = OutgoingPush.test(1, payload: payload)
        sender.send(sent)
        #expect(try await reports.result(of: 1) == .accepted)
        let push = try #require(try await apple.pushes().first)
        let authorization = try #require(push.headers["authorization"])
        #expect(
            push.headerList.sorted { $0[0] < $1[0] } == [
                [":authority", String(apple.endpoint("sandbox").dropFirst("https://".count))],
                [":method", "POST"],
                [":path", "/3/device/" + sent.route.token],
                [":scheme", "https"],
                ["apns-expiration", "0"],
                ["apns-id", sent.uuid],
                ["apns-priority", "10"],
                ["apns-push-type", "voip"],
                ["apns-topic", "com.example.app.voip"],
                ["authorization", authorization],
                ["content-length", "\(payload.utf8.count)"],
            ]
        )
        #expect(push.bytes == [UInt8](payload.utf8))
        // The fake server has verified the signature with the public key. The next test shows that the fake server
        // refuses a signature by another key.
        #expect(authorization.hasPrefix("bearer "))
    }

    @Test("A push signed by another key is refused, and the refusal is reported")
    func foreignKey() async throws {
        let other = try APNsConfiguration(
            key: P256SigningKey.generate().pem(),
            keyID: FakeAPNs.keyID,
            teamID: FakeAPNs.teamID,
            endpoints: .init(sandbox: apple.endpoint("sandbox")),
            caFile: apple.startup.ca,
            clock: { testNow() }
        )
        let sender = try sender(other)
        sender.send(.test(1))
        #expect(
            try await reports.result(of: 1) == .response(status: 403, reason: "InvalidProviderToken", timestamp: nil)
        )
    }

    @Test("An alert that rings expires with the ring, and has the id by which the next alert replaces it")
    func ringingAlert() async throws {
        let sender = try sender()
        let before = testNow() / 1_000
        var push = OutgoingPush.test(1, kind: .alert, seconds: 45)
        push.kept = .untilExpiry
        push.collapseID = "the-call"
        sender.send(push)
        #expect(try await reports.result(of: 1) == .accepted)
        let headers = try #require(try await apple.pushes().first).headers
        let expiration = try #require(headers["apns-expiration"].flatMap { Int64($0) })
        #expect((before + 40...before + 46).contains(expiration))
        #expect(headers["apns-collapse-id"] == "the-call")
    }

    @Test("An alert push expires after a day")
    func alert() async throws {
        let sender = try sender(apple.configuration(clock: { 1_000 * (testNow() / 1_000) }))
        let before = testNow() / 1_000
        sender.send(.test(1, kind: .alert))
        #expect(try await reports.result(of: 1) == .accepted)
        let push = try #require(try await apple.pushes().first)
        #expect(push.headers["apns-push-type"] == "alert" && push.headers["apns-topic"] == "com.example.app")
        #expect(push.headers["apns-priority"] == "10")
        let expiration = try #require(push.headers["apns-expiration"].flatMap { Int64($0) })
        #expect((before + 86_400...before + 86_420).contains(expiration))
    }

    @Test("A push goes to the topic and the environment of its own device")
    func topicsAndEnvironments() async throws {
        try await apple.device(#"{"token":"\#(OutgoingPush.token(1))","topics":["one.voip"],"environment":"sandbox"}"#)
        try await apple.device(
            #"{"token":"\#(OutgoingPush.token(2))","topics":["two.voip"],"environment":"production"}"#
        )
        let sender = try sender()
        sender.send(.test(1, topic: "one.voip"))
        #expect(try await reports.result(of: 1) == .accepted)
        sender.send(.test(2, environment: .production, topic: "two.voip"))
        sender.send(.test(3, token: OutgoingPush.token(1), topic: "two.voip"))
        sender.send(.test(4, token: OutgoingPush.token(2), topic: "two.voip"))
        #expect(try await reports.result(of: 2) == .accepted)
        #expect(
            try await reports.result(of: 3) == .response(status: 400, reason: "DeviceTokenNotForTopic", timestamp: nil)
        )
        #expect(try await reports.result(of: 4) == .response(status: 400, reason: "BadDeviceToken", timestamp: nil))
        #expect(try await apple.stats().connectionsByEnvironment == ["sandbox": 1, "production": 1])
    }

    @Test("A refusal is reported with status, reason and timestamp; if its body is malformed, with the status alone")
    func answers() async throws {
        let sender = try sender()
        try await apple.script(
            "*",
            """
            {"status":410,"reason":"Unregistered","timestamp":1700000000123},{"status":429,"reason":"TooManyRequests"},
            {"status":503,"raw":"<html>no</html>"},{"status":500,"raw":"{\\"reason\\":\\"<script>\\"}"},
            {"status":500,"raw":""}
            """
        )
        let expected: [PushResult] = [
            .response(status: 410, reason: "Unregistered", timestamp: Moment(milliseconds: 1_700_000_000_123)),
            .response(status: 429, reason: "TooManyRequests", timestamp: nil),
            .response(status: 503, reason: nil, timestamp: nil), .response(status: 500, reason: nil, timestamp: nil),
            .response(status: 500, reason: nil, timestamp: nil),
        ]
        for (number, result) in expected.enumerated() {
            sender.send(.test(number + 1))
            #expect(try await reports.result(of: UInt64(number + 1)) == result)
        }
        sender.send(.test(9, payload: "{\"x\":\"" + String(repeating: "x", count: 5_112) + "\"}"))
        sender.send(.test(10, payload: "{\"x\":\"" + String(repeating: "x", count: 5_113) + "\"}"))
        #expect(try await reports.result(of: 9) == .accepted)
        #expect(try await reports.result(of: 10) == .response(status: 413, reason: "PayloadTooLarge", timestamp: nil))
    }

    @Test(
        "A push to an invalid push token is not sent, and is reported like Apple's refusal of such a token",
        arguments: ["", "../x", "AB", "a b"]
    )
    func badToken(token: String) async throws {
        let sender = try sender()
        sender.send(.test(1, token: token))
        #expect(reports.results(of: 1) == [.response(status: 400, reason: "BadDeviceToken", timestamp: nil)])
        #expect(try await apple.stats().connections == 0)
    }

    @Test("All pushes use the same provider token while it is fresh")
    func oneProviderToken() async throws {
        let sender = try sender()
        for number in 1...20 { sender.send(.test(number)) }
        for number in 1...20 { #expect(try await reports.result(of: UInt64(number)) == .accepted) }
        #expect(try await apple.stats().providerTokens == 1)
    }

    // MARK: ExpiredProviderToken

    /// Returns a sender with a provider token that is 25 minutes old, with which one push was sent.
    private func agedSender(log: ServerLog = quiet) async throws -> HTTPPushSender {
        let clock = TestClock(testNow() - 25 * 60_000)
        var configuration = try apple.configuration(clock: clock.read)
        configuration.steadyClock = clock.read
        let sender = try sender(configuration, log: log)
        sender.send(.test(1, now: clock.read()))
        #expect(try await reports.result(of: 1) == .accepted)
        clock.advance(minutes: 25)
        return sender
    }

    @Test("A push whose provider token Apple calls expired is sent again with a new provider token")
    func expired() async throws {
        let sender = try await agedSender()
        // For the fake server the token is now 65 minutes old, more than the hour that Apple allows.
        try await apple.config(#"{"clockOffset":2400}"#)
        for number in 2...6 { sender.send(.test(number)) }
        for number in 2...6 { #expect(try await reports.result(of: UInt64(number)) == .accepted) }
        #expect(try await apple.stats().providerTokens == 2)
        #expect(try await apple.pushes().filter { $0.token == OutgoingPush.token(2) }.count == 2)
        #expect(
            Set(try await apple.pushes().filter { $0.token == OutgoingPush.token(2) }.map(\.headers["apns-id"])).count
                == 1
        )
    }

    @Test("If Apple calls the renewed provider token expired, too, the push is reported as refused")
    func expiredTwice() async throws {
        let sender = try await agedSender()
        let refusal = #"{"status":403,"reason":"ExpiredProviderToken","always":true}"#
        try await apple.script(OutgoingPush.token(2), refusal)
        sender.send(.test(2))
        let expected = PushResult.response(status: 403, reason: "ExpiredProviderToken", timestamp: nil)
        #expect(try await reports.result(of: 2) == expected)
        #expect(try await apple.pushes().filter { $0.token == OutgoingPush.token(2) }.count == 2)
        // The token is now new. If it were renewed again so soon, Apple would refuse every push.
        try await apple.script(OutgoingPush.token(3), refusal)
        sender.send(.test(3))
        #expect(try await reports.result(of: 3) == expected)
        #expect(try await apple.pushes().filter { $0.token == OutgoingPush.token(3) }.count == 1)
    }

    @Test("A push that is cancelled while its provider token is renewed is not sent again")
    func cancelledAtRenewal() async throws {
        let book = LogBook()
        let sender = try await agedSender(log: book.logger)
        book.whenLogged("it was renewed") { [weak sender] in sender?.cancel(PushID(rawValue: 2)) }
        try await apple.config(#"{"clockOffset":2400}"#)
        sender.send(.test(2))
        #expect(try await reports.result(of: 2) == .cancelled)
        #expect(try await apple.pushes().filter { $0.token == OutgoingPush.token(2) }.count == 1)
    }

    // MARK: Many

    @Test("A thousand pushes use one connection")
    func thousand() async throws {
        let sender = try sender()
        let start = ContinuousClock.now
        for number in 1...1_000 { sender.send(.test(number)) }
        let sent = ContinuousClock.now - start
        try await eventually("all are reported", within: 60) { reports.count >= 1_000 }
        let done = ContinuousClock.now - start
        let stats = try await apple.stats()
        for number in 1...1_000 { #expect(reports.results(of: UInt64(number)) == [.accepted]) }
        #expect(try await apple.pushes().count == 1_000)
        #expect(stats.connections == 1)
        #expect(stats.refusedStreams == 0)
        #expect(stats.mostStreamsAtOnce >= 20)
        print(
            "1,000 pushes: \(stats.connections) connections, handed over in \(sent), answered in \(done),",
            "\(stats.mostStreamsAtOnce) streams at once"
        )
    }

    @Test("A slow response to the first push delays the other pushes only by about a second")
    func slowFirst() async throws {
        let sender = try sender()
        try await apple.script(OutgoingPush.token(1), #"{"delay":20}"#)
        let start = ContinuousClock.now
        for number in 1...3 { sender.send(.test(number)) }
        for number in 2...3 { #expect(try await reports.result(of: UInt64(number), within: 5) == .accepted) }
        #expect(ContinuousClock.now - start >= .milliseconds(900))
        #expect(reports.results(of: 1).isEmpty)
    }

    @Test("A later push uses the connection of the push before it")
    func reuse() async throws {
        let sender = try sender()
        for number in 1...10 {
            sender.send(.test(number))
            #expect(try await reports.result(of: UInt64(number)) == .accepted)
        }
        #expect(try await apple.stats().connections == 1)
    }
}
