import CallPorts
import Glibc
import ServerTesting
import Testing

@testable import LibWebSockets

private func network(_ text: String) throws -> ClientNetwork { ClientNetwork(try #require(PeerAddress(text))) }

@Suite("The table of unauthenticated connections")
struct UnauthenticatedQueueTests {
    @Test("The address with most members loses its oldest; in a tie, the oldest member of the tied addresses goes")
    func greediest() throws {
        let (one, other, third) = try (network("192.0.2.1"), network("192.0.2.2"), network("2001:db8::1"))
        var queue = UnauthenticatedQueue<Int>()
        #expect(queue.first == nil && queue.oldest == nil)
        for (number, network) in [one, other, other, third, other].enumerated() {
            queue.insert(number, of: network, at: UInt64(number))
        }
        #expect(queue.first == 1)
        queue.remove(2)
        #expect(queue.first == 1)
        queue.remove(1)
        #expect(queue.first == 0, "each address has one member now")
        queue.remove(0)
        #expect((queue.first, queue.oldest) == (3, 3))
        queue.remove(0)
        #expect(queue.count == 2)
    }

    @Test("After random insertions and removals, the order of dropping is that of a simple model")
    func model() throws {
        let networks = try (1...5).map { try network("10.0.0.\($0)") }
        var generator = SystemRandomNumberGenerator()
        var queue = UnauthenticatedQueue<Int>()
        var model: [(member: Int, network: ClientNetwork)] = []
        for member in 0..<5_000 {
            if Int.random(in: 0..<3, using: &generator) > 0 {
                let network = networks[min(4, Int.random(in: 0..<10, using: &generator))]
                queue.insert(member, of: network, at: UInt64(member))
                model.append((member, network))
            }
            if model.count > 40 || Int.random(in: 0..<3, using: &generator) == 0, !model.isEmpty {
                let index = Int.random(in: 0..<model.count, using: &generator)
                queue.remove(model.remove(at: index).member)
            }
            let counts = Dictionary(grouping: model) { $0.network }.mapValues(\.count)
            let most = counts.values.max()
            #expect(queue.first == model.first { counts[$0.network] == most }?.member)
            #expect(queue.oldest == model.first?.member)
            #expect(queue.count == model.count)
        }
    }

    @Test("A member that arrived at or before a given time is found")
    func time() throws {
        var queue = UnauthenticatedQueue<Int>()
        queue.insert(1, of: try network("10.0.0.1"), at: 500)
        #expect(queue.oldest(since: 499) == nil)
        #expect(queue.oldest(since: 500) == 1)
    }

    @Test("A /64 network of IPv6 counts as one address, and both forms of an IPv4 address are the same")
    func networks() throws {
        let (one, same, other) = try (network("2001:db8::1"), network("2001:db8::ffff:1"), network("2001:db8:0:1::1"))
        #expect(one == same && one != other)
        let (short, long, next) = try (network("192.0.2.1"), network("::ffff:192.0.2.1"), network("192.0.2.2"))
        #expect(short == long && short != next)
    }

    @Test("An address range contains the addresses that begin with its bits, and a malformed range is refused")
    func ranges() throws {
        let inside = [
            ("10.0.0.0/8", "10.255.1.2"), ("192.0.2.7", "192.0.2.7"), ("192.0.2.7", "::ffff:192.0.2.7"),
            ("0.0.0.0/0", "1.2.3.4"),
            ("2001:db8::/33", "2001:db8:7fff::1"), ("::1", "::1"), ("192.0.2.128/25", "192.0.2.200"),
            ("::/0", "fe80::1"),
        ]
        let outside = [
            ("10.0.0.0/8", "11.0.0.0"), ("192.0.2.7", "192.0.2.6"), ("0.0.0.0/0", "::1"),
            ("2001:db8::/33", "2001:db8:8000::"),
            ("::1", "::2"), ("192.0.2.128/25", "192.0.2.127"), ("fe80::/10", "ff80::1"),
        ]
        for (range, address) in inside {
            let isIn = try #require(AddressRange(range)).contains(try #require(PeerAddress(address)))
            #expect(isIn, "\(range) \(address)")
        }
        for (range, address) in outside {
            let isIn = try #require(AddressRange(range)).contains(try #require(PeerAddress(address)))
            #expect(!isIn, "\(range) \(address)")
        }
        for text in [
            "", "x", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::1/129", "10.0.0", "/8", "::1/1/1", "1.0.0.0/+8",
        ] {
            #expect(AddressRange(text) == nil, "\(text)")
        }
    }
}

extension EveryTest {
    @Suite("A server with many unauthenticated connections")
    struct CrowdTests {
        /// Opens connections that send the same beginning of a request, and nothing after it.
        private func crowd(_ count: Int, of test: TestServer, lastByte: UInt32) -> [Peer] {
            (0..<count).map { _ in
                let peer = Peer(port: test.port, lastByte: lastByte)
                peer.send("GET /ws HTTP/1.1\r\nHost: x\r\nUpg")
                return peer
            }
        }

        @Test("Connections that have sent nothing yet are all kept, as long as there are free sockets")
        func idle() throws {
            try TestServer.run({ $0.maxHandshakes = 64 }) { test in
                let peers = (0..<200).map { _ in Peer(port: test.port, lastByte: 2) }
                usleep(2_500_000)
                for peer in peers { #expect(peer.upgrade()?.status == 101) }
                #expect(DroppedUnauthenticated.Reason.allCases.allSatisfy { test.server.dropped[$0] == 0 })
            }
        }

        @Test("Clients of any address are served while one address takes all places for handshakes")
        func handshakes() throws {
            try TestServer.run({ $0.maxHandshakes = 16 }) { test in
                let patient = Peer(port: test.port, lastByte: 3)
                patient.send("GET /a HT")
                let crowd = crowd(60, of: test, lastByte: 2)
                for lastByte in [1, 2, 4] as [UInt32] {
                    #expect(Peer(port: test.port, lastByte: lastByte).get("/a")?.status == 200)
                }
                patient.send("TP/1.1\r\nHost: x\r\n\r\n")
                #expect(patient.readResponse()?.status == 200, "it is the only connection of its address")
                #expect(crowd.prefix(40).allSatisfy { $0.isEnded() }, "the oldest of the fullest address go first")
                #expect(test.server.dropped[.handshakes] >= 40)
            }
        }

        @Test("Authenticated connections and WebSocket connections are not dropped to make room")
        func authenticated() throws {
            try TestServer.run(
                { $0.maxHandshakes = 16 },
                {
                    $0.onRequest = { server, head, _, exchange in
                        if head.path == "/known" { server.markAuthenticated(for: exchange) }
                        server.respond(exchange, with: Response(status: 200, body: Array("ok".utf8)))
                    }
                }
            ) { test in
                let (known, unknown, webSocket) = (Peer(port: test.port), Peer(port: test.port), Peer(port: test.port))
                #expect(known.get("/known")?.status == 200 && unknown.get("/")?.status == 200)
                #expect(webSocket.upgrade()?.status == 101)
                let crowd = crowd(60, of: test, lastByte: 1)
                defer { for peer in crowd { peer.close() } }
                #expect(unknown.isEnded())
                #expect(known.get("/known")?.status == 200)
                webSocket.sendText("still here")
                #expect(test.hears("received still here"))
            }
        }

        @Test("If there is no free socket, a new connection gets the socket of an unauthenticated connection")
        func connections() throws {
            try TestServer.run({ $0.maxConnections = 5 }) { test in
                let webSockets = (0..<3).map { _ in Peer(port: test.port) }
                for webSocket in webSockets { #expect(webSocket.upgrade()?.status == 101) }
                let crowd = (0..<20).map { _ in Peer(port: test.port, lastByte: 2) }
                #expect(Peer(port: test.port, lastByte: 3).get("/a")?.status == 200)
                #expect(crowd.prefix(15).allSatisfy { $0.isEnded() })
                for webSocket in webSockets { webSocket.sendText("x") }
                #expect(test.hears("received x", times: 3))
                #expect(test.server.dropped[.connections] >= 16)
            }
        }

        @Test("An incomplete request has less time when most of the places for unauthenticated connections are taken")
        func slow() throws {
            try TestServer.run({ $0.maxHandshakes = 16 }) { test in
                let crowd = crowd(8, of: test, lastByte: 1)
                #expect(
                    crowd.prefix(3).allSatisfy { $0.isEnded() },
                    "the first two are dropped after 2 s and the third after 5 s, not after 10 s"
                )
                #expect(wait { test.server.dropped[.slow] >= 3 })
                crowd[7].send("rade: no\r\n\r\n")
                #expect(
                    crowd[7].readResponse()?.status == 400,
                    "with half of the places for unauthenticated connections free, the limit is 10 s again"
                )
            }
        }

        @Test("Each connection of a trusted proxy counts as an address; X-Forwarded-For is used only from such proxies")
        func proxies() throws {
            try TestServer.run({
                $0.maxHandshakes = 16
                $0.trustedProxies = [AddressRange("127.0.0.2"), AddressRange("10.0.0.0/8")].compactMap { $0 }
            }) { test in
                let proxy = (0..<4).map { _ in Peer(port: test.port, lastByte: 2) }
                for peer in proxy { peer.send("GET /a HT") }
                let crowd = crowd(60, of: test, lastByte: 3)
                defer { for peer in crowd { peer.close() } }
                for peer in proxy {
                    peer.send("TP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1, 192.0.2.9, 10.1.1.1\r\n\r\n")
                    #expect(peer.readResponse()?.status == 200)
                }
                let unauthenticated = Peer(port: test.port, lastByte: 4)
                unauthenticated.send("GET /a HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
                #expect(unauthenticated.readResponse()?.status == 200)
                let (client, sender) = try (network("192.0.2.9"), network("127.0.0.4"))
                #expect(test.heads.prefix(4).allSatisfy { $0.clientNetwork == client })
                #expect(test.heads.last?.clientNetwork == sender, "the header of any other client is ignored")
            }
        }
    }
}
