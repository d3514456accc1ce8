import CallPorts
import Glibc
import LibWebSockets
import ServerTesting
import Testing

extension EveryTest {
    @Suite("HTTP requests")
    struct RequestTests {
        @Test(
            "A request of each method arrives with its body",
            arguments: ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]
        )
        func methods(_ method: String) throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                // Several requests come on one connection, with and without bodies.
                for body in ["", "abc", "", String(repeating: "z", count: 60_000)] {
                    let hasBody = !body.isEmpty && method != "HEAD"
                    let needsLength = ["POST", "PUT", "PATCH"].contains(method)
                    let length = hasBody || needsLength ? "Content-Length: \(hasBody ? body.utf8.count : 0)\r\n" : ""
                    peer.send(
                        "\(method) /a%20b+c/d?x=1 HTTP/1.1\r\nHost: x\r\nContent-Type: t/t\r\n\(length)\r\n"
                            + (hasBody ? body : "")
                    )
                    let response = try #require(peer.readResponse(toHead: method == "HEAD"))
                    #expect(response.status == 200 && response.header("content-length") == "2")
                    #expect(response.header("connection") == nil)
                    #expect(response.body == (method == "HEAD" ? "" : "ok"))
                    #expect(test.events.last == "\(method) /a%20b+c/d \(hasBody ? body.utf8.count : 0)")
                }
                #expect(test.heads.allSatisfy { $0.contentType == "t/t" && $0.parameter("x") == "1" })
                #expect(test.onLoop { $0.connectionCount } == 1)
            }
        }

        @Test("A POST without a length counts as a POST without a body, and is the last request of its connection")
        func noLength() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.send("POST /x HTTP/1.1\r\nHost: x\r\n\r\n")
                let response = try #require(peer.readResponse())
                #expect(response.status == 200 && response.header("connection") == "close")
                #expect(peer.isEnded())
                #expect(test.events == ["POST /x 0"])
            }
        }

        @Test(
            "A request with an ambiguous, invalid or too large length is refused, and no request behind it is served",
            arguments: [
                ("Content-Length: 5\r\nContent-Length: 5", 400), ("Content-Length: 5, 5", 400),
                ("Content-Length: -1", 400),
                ("Content-Length: +5", 400), ("Content-Length: 5x", 400), ("Content-Length: 99999999999999999999", 400),
                ("Transfer-Encoding: gzip", 411), ("Transfer-Encoding: chunked, chunked", 411),
                ("Transfer-Encoding: chunked\r\nContent-Length: 5", 411),
                ("Content-Length: 65537", 413),
            ],
            ["POST", "GET"]
        )
        func ambiguous(_ lines: (String, Int), method: String) throws {
            try TestServer.run({ $0.bodyTimeoutSeconds = 1 }) { test in
                let peer = Peer(port: test.port)
                peer.send("\(method) /x HTTP/1.1\r\nHost: x\r\n\(lines.0)\r\n\r\nGET /evil HTTP/1.1\r\nHost: x\r\n\r\n")
                let response = try #require(peer.readResponse())
                #expect(response.status == lines.1)
                #expect(response.header("connection") == "close")
                #expect(response.header("content-type") == "application/problem+json")
                if lines.1 == 413 { #expect(response.body.contains("\"code\":\"too_large\"")) }
                #expect(peer.readResponse() == nil)
                #expect(test.events.isEmpty)
            }
        }

        @Test(
            "A body in chunks is read, and no byte behind it is read as a request",
            arguments: [
                ("POST", "5\r\nhello\r\n0\r\n\r\n", "POST /x 5", 200), ("PUT", "0\r\n\r\n", "PUT /x 0", 200),
                ("GET", "5\r\nhello\r\n0\r\n\r\n", "GET /x 0", 200), ("PATCH", "z\r\n", nil, 400),
                ("POST", "10001\r\n", nil, 413),
            ] as [(String, String, String?, Int)]
        )
        func chunks(_ method: String, _ body: String, _ event: String?, _ status: Int) throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                let head = "\(method) /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
                peer.send(head + body + "GET /evil HTTP/1.1\r\nHost: x\r\n\r\n")
                let response = try #require(peer.readResponse())
                #expect(response.status == status && response.header("connection") == "close")
                #expect(peer.isEnded())
                #expect(test.events == (event.map { [$0] } ?? []))
            }
        }

        @Test("A body over the limit is answered 413 even if all of it is sent")
        func tooLarge() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n")
                peer.send(String(repeating: "b", count: 5_000_000))
                #expect(peer.readResponse()?.status == 413)
            }
        }

        @Test(
            "A request needs one Host (in HTTP/1.1), version 1.0 or 1.1, and no escaped CR in its address",
            arguments: [
                ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
                ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("GET / HTTP/1.0\r\n\r\n", 200),
                ("GET /?a=%0d HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ]
        )
        func host(_ request: String, status: Int) throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.send(request)
                #expect(peer.readResponse()?.status == status)
                #expect(peer.isEnded())
            }
        }

        @Test(
            "A malformed request, which libwebsockets itself refuses, gets a problem response too",
            arguments: [
                "FOO / HTTP/1.1", "TRACE / HTTP/1.1", "GET /%zz HTTP/1.1", "GET path HTTP/1.1",
                "GET http://x/path HTTP/1.1", "PRI * HTTP/2.0", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}",
            ]
        )
        func unreadable(_ line: String) throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.send(line + "\r\nHost: x\r\n\r\n")
                let response = try #require(peer.readResponse())
                #expect(response.status == 400 && response.header("content-type") == "application/problem+json")
                #expect(response.body.contains(#""code":"bad_request""#))
                #expect(peer.isEnded())
            }
        }

        @Test("A client that expects 100-continue gets 100 Continue before it sends the body")
        func expects() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.send("POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
                #expect(peer.readResponse()?.status == 100)
                peer.send("abc")
                #expect(peer.readResponse()?.status == 200)
                #expect(test.events == ["POST /x 3"])
            }
        }

        @Test("100 Continue is sent only to a client that expects it, and only in HTTP/1.1")
        func continuing() throws {
            try TestServer.run { test in
                for (lines, isTold) in [
                    ("HTTP/1.1\r\nExpect: 100-continue", true), ("HTTP/1.1\r\nExpect: 100-Continue", true),
                    ("HTTP/1.1\r\nExpect: something", false), ("HTTP/1.0\r\nExpect: 100-continue", false),
                ] {
                    let peer = Peer(port: test.port)
                    peer.send("POST /x \(lines)\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
                    if isTold { #expect(peer.readResponse(toHead: true)?.status == 100) }
                    peer.send("body")
                    #expect(peer.readResponse()?.status == 200, "\(lines)")
                }
            }
        }

        @Test("Requests can be pipelined, whether they are answered immediately or later", arguments: [false, true])
        func pipelined(_ isLater: Bool) throws {
            let waiting = OnLoop<[RequestID]>([])
            try TestServer.run(
                { _ in },
                {
                    $0.onRequest = { server, head, body, exchange in
                        #expect(body == Array((head.method == "POST" ? "body" : "").utf8))
                        guard isLater else {
                            return server.respond(exchange, with: Response(status: 200, body: [65]))
                        }
                        waiting.value.append(exchange)
                        server.setTimer(afterMilliseconds: 5)
                    }
                    $0.onTimer = { server in
                        let all = waiting.value
                        waiting.value = []
                        for exchange in all { server.respond(exchange, with: Response(status: 200, body: [65])) }
                    }
                },
                { test in
                    let peer = Peer(port: test.port)
                    var all = ""
                    for index in 0..<10 {
                        all += "GET /g\(index) HTTP/1.1\r\nHost: x\r\n\r\n"
                        all += "POST /p\(index) HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
                    }
                    peer.send(all)
                    for index in 0..<20 { #expect(peer.readResponse()?.status == 200, "\(index)") }
                    #expect(
                        test.events.filter { $0 != "timer" }
                            == (0..<10).flatMap { ["GET /g\($0) 0", "POST /p\($0) 4"] }
                    )
                }
            )
        }

        @Test("Many large requests can be pipelined behind one that waits", arguments: [1, 3, 20])
        func pipelinedLarge(_ count: Int) throws {
            let waiting = OnLoop<[RequestID]>([])
            try TestServer.run(
                { _ in },
                {
                    $0.onRequest = { server, _, body, exchange in
                        #expect(body.count == 60_000)
                        waiting.value.append(exchange)
                        server.setTimer(afterMilliseconds: 5)
                    }
                    $0.onTimer = { server in
                        let all = waiting.value
                        waiting.value = []
                        for exchange in all { server.respond(exchange, with: Response(status: 200, body: [65])) }
                    }
                },
                { test in
                    let peer = Peer(port: test.port)
                    let body = String(repeating: "b", count: 60_000)
                    for _ in 0...count {
                        peer.send("PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + body)
                    }
                    for index in 0...count { #expect(peer.readResponse()?.status == 200, "\(index)") }
                }
            )
        }

        @Test(
            "A waiting request is reported as abandoned when its client goes away, whatever it has pipelined",
            arguments: [false, true],
            [0, 10, 80_000]
        )
        func abandoned(_ hasBody: Bool, _ pipelined: Int) throws {
            try TestServer.run({ _ in }, { $0.onRequest = { _, _, _, _ in } }) { test in
                let peer = Peer(port: test.port)
                peer.send(
                    hasBody
                        ? "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"
                        : "GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
                )
                #expect(wait { !test.exchanges.isEmpty })
                peer.send(String(repeating: "G", count: pipelined))
                #expect(test.count("abandoned") == 0)
                peer.close()
                #expect(test.hears("abandoned"))
                let exchange = test.exchanges[0]
                _ = test.onLoop { server in
                    server.respond(exchange, with: Response(status: 200))
                    return true
                }
                #expect(wait { test.onLoop { $0.connectionCount } == 0 })
                #expect(test.count("abandoned") == 1)
            }
        }

        @Test(
            "A waiting request uses hardly any CPU time, whatever its client sends meanwhile",
            arguments: [0, 100, 200_000]
        )
        func noSpin(_ count: Int) throws {
            try TestServer.run({ _ in }, { $0.onRequest = { _, _, _, _ in } }) { test in
                let peer = Peer(port: test.port)
                peer.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(wait { !test.exchanges.isEmpty })
                peer.send(String(repeating: "G", count: count))
                let before = test.onLoop { _ in threadMicroseconds() } ?? 0
                _ = wait(seconds: 0.5) { false }
                let after = test.onLoop { _ in threadMicroseconds() } ?? 0
                #expect(after - before < 50_000)
                #expect(test.count("abandoned") == 0)
                let exchange = test.exchanges[0]
                _ = test.onLoop { server in
                    server.respond(exchange, with: Response(status: 200, body: [65]))
                    server.respond(exchange, with: Response(status: 500))
                    return true
                }
                #expect(peer.readResponse()?.body == "A")
            }
        }

        @Test("A client that reads slowly gets a response of 1 MiB whole, and can make further requests")
        func large() throws {
            let body = [UInt8](repeating: 66, count: 1 << 20)
            try TestServer.run(
                { _ in },
                { $0.onRequest = { $0.respond($3, with: Response(status: 200, body: body)) } },
                { test in
                    let peer = Peer(port: test.port, receiveBuffer: 4_096)
                    for _ in 0..<3 { #expect(peer.get("/x")?.body.utf8.count == 1 << 20) }
                }
            )
        }

        @Test("A client may send further requests while a response of 1 MiB waits for it")
        func pipelinedBehindLarge() throws {
            let body = [UInt8](repeating: 66, count: 1 << 20)
            try TestServer.run(
                { _ in },
                { $0.onRequest = { $0.respond($3, with: Response(status: 200, body: body)) } },
                { test in
                    let peer = Peer(port: test.port, receiveBuffer: 4_096)
                    peer.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(wait { !test.exchanges.isEmpty })
                    peer.send(String(repeating: "GET /x HTTP/1.1\r\nHost: x\r\n\r\n", count: 3))
                    let before = test.onLoop { _ in threadMicroseconds() } ?? 0
                    _ = wait(seconds: 0.3) { false }
                    let after = test.onLoop { _ in threadMicroseconds() } ?? 0
                    #expect(after - before < 50_000)
                    for _ in 0..<4 { #expect(peer.readResponse()?.body.utf8.count == 1 << 20) }
                }
            )
        }

        @Test("A client that does not read its response is cut off at the time limit")
        func unread() throws {
            let body = [UInt8](repeating: 66, count: 8 << 20)
            try TestServer.run(
                { $0.responseTimeoutSeconds = 1 },
                { $0.onRequest = { $0.respond($3, with: Response(status: 200, body: body)) } },
                { test in
                    let peer = Peer(port: test.port, receiveBuffer: 4_096)
                    peer.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(wait { !test.exchanges.isEmpty })
                    #expect(wait { test.onLoop { $0.connectionCount } == 0 })
                }
            )
        }

        @Test("A request with 15,000 bytes of headers is served, one with 17,000 only if they are cookies")
        func headers() throws {
            try TestServer.run { test in
                #expect(
                    Peer(port: test.port).get("/x", headers: "X-Long: \(String(repeating: "a", count: 15_000))\r\n")?
                        .status
                        == 200
                )
                #expect(
                    Peer(port: test.port).get("/x", headers: "X-Long: \(String(repeating: "a", count: 17_000))\r\n")?
                        .status
                        == 431
                )
                #expect(
                    Peer(port: test.port).get("/x", headers: "Cookie: \(String(repeating: "a", count: 60_000))\r\n")?
                        .status
                        == 200
                )
            }
        }

        @Test("A line break in the value of a response header cannot add a line to the response")
        func injection() throws {
            try TestServer.run(
                { _ in },
                {
                    $0.onRequest = {
                        $0.respond($3, with: Response(status: 200, headers: [.init("X", "a\r\nEvil: 1")]))
                    }
                },
                { test in
                    let response = Peer(port: test.port).get("/")
                    #expect(response?.header("evil") == nil && response?.header("x") == "a  Evil: 1")
                }
            )
        }
    }
}
