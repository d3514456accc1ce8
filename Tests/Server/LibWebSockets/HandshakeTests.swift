import CallPorts
import LibWebSockets
import ServerTesting
import Testing

extension EveryTest {
    @Suite("The WebSocket handshake")
    struct HandshakeTests {
        @Test("A valid handshake is answered with 101 and the accept key of RFC 6455's example")
        func accepted() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                let response = try #require(peer.upgrade())
                #expect(response.status == 101)
                #expect(response.header("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
                #expect(response.header("sec-websocket-protocol") == nil)
                #expect(test.hears("opened"))
            }
        }

        @Test(
            "A handshake that breaks a rule is refused with the status for its fault",
            arguments: [
                ("GET /other HTTP/1.1\r\nHost: x\r\n", "13", Peer.key, "Upgrade", 404),
                ("POST /ws HTTP/1.1\r\nHost: x\r\n", "13", Peer.key, "Upgrade", 400),
                ("GET /ws HTTP/1.0\r\nHost: x\r\n", "13", Peer.key, "Upgrade", 400),
                ("GET /ws HTTP/1.1\r\n", "13", Peer.key, "Upgrade", 400),
                ("GET /ws HTTP/1.1\r\nHost: x\r\nHost: y\r\n", "13", Peer.key, "Upgrade", 400),
                ("GET /ws HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n", "13", Peer.key, "Upgrade", 400),
                ("GET /ws HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n", "13", Peer.key, "Upgrade", 400),
                ("GET /ws HTTP/1.1\r\nHost: x\r\n", "8", Peer.key, "Upgrade", 426),
                ("GET /ws HTTP/1.1\r\nHost: x\r\n", "13", "short", "Upgrade", 400),
                ("GET /ws HTTP/1.1\r\nHost: x\r\n", "13", "dGhlIHNhbXBsZSBub25jZQ=!", "Upgrade", 400),
                ("GET /ws HTTP/1.1\r\nHost: x\r\n", "13", Peer.key, "keep-alive", 400),
            ]
        )
        func refused(_ line: String, version: String, key: String, connection: String, status: Int) throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.send(
                    line + "Upgrade: websocket\r\nConnection: \(connection)\r\nSec-WebSocket-Key: \(key)\r\n"
                        + "Sec-WebSocket-Version: \(version)\r\n\r\n"
                )
                let response = try #require(peer.readResponse())
                #expect(response.status == status)
                #expect(response.body.contains("\"status\":\(status)"))
                if status == 426 { #expect(response.header("sec-websocket-version") == "13") }
                #expect(peer.isEnded())
                #expect(test.events.isEmpty)
            }
        }

        @Test(
            "An upgrade to HTTP/2 in plain text is ignored: this request and the next are answered as HTTP/1.1",
            arguments: ["h2c", "H2C"]
        )
        func noHTTP2(_ name: String) throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                let offer =
                    "Host: x\r\nUpgrade: \(name)\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                    + "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
                peer.send("POST /a HTTP/1.1\r\n\(offer)Content-Length: 2\r\n\r\nhi")
                #expect(peer.readResponse()?.status == 200)
                peer.send("GET /ws HTTP/1.1\r\n\(offer)\r\n")
                #expect(peer.readResponse()?.status == 200)
                #expect(test.heads.map(\.path) == ["/a", "/ws"])
            }
        }

        @Test("The delegate sees the whole request head, including a token of 12,000 characters")
        func head() throws {
            let token = String(repeating: "e", count: 12_000)
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                let response = peer.upgrade(
                    "/ws?device=a%26b&x=1+2&flag",
                    headers: "Authorization: Bearer \(token)\r\nOrigin: https://o\r\n"
                )
                #expect(response?.status == 101)
                let head = try #require(test.heads.first)
                #expect(head.method == "GET" && head.path == "/ws" && head.host == "x" && head.origin == "https://o")
                #expect(head.authorization == "Bearer " + token)
                #expect(
                    head.parameter("device") == "a&b" && head.parameter("x") == "1+2" && head.parameter("flag") == ""
                )
                #expect(head.peerAddress == "127.0.0.1" && !head.isTLS && head.listener == 0)
            }
        }

        @Test("A client that offers a token of 2,000 characters as a subprotocol gets the subprotocol that was chosen")
        func subprotocols() throws {
            let token = "bearer." + String(repeating: "a", count: 2_000)
            try TestServer.run(
                { _ in },
                {
                    $0.onAdmit = { _, head, _ in .accept(subprotocol: head.protocols.count == 2 ? "ringline.v1" : nil) }
                },
                { test in
                    let peer = Peer(port: test.port)
                    let response = peer.upgrade(headers: "Sec-WebSocket-Protocol: ringline.v1, \(token)\r\n")
                    #expect(response?.status == 101)
                    #expect(response?.header("sec-websocket-protocol") == "ringline.v1")
                    #expect(test.heads.first?.protocols == ["ringline.v1", token])
                    let other = Peer(port: test.port)
                    let second = other.upgrade(headers: "Sec-WebSocket-Protocol: soup\r\n")
                    #expect(second?.status == 101 && second?.header("sec-websocket-protocol") == nil)
                }
            )
        }

        @Test("The delegate can refuse a handshake, or accept it and close the connection immediately")
        func decisions() throws {
            try TestServer.run(
                { _ in },
                {
                    $0.onAdmit = { _, head, _ in
                        head.parameter("no") == nil
                            ? .acceptThenClose(code: 4401, reason: "token", subprotocol: nil)
                            : .refuse(.problem(401, code: "unauthenticated", message: "who?"))
                    }
                },
                { test in
                    let refused = Peer(port: test.port)
                    #expect(refused.upgrade("/ws?no=1")?.status == 401)
                    #expect(refused.isEnded())
                    let closed = Peer(port: test.port)
                    #expect(closed.upgrade()?.status == 101)
                    let frame = try #require(closed.readFrame())
                    #expect(frame.code == 4401)
                    closed.sendClose(4401)
                    #expect(closed.isEnded())
                    #expect(test.events.isEmpty)
                }
            )
        }

        @Test("A handshake succeeds while 500 others are incomplete")
        func halfOpen() throws {
            try TestServer.run { test in
                let stalled = (0..<500).map { _ in
                    let peer = Peer(port: test.port)
                    peer.send("GET /ws HTTP/1.1\r\nHost: x\r\nUpgr")
                    return peer
                }
                for _ in 0..<20 { #expect(Peer(port: test.port).upgrade()?.status == 101) }
                _ = stalled
            }
        }

        @Test("A handshake that stalls is cut off at its time limit")
        func stalled() throws {
            try TestServer.run({ $0.handshakeTimeoutSeconds = 1 }) { test in
                let peer = Peer(port: test.port)
                peer.send("GET /ws HTTP/1.1\r\nHost: x\r\n")
                #expect(peer.isEnded())
            }
        }
    }
}
