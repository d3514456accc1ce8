import CallPorts
import LibWebSockets
import ServerTesting
import Testing

extension EveryTest {
    @Suite("Frames to clients")
    struct SendingTests {
        @Test("A frame is written immediately to each connection that it is sent to")
        func direct() throws {
            let opened = OnLoop<[SocketID]>([])
            try TestServer.run(
                { _ in },
                {
                    $0.onMessage = { server, text, _ in
                        let frame = frame(text)
                        for socket in opened.value { #expect(server.send(frame, to: socket) == .written) }
                    }
                    $0.onOpen = { _, id in opened.value.append(id) }
                },
                { test in
                    let peers = (0..<5).map { _ in Peer(port: test.port) }
                    for peer in peers { peer.upgrade() }
                    #expect(test.hears("opened", times: 5))
                    for index in 0..<100 { peers[index % 5].sendText("m\(index)") }
                    for index in 0..<5 {
                        let all = (0..<100).map { _ in peers[index].readFrame()?.text ?? "" }
                        #expect(Set(all) == Set((0..<100).map { "m\($0)" }))
                    }
                }
            )
        }

        @Test("Frames that one turn sends to one client arrive in order and as separate frames, whatever their lengths")
        func together() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                #expect(test.hears("opened"))
                let id = test.sockets[0]
                let lengths = [1, 125, 126, 127, 1_000, 65_535, 2, 65_536, 3]
                let outcomes = test.onLoop { server in
                    let sent = lengths.enumerated().map { index, length in
                        server.send(frame(String(repeating: "\(index)", count: length)), to: id)
                    }
                    let ping = server.ping(id, payload: Array("between".utf8))
                    return sent + [ping, server.send(frame("last"), to: id)]
                }
                #expect(outcomes == Array(repeating: .written, count: 11))
                for (index, length) in lengths.enumerated() {
                    #expect(peer.readFrame()?.text == String(repeating: "\(index)", count: length))
                }
                let ping = try #require(peer.readFrame())
                #expect(ping.opcode == 9 && ping.text == "between")
                #expect(peer.readFrame()?.text == "last")
            }
        }

        @Test("Frames to a slow reader are queued up to the limit, then overflow; other clients are not affected")
        func overflow() throws {
            try TestServer.run({ $0.maxQueueBytes = 200_000 }) { test in
                let slow = Peer(port: test.port, receiveBuffer: 4_096)
                slow.upgrade()
                #expect(test.hears("opened"))
                let quick = Peer(port: test.port)
                quick.upgrade()
                #expect(test.hears("opened", times: 2))
                let ids = test.sockets
                let outcomes =
                    test.onLoop { server in
                        (0..<2_000).map {
                            server.send(frame("\($0) " + String(repeating: "x", count: 20_000)), to: ids[0])
                        }
                    } ?? []
                let written = outcomes.prefix { $0 == .written }.count
                let queued = outcomes.count { $0 == .queued }
                #expect(written > 0 && queued > 0)
                #expect(outcomes.last == .overflow)
                #expect(
                    outcomes == Array(repeating: .written, count: written) + Array(repeating: .queued, count: queued)
                        + Array(repeating: .overflow, count: 2_000 - written - queued)
                )
                let bytes = test.onLoop { $0.queuedBytes(on: ids[0]) } ?? 0
                #expect(bytes > 0 && bytes <= 200_000)
                #expect(test.onLoop { $0.send(frame("hello"), to: ids[1]) } == .written)
                #expect(quick.readFrame()?.text == "hello")
                // When the slow client reads at last, it gets all accepted frames, whole and in order.
                for index in 0..<(written + queued) {
                    let text = slow.readFrame()?.text ?? ""
                    #expect(text.hasPrefix("\(index) ") && text.utf8.count >= 20_000)
                }
                #expect(test.onLoop { $0.queuedBytes(on: ids[0]) } == 0)
                #expect(test.onLoop { $0.send(frame("again"), to: ids[0]) } == .written)
                #expect(slow.readFrame()?.text == "again")
            }
        }

        @Test("A ping's pong is reported with the payload of the ping")
        func ping() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                #expect(test.hears("opened"))
                let id = test.sockets[0]
                #expect(test.onLoop { $0.ping(id, payload: Array("probe".utf8)) } == .written)
                let ping = try #require(peer.readFrame())
                #expect(ping.opcode == 9 && ping.text == "probe")
                peer.send(Peer.frame(10, ping.payload))
                #expect(test.hears("pong probe"))
                #expect(test.onLoop { $0.ping(id) } == .written)
                let second = try #require(peer.readFrame())
                #expect(second.opcode == 9 && !second.payload.isEmpty)
                peer.send(Peer.frame(10, second.payload))
                #expect(test.hears("pong \(second.text)"))
            }
        }

        @Test("Nothing is sent on a connection that has closed, even if its slot is in use again")
        func stale() throws {
            try TestServer.run { test in
                var ids: [SocketID] = []
                for round in 1...20 {
                    let peer = Peer(port: test.port)
                    peer.upgrade()
                    #expect(test.hears("opened", times: round))
                    ids.append(test.sockets[round - 1])
                    peer.close()
                    #expect(wait { test.events.count { $0.hasPrefix("closed") } == round })
                }
                let peer = Peer(port: test.port)
                peer.upgrade()
                #expect(test.hears("opened", times: 21))
                let stale = ids
                let outcomes = test.onLoop { server in
                    stale.map { id in
                        server.close(id, code: 1000, reason: "")
                        _ = server.ping(id)
                        return server.send(frame("x"), to: id)
                    }
                }
                #expect(outcomes == Array(repeating: .gone, count: 20))
                #expect(Set(ids + test.sockets.suffix(1)).count == 21)
                let id = test.sockets[20]
                #expect(test.onLoop { $0.send(frame("y"), to: id) } == .written)
                #expect(peer.readFrame()?.text == "y")
            }
        }
    }
}
