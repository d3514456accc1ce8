import CallCore
import CallPorts
import Foundation
import Glibc
import Logging
import OutboundHTTP
import ServerLog
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

/// Waits for a condition; records an issue and throws if it does not hold in time.
func eventually(
    _ what: String,
    within seconds: Double = 20,
    at place: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let limit = ContinuousClock.now + .seconds(seconds)
    while try await !condition() {
        guard ContinuousClock.now < limit else {
            Issue.record("it did not happen within \(seconds) s that \(what)", sourceLocation: place)
            throw CancellationError()
        }
        try await Task.sleep(for: .milliseconds(5))
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

/// A loopback port that answers each connection with the same bytes, once a request has come.
final class RawServer: Sendable {
    var port: Int { socket.port }
    private let socket: DeadServer

    /// Creates a server; with `hangs` it keeps its connections open after the answer.
    init(_ text: String, hangs: Bool) throws {
        let socket = try DeadServer()
        self.socket = socket
        _ = try WorkThread(named: "raw") {
            while true {
                let connection = accept(socket.socket, nil, nil)
                guard connection >= 0 else { return }
                var room = [UInt8](repeating: 0, count: 4_096)
                _ = recv(connection, &room, room.count, 0)
                let bytes = Array(text.utf8)
                var sent = 0
                while sent < bytes.count {
                    let more = bytes[sent...].withUnsafeBytes {
                        send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                    }
                    guard more > 0 else { break }
                    sent += more
                }
                if hangs { continue }
                close(connection)
            }
        }
    }

    deinit { shutdown(socket.socket, CInt(SHUT_RDWR)) }
}

/// A loopback port that accepts connections but never answers, like a dead service.
final class DeadServer: Sendable {
    let port: Int
    fileprivate let socket: CInt

    init() throws {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && listen(socket, 16) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        try #require(isReady)
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(socket) }
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
