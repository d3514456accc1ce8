import CallCore
import CallPorts
import OutboundHTTP
import ServerLog
import ServerTesting
import Testing
import Threads

@testable import Backend

@Suite("The sender of events", .serialized)
struct BackendEventSenderTests {
    /// The results, by the number of their delivery.
    private final class Reports: Sendable {
        private let all = Monitor<[UInt64: [DeliveryResult]]>([:])

        @Sendable func take(_ id: DeliveryID, _ result: DeliveryResult) {
            all.withLock { $0[id.rawValue, default: []].append(result) }
        }

        var count: Int { all.withLock { all in all.values.reduce(0) { $0 + $1.count } } }

        func result(of id: UInt64) async throws -> DeliveryResult {
            try await eventually("delivery \(id) has a result") { all.withLock { $0[id] != nil } }
            let results = all.withLock { $0[id] ?? [] }
            #expect(results.count == 1)
            return try #require(results.first)
        }
    }

    /// 2026-11-30 12:00:00.
    private static let now: Int64 = 1_796_040_000_000
    private static let body = Array(#"{"type":"call.started"}"#.utf8)
    private let reports = Reports()

    private func sender(
        _ secrets: WebhookSecrets = WebhookSecrets([.make()]),
        _ change: (inout BackendConfiguration) -> Void = { _ in }
    ) throws -> BackendEventSender {
        var configuration = BackendConfiguration(secrets: secrets, version: "1.2.3") { Self.now }
        configuration.usesProxyFromEnvironment = false
        change(&configuration)
        return try BackendEventSender(configuration, log: .silent, report: reports.take)
    }

    private func event(_ id: UInt64, to url: String) -> EventRequest {
        EventRequest(id: DeliveryID(rawValue: id), url: url, eventID: "evt_1_\(id)", body: Self.body)
    }

    private func event(_ id: UInt64, to server: RawServer) -> EventRequest {
        event(id, to: "http://127.0.0.1:\(server.port)/ringline?key=1")
    }

    @Test("An event is posted with its headers and a signature of these bytes, and new secrets sign the next one")
    func posts() async throws {
        let server = try RawServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", hangs: false)
        let secrets = [WebhookSecrets([.make()]), WebhookSecrets([.make(), .make()])]
        let sender = try sender(secrets[0])
        defer { sender.shutdown(limitMilliseconds: 0) }
        for (index, secrets) in secrets.enumerated() {
            let id = UInt64(index + 1)
            sender.use(secrets)
            sender.send(event(id, to: server))
            #expect(try await reports.result(of: id) == .response(status: 200, retryAfter: nil))
            let lines = try #require(server.requests.last).split(separator: "\r\n").map(String.init)
            #expect(lines.first == "POST /ringline?key=1 HTTP/1.1" && lines.last == #"{"type":"call.started"}"#)
            var headers: [String: String] = [:]
            for line in lines.dropFirst().dropLast() {
                guard let mark = line.firstRange(of: ": ") else { continue }
                headers[line[..<mark.lowerBound].lowercased()] = String(line[mark.upperBound...])
            }
            #expect(headers["content-type"] == "application/json" && headers["user-agent"] == "ringline/1.2.3")
            #expect(headers["webhook-timestamp"] == "1796040000" && headers["content-length"] == "23")
            try WebhookSignature.verify(
                id: headers["webhook-id"],
                timestamp: headers["webhook-timestamp"],
                signatures: headers["webhook-signature"],
                body: Self.body,
                secrets,
                at: 1_796_040_100
            )
            #expect(headers["webhook-id"] == "evt_1_\(id)")
        }
    }

    @Test(
        "The status of a response is the result, with the time after which to try again",
        arguments: [
            ("204 No Content", 204, nil), ("500 Internal Server Error\r\nContent-Length: 0", 500, nil),
            ("429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0", 429, 7),
            ("503 Gone\r\nRetry-After: Mon, 30 Nov 2026 12:01:30 GMT\r\nContent-Length: 0", 503, 90),
            ("503 Gone\r\nRetry-After: soon\r\nContent-Length: 0", 503, nil),
            ("410 Gone\r\nContent-Length: 0", 410, nil),
            ("302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0", 302, nil),
            ("200 OK\r\nContent-Length: 100", 200, nil),
        ] as [(String, Int, Int64?)]
    )
    func responds(_ head: String, _ status: Int, _ seconds: Int64?) async throws {
        let server = try RawServer("HTTP/1.1 \(head)\r\n\r\n", hangs: false)
        let sender = try sender()
        defer { sender.shutdown(limitMilliseconds: 0) }
        sender.send(event(1, to: server))
        let wanted = DeliveryResult.response(status: status, retryAfter: seconds.map { Moment.Duration.seconds($0) })
        #expect(try await reports.result(of: 1) == wanted)
        #expect(server.requests.count == 1)
    }

    @Test("A body of a gigabyte is not read: the connection ends after little of it")
    func gigabyte() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"
        let part = String(repeating: "x", count: 1 << 20)
        let server = try RawServer(head, hangs: false, then: (part, 1_024))
        let sender = try sender()
        defer { sender.shutdown(limitMilliseconds: 0) }
        sender.send(event(1, to: server))
        #expect(try await reports.result(of: 1) == .response(status: 200, retryAfter: nil))
        // What the sockets of both sides hold is a few MiB.
        #expect(server.sentBytes < 64 << 20)
    }

    @Test(
        "Without a response the result says why, without an address",
        arguments: [
            ("http", "", false, "the connection was lost before the response came"),
            ("http", "", true, "no response came before the deadline"),
            ("http", "HTTP/1.1 200 OK\r\n", true, "no response came before the deadline"),
            ("https", "no TLS", false, "the TLS handshake failed"),
        ]
    )
    func noResponse(_ scheme: String, _ text: String, _ hangs: Bool, _ why: String) async throws {
        let server = try RawServer(text, hangs: hangs)
        let sender = try sender { if hangs { $0.timeout = .milliseconds(300) } }
        defer { sender.shutdown(limitMilliseconds: 0) }
        sender.send(event(1, to: "\(scheme)://127.0.0.1:\(server.port)/"))
        #expect(try await reports.result(of: 1) == .unreachable(why))
    }

    @Test("Plain http does not go to a public address, nor to a closed port")
    func noConnection() async throws {
        let sender = try sender()
        defer { sender.shutdown(limitMilliseconds: 0) }
        sender.send(event(1, to: "http://192.0.2.1/"))
        sender.send(event(2, to: "http://127.0.0.1:\(try unusedPort())/"))
        sender.send(event(3, to: "http://127.0.0.1/ a"))
        #expect(
            try await reports.result(of: 1) == .unreachable("the host has a public address, to which only https may go")
        )
        #expect(
            try await reports.result(of: 2) == .unreachable("the host cannot be reached, or refuses the connection")
        )
        guard case .unreachable = try await reports.result(of: 3) else {
            Issue.record("an address with a blank is no address")
            return
        }
    }

    @Test("Over HTTPS an event goes by HTTP/2, and only to a host that the authorities know")
    func secure() async throws {
        let server = try FakeAPNs()
        let trusting = try sender { $0.caFile = server.startup.ca }
        defer { trusting.shutdown(limitMilliseconds: 0) }
        trusting.send(event(1, to: server.endpoint("sandbox") + "/3/device/x"))
        guard case .response(let status, _) = try await reports.result(of: 1) else {
            Issue.record("the server responds")
            return
        }
        #expect((400...499).contains(status))
        let distrusting = try sender()
        defer { distrusting.shutdown(limitMilliseconds: 0) }
        distrusting.send(event(2, to: server.endpoint("sandbox") + "/3/device/x"))
        #expect(try await reports.result(of: 2) == .unreachable("the server's certificate was refused"))
    }

    @Test("A slow endpoint does not hold another one up, and each delivery has one result at the end")
    func independent() async throws {
        let slow = try DeadServer()
        let quick = try RawServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", hangs: false)
        let sender = try sender()
        for id in 1...8 { sender.send(event(UInt64(id), to: "http://127.0.0.1:\(slow.port)/")) }
        for id in 11...18 {
            sender.send(event(UInt64(id), to: quick))
            #expect(try await reports.result(of: UInt64(id)) == .response(status: 200, retryAfter: nil))
        }
        #expect(reports.count == 8)
        sender.shutdown(limitMilliseconds: 0)
        for id in 1...8 {
            #expect(try await reports.result(of: UInt64(id)) == .unreachable("the client was shut down"))
        }
        sender.send(event(20, to: quick))
        #expect(try await reports.result(of: 20) == .unreachable("the client was shut down"))
        #expect(reports.count == 17)
    }
}
