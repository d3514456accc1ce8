import CallCore
import CallPorts
import Foundation
import ServerTesting
import Testing

@testable import Pushes

@Suite("A push that fails", .serialized)
struct UnreachableTests {
    let reports = Reports()

    private func sender(_ apple: FakeAPNs, caFile: String? = nil) throws -> HTTPPushSender {
        try HTTPPushSender(apple.configuration(caFile: caFile), log: quiet, report: reports.take)
    }

    private func sender(_ apple: FakeAPNs, sandboxPort: Int) throws -> HTTPPushSender {
        var configuration = try APNsConfiguration(
            key: String(contentsOfFile: apple.startup.key, encoding: .utf8),
            keyID: FakeAPNs.keyID,
            teamID: FakeAPNs.teamID,
            endpoints: .init(sandbox: "https://localhost:\(sandboxPort)", production: apple.endpoint("production")),
            caFile: apple.startup.ca,
            clock: { testNow() }
        )
        configuration.usesProxyFromEnvironment = false
        return try HTTPPushSender(configuration, log: quiet, report: reports.take)
    }

    @Test(
        "After GOAWAY libcurl or the caller of `send` resends a push on a new connection, with the same apns-id",
        arguments: [
            #"{"goaway":true}"#, #"{"goaway":true,"processed":true}"#,
        ]
    )
    func goAway(answer: String) async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        sender.send(.test(1))
        #expect(try await reports.result(of: 1) == .accepted)
        try await apple.script(OutgoingPush.token(2), answer)
        sender.send(.test(2))
        // Whether libcurl repeats the push depends on what it reads first: the GOAWAY alone, or also the end of the
        // connection.
        if try await reports.result(of: 2) != .accepted {
            #expect(try await reports.result(of: 2).unreachableWords != nil)
            var again = OutgoingPush.test(3, token: OutgoingPush.token(2))
            again.uuid = OutgoingPush.test(2).uuid
            sender.send(again)
            #expect(try await reports.result(of: 3) == .accepted)
        }
        #expect(try await apple.stats().connections == 2)
        let pushes = try await apple.pushes().filter { $0.token == OutgoingPush.token(2) }
        #expect(pushes.count == 2 && Set(pushes.map(\.headers["apns-id"])).count == 1)
    }

    @Test("A GOAWAY for one push does not disturb the other pushes under way on the connection")
    func goAwayAmongOthers() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        sender.send(.test(1))
        #expect(try await reports.result(of: 1) == .accepted)
        for number in 2...9 { try await apple.script(OutgoingPush.token(number), #"{"delay":1}"#) }
        for number in 2...9 { sender.send(.test(number)) }
        try await eventually("Apple has them") { try await apple.pushes().count == 9 }
        try await apple.script(OutgoingPush.token(10), #"{"goaway":true}"#)
        sender.send(.test(10))
        for number in 2...9 { #expect(try await reports.result(of: UInt64(number)) == .accepted) }
        let last = try await reports.result(of: 10)
        #expect(last == .accepted || last.unreachableWords != nil)
        sender.send(.test(11))
        #expect(try await reports.result(of: 11) == .accepted)
    }

    @Test("A push whose connection is lost is reported as unreachable, and the next push succeeds")
    func dropped() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        try await apple.script(OutgoingPush.token(1), #"{"drop":true,"always":true}"#)
        sender.send(.test(1))
        #expect(try await reports.result(of: 1).unreachableWords == "the connection was lost before the response came")
        sender.send(.test(2))
        #expect(try await reports.result(of: 2) == .accepted)
    }

    @Test("If Apple refuses a push's stream before it processes the push, libcurl sends the push again")
    func refusedStream() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        try await apple.script(OutgoingPush.token(1), #"{"reset":"refused"}"#)
        sender.send(.test(1))
        #expect(try await reports.result(of: 1) == .accepted)
        let pushes = try await apple.pushes()
        #expect(pushes.count == 2 && Set(pushes.map(\.headers["apns-id"])).count == 1)
    }

    @Test("A push whose stream Apple resets is reported as unreachable, and the connection stays")
    func reset() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        try await apple.script(OutgoingPush.token(2), #"{"reset":true}"#)
        sender.send(.test(1))
        #expect(try await reports.result(of: 1) == .accepted)
        sender.send(.test(2))
        #expect(try await reports.result(of: 2).unreachableWords == "the server reset the HTTP/2 stream")
        sender.send(.test(3))
        #expect(try await reports.result(of: 3) == .accepted)
        #expect(try await apple.stats().connections == 1)
    }

    @Test("A push without a response by its deadline is given up, and other pushes are not affected")
    func slow() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        sender.send(.test(1))
        #expect(try await reports.result(of: 1) == .accepted)
        try await apple.script(OutgoingPush.token(2), #"{"delay":30}"#)
        let start = ContinuousClock.now
        sender.send(.test(2, seconds: 3))
        sender.send(.test(3))
        #expect(try await reports.result(of: 3) == .accepted)
        #expect(reports.results(of: 2).isEmpty)
        #expect(try await reports.result(of: 2).unreachableWords == "no response came before the deadline")
        #expect((.milliseconds(2_950)...Duration.seconds(20)).contains(ContinuousClock.now - start))
        sender.send(.test(4))
        #expect(try await reports.result(of: 4) == .accepted)
        #expect(try await apple.stats().connections == 1)
        try await eventually("the late stream is reset") { try await apple.stats().open == 0 }
    }

    @Test("A push whose deadline has passed is never sent")
    func tooLate() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        sender.send(.test(1, seconds: -1))
        #expect(try await reports.result(of: 1).unreachableWords == "the request could not be sent before the deadline")
        #expect(try await apple.stats().connections == 0)
    }

    @Test("No push is sent to a server whose certificate is from another authority")
    func wrongCA() async throws {
        let (apple, other) = (try FakeAPNs(), try FakeAPNs())
        let sender = try sender(apple, caFile: other.startup.ca)
        sender.send(.test(1))
        #expect(try await reports.result(of: 1).unreachableWords == "the server's certificate was refused")
        #expect(try await apple.pushes().isEmpty)
    }

    @Test("A push to a server without HTTP/2 is reported as unreachable")
    func noHTTP2() async throws {
        let apple = try FakeAPNs(["--no-h2"])
        let sender = try sender(apple)
        sender.send(.test(1))
        #expect(try await reports.result(of: 1).unreachableWords == "the server does not support HTTP/2")
    }

    @Test("A push to a port on which nothing listens is reported as unreachable immediately")
    func refusedConnection() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple, sandboxPort: 1)
        sender.send(.test(1))
        #expect(
            try await reports.result(of: 1, within: 5).unreachableWords
                == "the host cannot be reached, or refuses the connection"
        )
    }

    @Test("If the service of one environment is dead, neither the sender's caller nor the other environment is blocked")
    func dead() async throws {
        let (apple, dead) = (try FakeAPNs(), try DeadServer())
        let sender = try sender(apple, sandboxPort: dead.port)
        let start = ContinuousClock.now
        for number in 1...600 { sender.send(.test(number, seconds: 2)) }
        sender.send(.test(601, environment: .production))
        #expect(ContinuousClock.now - start < .seconds(1))
        #expect(try await reports.result(of: 601, within: 5) == .accepted)
        try await eventually("all are given up", within: 10) { reports.count == 601 }
        for number in 1...600 {
            #expect(
                reports.results(of: UInt64(number)).map(\.unreachableWords) == [
                    "the request could not be sent before the deadline"
                ]
            )
        }
    }

    @Test("A push that waits for a connection can be cancelled")
    func cancelled() async throws {
        let (apple, dead) = (try FakeAPNs(), try DeadServer())
        let sender = try sender(apple, sandboxPort: dead.port)
        for number in 1...3 { sender.send(.test(number)) }
        sender.cancel(PushID(rawValue: 1))
        sender.cancel(PushID(rawValue: 2))
        #expect(try await reports.result(of: 1, within: 3) == .cancelled)
        #expect(try await reports.result(of: 2, within: 3) == .cancelled)
        #expect(reports.results(of: 3).isEmpty)
        sender.shutdown(limitMilliseconds: 0)
        #expect(reports.results(of: 3).map(\.unreachableWords) == ["the client was shut down"])
    }

    @Test("A push that was sent cannot be cancelled, and its response is reported once")
    func cancelledTooLate() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        try await apple.script(OutgoingPush.token(1), #"{"delay":0.5}"#)
        sender.send(.test(1))
        try await eventually("Apple has it") { try await apple.pushes().count == 1 }
        sender.cancel(PushID(rawValue: 1))
        #expect(try await reports.result(of: 1) == .accepted)
        sender.cancel(PushID(rawValue: 1))
        sender.cancel(PushID(rawValue: 99))
        sender.shutdown()
        #expect(reports.count == 1)
    }

    @Test("A shutdown lets pushes under way finish, and later pushes are reported as unreachable")
    func shutdown() async throws {
        let apple = try FakeAPNs()
        let sender = try sender(apple)
        try await apple.script(OutgoingPush.token(1), #"{"delay":0.5}"#)
        sender.send(.test(1))
        sender.shutdown(limitMilliseconds: 10_000)
        #expect(reports.results(of: 1) == [.accepted])
        sender.send(.test(2))
        #expect(reports.results(of: 2).map(\.unreachableWords) == ["the client was shut down"])
    }

    @Test("The log contains no whole push token, no provider token and no payload")
    func log() async throws {
        let (apple, book) = (try FakeAPNs(), LogBook())
        let sender = try HTTPPushSender(apple.configuration(), log: book.logger, report: reports.take)
        try await apple.script(OutgoingPush.token(2), #"{"status":410,"reason":"Unregistered"}"#)
        try await apple.script(OutgoingPush.token(3), #"{"drop":true,"always":true}"#)
        for number in 1...3 {
            // The pushes are sent one after the other, because the lost connection of push 3 could affect other pushes
            // under way. `goAwayAmongOthers` covers several pushes on one connection.
            sender.send(.test(number, payload: #"{"callerName":"Yamada"}"#))
            try await eventually("it is reported") { reports.count == number }
        }
        let logging = LoggingPushSender(APNsConfiguration.words, log: book.logger, report: reports.take)
        logging.send(.test(4, payload: #"{"callerName":"Yamada"}"#))
        #expect(reports.results(of: 4) == [.onlyLogged])
        let provider = try #require(try await apple.pushes().first?.headers["authorization"])
        #expect(book.text.contains("Unregistered") && book.text.contains("no APNs key"))
        #expect(book.text.contains(String(OutgoingPush.token(1).prefix(6))))
        for secret in [String(OutgoingPush.token(1).prefix(7)), String(provider.dropFirst(7).prefix(20)), "Yamada"] {
            #expect(!book.text.contains(secret))
        }
    }
}
