import Foundation
import ServerTesting
import Testing
import Threads

@testable import OutboundHTTP

@Suite("The HTTP client", .serialized)
struct HTTPClientTests {
    /// A record of outcomes, by number.
    final class Outcomes: Sendable {
        private let all = Monitor<[Int: [HTTPClient.Outcome]]>([:])

        func keep(_ number: Int) -> @Sendable (HTTPClient.Outcome) -> Void {
            { [self] outcome in all.withLock { $0[number, default: []].append(outcome) } }
        }

        subscript(number: Int) -> [HTTPClient.Outcome] { all.withLock { $0[number] ?? [] } }

        var count: Int { all.withLock { all in all.values.reduce(0) { $0 + $1.count } } }
    }

    private let outcomes = Outcomes()

    private func client(_ change: (inout HTTPClientConfiguration) -> Void = { _ in }) throws -> HTTPClient {
        var configuration = HTTPClientConfiguration()
        configuration.usesProxyFromEnvironment = false
        change(&configuration)
        return try HTTPClient(configuration)
    }

    private func request(_ url: String, milliseconds: Int64 = 20_000) -> HTTPRequest {
        HTTPRequest(method: "GET", url: url, timeoutMilliseconds: milliseconds)
    }

    @Test("The client fetches over HTTP/1.1, and keeps the headers that the request wanted")
    func fetches() async throws {
        let server = try FakeAPNs()
        let client = try client()
        var request = request("http://127.0.0.1:\(server.startup.control)/stats")
        request.wantedHeaders = ["content-type"]
        let response = try await client.response(to: request)
        #expect(response.status == 200 && response.version == .http11)
        #expect(response.headers == [HTTPHeader("content-type", "application/json")])
        #expect(response.header("content-type") == "application/json")
        #expect(response.body.first == UInt8(ascii: "{") && response.body.last == UInt8(ascii: "}"))
        #expect(
            try await client.response(to: self.request("http://127.0.0.1:\(server.startup.control)/no")).status == 404
        )
    }

    @Test("A response with a larger body than its request allows is a failure")
    func bodyLimit() async throws {
        let server = try FakeAPNs()
        let client = try client()
        var request = request("http://127.0.0.1:\(server.startup.control)/stats")
        let length = try await client.response(to: request).body.count
        request.bodyLimit = length
        #expect(try await client.response(to: request).body.count == length)
        request.bodyLimit = length - 1
        await #expect(throws: HTTPFailure.bodyTooLarge) { try await client.response(to: request) }
    }

    @Test(
        "If the status suffices, a body that is cut, late or too large does not hide it",
        arguments: [
            "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{",
            "HTTP/1.1 201 Created\r\nContent-Length: 40\r\n\r\n",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\n\r\n" + String(repeating: "a", count: 2_000),
        ],
        [true, false]
    )
    func statusSuffices(_ text: String, _ hangs: Bool) async throws {
        let server = try RawServer(text, hangs: hangs)
        let client = try client()
        var request = request("http://127.0.0.1:\(server.port)/", milliseconds: hangs ? 300 : 20_000)
        request.bodyLimit = 1_000
        request.needsBody = false
        let response = try await client.response(to: request)
        #expect(response.status == 201 && response.body.isEmpty)
        request.needsBody = true
        await #expect(throws: HTTPFailure.self) { try await client.response(to: request) }
    }

    @Test(
        "What is no whole head of a final response is none, and the failure says what came",
        arguments: [
            ("HTTP/1.1 100 Continue\r\n\r\n", HTTPFailure.connectionLost), ("hello", .notHTTP),
            ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 200_000))\r\n\r\n", .headersTooLong),
        ]
    )
    func noHead(_ text: String, _ failure: HTTPFailure) async throws {
        let server = try RawServer(text, hangs: false)
        let client = try client()
        var request = request("http://127.0.0.1:\(server.port)/")
        request.needsBody = false
        await #expect(throws: failure) { try await client.response(to: request) }
    }

    @Test("A request that cannot be sent is refused immediately")
    func invalid() throws {
        let client = try client()
        let url = "http://127.0.0.1:1/"
        var wrong = ["", "localhost", "file:///etc/passwd", "ftp://localhost/", "http://local host/", "http://a/\r\nb"]
            .map {
                request($0)
            }
        for header in [
            HTTPHeader("a\r\nb", "c"), HTTPHeader("a", "b\r\nc: d"), HTTPHeader("", "x"), HTTPHeader("a:", "x"),
        ] {
            var request = request(url)
            request.headers = [header]
            wrong.append(request)
        }
        for method in ["", "GET / HTTP/1.1\r\n", "GE T"] {
            wrong.append(HTTPRequest(method: method, url: url, timeoutMilliseconds: 1_000))
        }
        for (number, request) in wrong.enumerated() {
            client.send(request, completion: outcomes.keep(number))
            guard case .failure(.invalidRequest)? = outcomes[number].first else {
                Issue.record("\(request.method) \(request.url) \(request.headers): \(outcomes[number])")
                continue
            }
        }
    }

    @Test("A request that finds its host's queue full is refused immediately, until there is room again")
    func queueFull() async throws {
        let dead = try DeadServer()
        let client = try client {
            $0.waitingPerHost = 4
        }
        let url = "https://127.0.0.1:\(dead.port)/"
        // There is room for one request under way, because the host does not respond, and four that wait. It is not
        // defined when the first gets under way, so the test waits for it.
        var ids = [client.send(request(url), completion: outcomes.keep(1))]
        try await eventually("it is under way") { client.waitingCount == 0 }
        for number in 2...5 { ids.append(client.send(request(url), completion: outcomes.keep(number))) }
        #expect(outcomes.count == 0)
        client.send(request(url), completion: outcomes.keep(6))
        #expect(outcomes[6] == [.failure(.queueFull)])
        client.send(request("https://localhost:1/"), completion: outcomes.keep(7))
        try await eventually("another host is not held up", within: 4) { outcomes[7] == [.failure(.connectFailed)] }
        for id in ids { client.cancel(id) }
        try await eventually("all are cancelled", within: 4) { outcomes.count == 7 }
        for number in 1...5 { #expect(outcomes[number] == [.failure(.cancelled(sent: false))]) }
        client.send(request(url), completion: outcomes.keep(8))
        #expect(outcomes[8].isEmpty)
    }

    @Test("The number of requests that wait for all hosts together is limited")
    func queueFullInAll() async throws {
        let (one, two) = (try DeadServer(), try DeadServer())
        let client = try client {
            $0.openPerHost = 1
            $0.waitingPerHost = 3
            $0.waitingInAll = 4
        }
        for (number, server) in [one, two].enumerated() {
            client.send(request("https://127.0.0.1:\(server.port)/"), completion: outcomes.keep(number))
            try await eventually("it is under way") { client.waitingCount == 0 }
        }
        for number in 10...14 {
            client.send(
                request("https://127.0.0.1:\(number % 2 == 0 ? one.port : two.port)/"),
                completion: outcomes.keep(number)
            )
        }
        #expect(outcomes[14] == [.failure(.queueFull)])
        #expect(outcomes.count == 1)
    }

    @Test("A request in flight can be cancelled, and the server sees its stream reset")
    func cancelInFlight() async throws {
        let server = try FakeAPNs()
        let client = try client { $0.caFile = server.startup.ca }
        let request = HTTPRequest(
            method: "POST",
            url: server.endpoint("sandbox") + "/3/device/ab",
            body: [1],
            timeoutMilliseconds: 20_000
        )
        // The fake server refuses the request because it has no provider token, but only after the script's delay.
        try await server.script("ab", #"{"delay":20}"#)
        let id = client.send(request, completion: outcomes.keep(1))
        try await eventually("the server has it") { try await server.stats().open == 1 }
        client.cancel(id, onlyIfUnsent: true)
        client.cancel(id)
        try await eventually("it is cancelled", within: 4) { outcomes[1] == [.failure(.cancelled(sent: true))] }
        // libcurl resets the stream only when it sends the next request on this connection.
        _ = try await client.response(to: self.request(server.endpoint("sandbox") + "/"))
        #expect(try await server.stats().connections == 1)
        try await eventually("the stream is reset", within: 4) { try await server.stats().open == 0 }
    }

    @Test("A request whose connection is not established within the time limit fails")
    func connectTimeout() async throws {
        let dead = try DeadServer()
        let client = try client { $0.connectTimeoutMilliseconds = 300 }
        client.send(request("https://127.0.0.1:\(dead.port)/"), completion: outcomes.keep(1))
        try await eventually("it fails", within: 4) { outcomes[1] == [.failure(.connectFailed)] }
    }

    @Test("When a client is released, its open requests fail first; a completion may shut the client down")
    func letGo() async throws {
        let dead = try DeadServer()
        do {
            let client = try client()
            for number in 1...3 {
                client.send(request("https://127.0.0.1:\(dead.port)/"), completion: outcomes.keep(number))
            }
        }
        for number in 1...3 { #expect(outcomes[number] == [.failure(.shutDown)]) }
        let box = Monitor<HTTPClient?>(try client())
        let keep = outcomes.keep(4)
        let client = box.withLock { $0 }
        client?.send(request("https://localhost:1/")) { outcome in
            client?.shutdown()
            keep(outcome)
        }
        try await eventually("it is answered", within: 4) { outcomes[4].count == 1 }
    }

    @Test("Forty requests to a host that accepts and stays silent delay none to another host")
    func silentHost() async throws {
        let (silent, healthy) = (
            try DeadServer(), try RawServer("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", hangs: false)
        )
        let client = try client()
        for number in 0..<40 {
            client.send(request("http://127.0.0.1:\(silent.port)/"), completion: outcomes.keep(100 + number))
        }
        for number in 0..<10 {
            client.send(request("http://127.0.0.1:\(healthy.port)/"), completion: outcomes.keep(number))
        }
        try await eventually("the others are answered", within: 10) { outcomes.count == 10 }
        for number in 0..<10 { #expect((try? outcomes[number].first?.get().status) == 201) }
        // As many as there may be connections are under way to the silent host.
        try await eventually("the figures say so", within: 4) {
            client.figures.waiting == 36 && client.figures.sent == 4
        }
        client.shutdown(limitMilliseconds: 0)
        #expect(outcomes.count == 50)
    }

    @Test("Many requests to one host share a connection of HTTP/2, and all of them run")
    func manyOverHTTP2() async throws {
        // Apple's limit of one stream at first is for the sender of APNs, which lets its first request go alone.
        let server = try FakeAPNs(["--initial-streams", "0"])
        let client = try client { $0.caFile = server.startup.ca }
        for number in 0..<300 {
            client.send(request(server.endpoint("sandbox") + "/"), completion: outcomes.keep(number))
        }
        try await eventually("all have a response") { outcomes.count == 300 }
        for number in 0..<300 { #expect(throws: Never.self) { try outcomes[number].first?.get() } }
    }

    @Test("A name that hangs holds one thread, and its user no more places than allowed; other users' requests go on")
    func hangingNames() async throws {
        let gate = Monitor(false)
        let asked = Monitor<[String]>([])
        let server = try FakeAPNs()
        let client = try client {
            $0.connecting = 6
            $0.connectingPerUser = 3
            $0.lookUp = { name in
                asked.withLock { $0.append(name) }
                guard name.hasPrefix("hanging") else { return ["127.0.0.1"] }
                _ = gate.wait { $0 ? true : nil }
                return []
            }
        }
        for number in 0..<60 {
            var request = request("http://hanging-\(number % 30).example:1/")
            request.user = "mallory"
            client.send(request, completion: outcomes.keep(100 + number))
        }
        try await eventually("three are looked up") { asked.withLock { $0.count } == 3 }
        var request = request("http://healthy.example:\(server.startup.control)/stats")
        request.user = "alice"
        #expect(try await client.response(to: request).status == 200)
        #expect(asked.withLock { $0.count } == 4)
        #expect(client.figures.resolving <= 3)
        gate.withLock { $0 = true }
        try await eventually("all have failed") { outcomes.count == 60 }
        for number in 0..<60 { #expect(outcomes[100 + number] == [.failure(.nameNotResolved)]) }
        #expect(Set(asked.withLock { $0 }).count == 31)
    }

    @Test(
        "A request that refuses private addresses refuses those that its name leads to",
        arguments: ["127.0.0.1", "::1", "10.0.0.1"]
    )
    func privateName(_ address: String) async throws {
        let client = try client { $0.lookUp = { _ in [address] } }
        var request = request("https://push.example/")
        request.addresses = .publicOnly
        await #expect(throws: HTTPFailure.privateAddress) { try await client.response(to: request) }
    }

    @Test(
        "A request for the own network refuses the public addresses that its name leads to",
        arguments: ["1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "192.0.2.1", "0.0.0.0"]
    )
    func publicName(_ address: String) async throws {
        let client = try client { $0.lookUp = { _ in [address] } }
        var request = request("http://backend.example/")
        request.addresses = .ownNetworkOnly
        await #expect(throws: HTTPFailure.publicAddress) { try await client.response(to: request) }
    }

    @Test("A request for the own network goes to the one of a name's addresses that is of it")
    func ownName() async throws {
        let server = try FakeAPNs()
        let client = try client { $0.lookUp = { _ in ["192.0.2.1", "127.0.0.1"] } }
        var request = request("http://backend.example:\(server.startup.control)/stats")
        request.addresses = .ownNetworkOnly
        #expect(try await client.response(to: request).status == 200)
    }

    @Test("If an address of a name does not respond, the next one is tried, in both families")
    func severalAddresses() async throws {
        let server = try FakeAPNs()
        let client = try client { $0.lookUp = { _ in ["::1", "127.0.0.1"] } }
        let response = try await client.response(to: request("http://push.example:\(server.startup.control)/stats"))
        #expect(response.status == 200)
    }

    @Test("A client without requests stays idle")
    func idle() async throws {
        let server = try FakeAPNs()
        let sender = try client { $0.caFile = server.startup.ca }
        _ = try await sender.response(to: request(server.endpoint("sandbox") + "/"))
        let before = sender.iterations
        try await Task.sleep(for: .milliseconds(600))
        #expect(sender.iterations - before < 20)
    }
}
