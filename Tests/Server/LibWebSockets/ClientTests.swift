import CallPorts
import Foundation
import LibWebSockets
import ServerTesting
import Testing
import Threads

/// A client on a thread of its own, with a record of its events.
final class TestClient: Sendable {
    let client: WebSocketClient
    private let record: Record

    private final class Record: Sendable {
        let events = Monitor<[WebSocketClient.Event]>([])
    }

    init(_ url: String, _ configure: (inout WebSocketClient.Configuration) -> Void = { _ in }) {
        var configuration = WebSocketClient.Configuration(url: url)
        configure(&configuration)
        let record = Record()
        self.record = record
        client = WebSocketClient(configuration) { event in record.events.withLock { $0.append(event) } }
        let client = client
        Thread { client.run() }.start()
    }

    var events: [WebSocketClient.Event] { record.events.withLock { $0 } }
    func hears(_ event: WebSocketClient.Event) -> Bool { wait { self.events.contains(event) } }
    var isOver: Bool {
        wait {
            self.events.contains {
                switch $0 {
                case .closed, .failed: true
                default: false
                }
            }
        }
    }
}

/// A self-signed certificate for localhost and 127.0.0.1, made once per process.
enum TestCertificate {
    static let folder: String = {
        let folder = NSTemporaryDirectory() + "lws-tests-\(getpid())"
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ]
        openssl.standardError = FileHandle.nullDevice
        try? openssl.run()
        openssl.waitUntilExit()
        return folder
    }()
    static var tls: ServerConfiguration.TLS {
        .init(certificatePath: folder + "/cert.pem", keyPath: folder + "/key.pem")
    }
}

extension EveryTest {
    @Suite("The WebSocket client")
    struct ClientTests {
        private static func echo(_ test: TestServer) {
            test.onMessage = { server, text, id in
                if text == "close" {
                    server.close(id, code: 4429, reason: "enough")
                } else {
                    server.send(frame(text), to: id)
                }
            }
            test.onAdmit = { _, head, _ in
                head.authorization == "Bearer t"
                    ? .accept(subprotocol: head.protocols.first) : .refuse(Response(status: 401))
            }
        }

        private func talk(_ test: TestServer, _ url: String, _ configure: (inout WebSocketClient.Configuration) -> Void)
        {
            let client = TestClient(url) {
                $0.authorization = "Bearer t"
                $0.subprotocols = ["ringline.v1"]
                configure(&$0)
            }
            let long = String(repeating: "é", count: 20_000)
            client.client.send("hello")
            client.client.send(long)
            client.client.ping()
            #expect(client.hears(.text("hello")))
            #expect(client.hears(.text(long)))
            #expect(client.hears(.pong))
            client.client.send("close")
            #expect(client.hears(.closed(code: 4429, reason: "enough")))
            #expect(client.events.first == .opened)
            #expect(test.heads.first?.parameter("device") == "d 1")
        }

        @Test("The client exchanges texts and pings with the server, and receives the server's close code")
        func plain() throws {
            try TestServer.run({ _ in }, Self.echo) { test in
                talk(test, "ws://127.0.0.1:\(test.port)/ws?device=d%201") { _ in }
            }
        }

        @Test("The client works over TLS, with a given authority or without verification", arguments: [false, true])
        func secure(_ isInsecure: Bool) throws {
            try TestServer.run({ $0.tls = TestCertificate.tls }, Self.echo) { test in
                talk(test, "wss://localhost:\(test.port)/ws?device=d%201") {
                    $0.authoritiesPath = isInsecure ? nil : TestCertificate.tls.certificatePath
                    $0.isInsecure = isInsecure
                }
                #expect(test.heads.allSatisfy { $0.isTLS })
            }
        }

        @Test("The client does not connect to a server whose certificate it cannot trust")
        func untrusted() throws {
            try TestServer.run({ $0.tls = TestCertificate.tls }, Self.echo) { test in
                let client = TestClient("wss://localhost:\(test.port)/ws") { $0.authorization = "Bearer t" }
                #expect(client.isOver)
                #expect(!client.events.contains(.opened) && test.events.isEmpty)
            }
        }

        @Test("The client fails if there is no server, the server refuses it, or the URL is invalid")
        func failing() throws {
            try TestServer.run({ _ in }, Self.echo) { test in
                for url in ["ws://127.0.0.1:1/ws", "ws://127.0.0.1:\(test.port)/ws", "http://x", "ws://:5/"] {
                    let client = TestClient(url)
                    #expect(client.isOver)
                    #expect(client.events.count == 1)
                }
            }
        }

        @Test("The client can close the connection with a code of its own")
        func closing() throws {
            try TestServer.run({ _ in }, Self.echo) { test in
                let client = TestClient("ws://127.0.0.1:\(test.port)/ws") { $0.authorization = "Bearer t" }
                client.client.send("x")
                #expect(client.hears(.text("x")))
                client.client.close(code: 4001)
                #expect(test.hears("closed 4001"))
                #expect(client.isOver)
            }
        }
    }
}

extension EveryTest {
    @Suite("A TLS listener")
    struct TLSTests {
        private func openssl(_ port: Int, _ arguments: [String], input: String) -> String {
            let process = Process()
            let output = Pipe()
            let stdin = Pipe()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            process.arguments = ["s_client", "-connect", "127.0.0.1:\(port)", "-ign_eof"] + arguments
            process.standardInput = stdin
            process.standardOutput = output
            process.standardError = output
            guard (try? process.run()) != nil else { return "" }
            stdin.fileHandleForWriting.write(Data(input.utf8))
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: data, as: UTF8.self)
        }

        @Test("The listener speaks only HTTP/1.1, and only over TLS 1.2 and 1.3")
        func versions() throws {
            try TestServer.run({ $0.tls = TestCertificate.tls }) { test in
                let request = "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                for version in ["-tls1_2", "-tls1_3"] {
                    let response = openssl(test.port, [version, "-alpn", "h2,http/1.1"], input: request)
                    #expect(response.contains("ALPN protocol: http/1.1") && response.contains("HTTP/1.1 200 OK"))
                }
                let old = openssl(test.port, ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], input: request)
                #expect(!old.contains("200 OK"))
                #expect(test.heads.allSatisfy { $0.isTLS })
            }
        }

        @Test("A missing certificate file is refused, and so is a certificate in place of the key")
        func files() throws {
            let tls = TestCertificate.tls
            #expect(throws: ServerError.self) {
                try TestServer { $0.tls = .init(certificatePath: "/nowhere.pem", keyPath: tls.keyPath) }
            }
            do {
                _ = try TestServer {
                    $0.tls = .init(certificatePath: tls.certificatePath, keyPath: tls.certificatePath)
                }
                Issue.record("a certificate was taken for a key")
            } catch let error as ServerError {
                #expect("\(error)".contains("cert.pem"))
            }
        }

        @Test("A TLS handshake that stalls does not delay other clients, and is cut off at its time limit")
        func stalled() throws {
            try TestServer.run({
                $0.tls = TestCertificate.tls
                $0.handshakeTimeoutSeconds = 1
            }) { test in
                let stalled = Peer(port: test.port)
                stalled.send([22, 3, 1])
                #expect(
                    openssl(test.port, [], input: "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").contains(
                        "200 OK"
                    )
                )
                #expect(stalled.isEnded())
                // This client does not speak TLS at all.
                let plain = Peer(port: test.port)
                plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(plain.isEnded())
                #expect(wait { test.onLoop { $0.connectionCount } == 0 })
            }
        }
    }
}
