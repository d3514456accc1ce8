import CallCore
import CallPorts
import Foundation
import Glibc
import Logging
import OutboundHTTP
import ServerLog
import ServerTesting
import Testing
import Threads

@testable import Pushes

/// A record of all reports, in order.
final class Reports: Sendable {
    private let all = Monitor<[(id: PushID, result: PushResult)]>([])

    var take: @Sendable (PushID, PushResult) -> Void {
        { [self] id, result in all.withLock { $0.append((id, result)) } }
    }

    var count: Int { all.withLock { $0.count } }

    func results(of id: UInt64) -> [PushResult] {
        all.withLock { all in all.filter { $0.id.rawValue == id }.map(\.result) }
    }

    var counted: [UInt64: Int] {
        all.withLock { all in Dictionary(all.map { ($0.id.rawValue, 1) }, uniquingKeysWith: +) }
    }

    /// Returns the result of a push as soon as it is reported.
    func result(
        of id: UInt64,
        within seconds: Double = 20,
        at place: SourceLocation = #_sourceLocation
    ) async throws
        -> PushResult
    {
        try await eventually("push \(id) is reported", within: seconds, at: place) { !self.results(of: id).isEmpty }
        return try #require(results(of: id).first, sourceLocation: place)
    }
}

extension OutgoingPush {
    /// Returns a push token that ends in this number, in hexadecimal.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "ab", count: 16) + String(repeating: "0", count: 32 - digits.count) + digits
    }

    static func test(
        _ number: Int,
        token: String? = nil,
        kind: APNsRoute.PushType = .voip,
        environment: APNsEnvironment = .sandbox,
        topic: String? = nil,
        payload: String = #"{"aps":{"content-available":1}}"#,
        seconds: Double = 20,
        now: Int64 = testNow()
    ) -> OutgoingPush {
        let digits = String(number, radix: 16)
        return OutgoingPush(
            id: PushID(rawValue: UInt64(number)),
            route: .apns(
                APNsRoute(
                    token: token ?? Self.token(number),
                    topic: topic ?? (kind == .voip ? "com.example.app.voip" : "com.example.app"),
                    environment: environment,
                    pushType: kind
                )
            ),
            uuid: "00000000-0000-5000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits,
            payload: [UInt8](payload.utf8),
            kept: kind == .voip ? .never : .aDay,
            expiresAt: Moment(milliseconds: now + Int64(seconds * 1_000))
        )
    }
}

extension PushResult {
    static let accepted = PushResult.response(status: 200, reason: nil, timestamp: nil)

    var unreachableWords: String? {
        if case .unreachable(let words) = self { words } else { nil }
    }
}

/// A clock that only the test advances.
final class TestClock: Sendable {
    private let now: Monitor<Int64>

    init(_ now: Int64) { self.now = Monitor(now) }

    var read: @Sendable () -> Int64 { { [self] in now.withLock { $0 } } }

    func advance(minutes: Double) { now.withLock { $0 += Int64(minutes * 60_000) } }
}

/// A record of all log lines, as text.
final class LogBook: Sendable {
    private let lines = Monitor<[String]>([])
    private let reaction = Monitor<(words: String, run: @Sendable () -> Void)?>(nil)

    /// Runs `body` within each call that logs a message with these words.
    func whenLogged(_ words: String, _ body: @escaping @Sendable () -> Void) {
        reaction.withLock { $0 = (words, body) }
    }

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    var logger: ServerLog { ServerLog(Logger(label: "test") { _ in Handler(book: self) }) }

    private struct Handler: LogHandler {
        let book: LogBook
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let extra = event.metadata.map { "\($0)" } ?? ""
            book.lines.withLock { $0.append("\(event.level) \(event.message) \(extra)") }
            let reaction = book.reaction.withLock { $0 }
            if let reaction, "\(event.message)".contains(reaction.words) { reaction.run() }
        }
    }
}

let quiet = ServerLog.silent

extension FakeAPNs {
    /// Returns a configuration whose endpoints are those of this fake server.
    func configuration(
        caFile: String? = nil,
        clock: @escaping @Sendable () -> Int64 = { testNow() }
    ) throws -> APNsConfiguration {
        var configuration = try APNsConfiguration(
            key: String(contentsOfFile: startup.key, encoding: .utf8),
            keyID: Self.keyID,
            teamID: Self.teamID,
            endpoints: .init(sandbox: endpoint("sandbox"), production: endpoint("production")),
            caFile: caFile ?? startup.ca,
            clock: clock
        )
        configuration.usesProxyFromEnvironment = false
        return configuration
    }
}
