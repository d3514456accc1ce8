import CallPorts
import LibWebSockets
import ServerTesting
import Testing

extension EveryTest {
    @Suite("The end of a WebSocket connection")
    struct ClosingTests {
        @Test("The client's close frame is answered with the client's code, and the connection's end is reported once")
        func byPeer() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                peer.sendClose(4000)
                #expect(peer.readFrame()?.code == 4000)
                #expect(peer.isEnded())
                #expect(test.hears("closed 4000"))
                #expect(test.events == ["opened", "closed 4000"])
            }
        }

        @Test("Messages in one packet with a close or an invalid frame are answered before the close frame")
        func behindFrames() throws {
            try TestServer.run(
                { _ in },
                { $0.onMessage = { server, text, id in _ = server.send(frame("to " + text), to: id) } },
                { test in
                    let endings: [(frame: [UInt8], code: Int)] = [
                        (Peer.frame(8, [0x03, 0xE8]), 1000), (Peer.frame(1, [0xFF]), 1007),
                    ]
                    for ending in endings {
                        let peer = Peer(port: test.port)
                        peer.upgrade()
                        peer.send(Peer.frame(1, Array("a".utf8)) + Peer.frame(1, Array("b".utf8)) + ending.frame)
                        #expect(peer.readFrame()?.text == "to a")
                        #expect(peer.readFrame()?.text == "to b")
                        #expect(peer.readFrame()?.code == ending.code)
                    }
                }
            )
        }

        @Test(
            "A close frame that RFC 6455 forbids is answered with the code for its fault",
            arguments: [([0x03], 1002), ([0x03, 0xE8, 0xFF, 0xFE], 1007), ([0x03, 0xE8, 0xC3], 1007)]
                as [([UInt8], Int)]
        )
        func forbidden(_ payload: [UInt8], _ code: Int) throws {
            try TestServer.run { test in
                // libwebsockets ends the connection after 5 s, if the peer does not.
                let peer = Peer(port: test.port, timeoutSeconds: 10)
                peer.upgrade()
                peer.send(Peer.frame(8, payload))
                #expect(peer.readFrame()?.code == code)
                #expect(peer.isEnded())
                #expect(test.hears("closed \(code)"))
            }
        }

        @Test("The end of a broken connection is reported without a close code")
        func broken() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                #expect(test.hears("opened"))
                peer.close()
                #expect(test.hears("closed -"))
            }
        }

        @Test("The server's close frame follows all queued frames, and a long reason is cut between characters")
        func afterQueue() throws {
            try TestServer.run { test in
                let peer = Peer(port: test.port, receiveBuffer: 4_096)
                peer.upgrade()
                #expect(test.hears("opened"))
                let id = test.sockets[0]
                let sent =
                    test.onLoop { server in
                        var count = 0
                        while server.send(frame(String(repeating: "x", count: 20_000)), to: id) != .overflow {
                            count += 1
                        }
                        server.close(id, code: 4401, reason: String(repeating: "é", count: 100))
                        #expect(server.send(frame("late"), to: id) == .gone)
                        return count
                    } ?? 0
                for _ in 0..<sent { #expect(peer.readFrame()?.payload.count == 20_000) }
                let close = try #require(peer.readFrame())
                #expect(close.code == 4401)
                #expect(close.payload.count == 2 + 122)
                peer.sendClose(4401)
                #expect(peer.isEnded())
                #expect(test.hears("closed 4401"))
            }
        }

        @Test("A client that no longer reads is cut off after the close timeout")
        func cutOff() throws {
            try TestServer.run({ $0.closeTimeoutSeconds = 1 }) { test in
                let peer = Peer(port: test.port, receiveBuffer: 4_096)
                peer.upgrade()
                #expect(test.hears("opened"))
                let id = test.sockets[0]
                _ = test.onLoop { server in
                    while server.send(frame(String(repeating: "x", count: 20_000)), to: id) != .overflow {}
                    server.close(id, code: 4408, reason: "too slow", discardingQueue: true)
                    return true
                }
                #expect(test.hears("closed 4408"))
                #expect(wait { test.onLoop { $0.connectionCount } == 0 })
            }
        }

        @Test(
            "Callbacks of a connection, of the turn and of the timer can close any connection",
            arguments: ["open", "message", "pong", "closed", "turn", "timer"]
        )
        func reentrant(_ place: String) throws {
            let ids = OnLoop<[SocketID]>([])
            func closeAll(_ server: Server) {
                for id in ids.value {
                    _ = server.send(frame("bye"), to: id)
                    server.close(id, code: 4403, reason: "bye")
                    server.close(id, code: 4404, reason: "again")
                    #expect(server.send(frame("late"), to: id) == .gone)
                }
            }
            try TestServer.run(
                { _ in },
                { test in
                    test.onOpen = { server, id in
                        ids.value.append(id)
                        if place == "open" { closeAll(server) }
                        if place == "timer" { server.setTimer(afterMilliseconds: 10) }
                    }
                    test.onMessage = { server, _, _ in if place == "message" { closeAll(server) } }
                    test.onPong = { server, _ in if place == "pong" { closeAll(server) } }
                    test.onClose = { server, _ in if place == "closed" { closeAll(server) } }
                    test.onTurn = { server in if place == "turn" { closeAll(server) } }
                    test.onTimer = { server in closeAll(server) }
                },
                { test in
                    let peers = (0..<3).map { _ in Peer(port: test.port) }
                    for peer in peers { peer.upgrade() }
                    #expect(test.hears("opened", times: 3))
                    if place == "closed" {
                        peers[0].close()
                    } else {
                        for peer in peers {
                            peer.send(Peer.frame(10, [1]) + Peer.frame(1, [65]) + Peer.frame(1, [66]))
                        }
                    }
                    for peer in peers.dropFirst(place == "closed" ? 1 : 0) {
                        #expect(peer.readFrame()?.text == "bye")
                        #expect(peer.readFrame()?.code == 4403)
                        peer.sendClose(4403)
                        #expect(peer.isEnded())
                    }
                    #expect(wait { test.events.count { $0.hasPrefix("closed") } == 3 })
                    #expect(wait { test.onLoop { $0.connectionCount } == 0 })
                }
            )
        }

        @Test("A connection that breaks between its admission and the end of the handshake is reported as closed")
        func neverOpen() throws {
            let peer = OnLoop<Peer?>(nil)
            try TestServer.run(
                { _ in },
                { test in
                    test.onAdmit = { _, _, _ in
                        peer.value?.reset()
                        return .accept(subprotocol: nil)
                    }
                },
                { test in
                    _ = test.onLoop { server in
                        peer.value = Peer(port: server.port)
                        peer.value?.send(Peer.upgrade())
                        return true
                    }
                    #expect(test.hears("closed -"))
                    #expect(wait { test.onLoop { $0.connectionCount } == 0 })
                }
            )
        }

        @Test("When the server stops, the end of every connection is reported")
        func stop() throws {
            let test = try TestServer()
            test.start()
            let peers = (0..<10).map { _ in Peer(port: test.port) }
            for peer in peers { peer.upgrade() }
            #expect(test.hears("opened", times: 10))
            test.stopAndWait()
            #expect(test.count("closed -") == 10)
            for peer in peers { #expect(peer.isEnded()) }
        }
    }
}
