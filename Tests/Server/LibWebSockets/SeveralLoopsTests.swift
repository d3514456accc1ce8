import CallPorts
import Foundation
import LibWebSockets
import ServerTesting
import Testing

extension EveryTest {
    @Suite("Several event loops")
    struct SeveralLoopsTests {
        /// Runs several event loops on one port while `body` runs.
        private func run(
            _ count: Int,
            _ configure: (inout ServerConfiguration) -> Void = { _ in },
            _ set: (TestServer) -> Void = { _ in },
            _ body: ([TestServer]) throws -> Void
        ) throws {
            let first = try TestServer(
                {
                    $0.loops = count
                    configure(&$0)
                },
                set
            )
            var loops = [first]
            for loop in 1..<count { loops.append(try TestServer(beside: first, loop: loop, set)) }
            for loop in loops { loop.start() }
            defer { for loop in loops.reversed() { loop.stopAndWait() } }
            try body(loops)
        }

        @Test("Loops share a port: each loop gets some of the connections, whose ids contain the loop's number")
        func sharing() throws {
            try run(3) { loops in
                #expect(Set(loops.map(\.port)).count == 1)
                var peers: [Peer] = []
                // The kernel chooses a loop by a hash of both ends' addresses and ports. It is very unlikely that all
                // 200 connections go to only two of the three loops.
                for _ in 0..<200 {
                    let peer = Peer(port: loops[0].port)
                    #expect(peer.upgrade()?.status == 101)
                    peers.append(peer)
                }
                #expect(wait { loops.map(\.sockets.count).reduce(0, +) == 200 })
                for (index, loop) in loops.enumerated() {
                    #expect(loop.server.loop == index)
                    #expect(loop.sockets.count > 20)
                    #expect(loop.sockets.allSatisfy { $0.loop == index })
                }
                #expect(Set(loops.flatMap(\.sockets)).count == 200)
                #expect(loops[1].server.connectionCountOfAllLoops == 200)
            }
        }

        @Test("A connection id of one loop means nothing to another loop")
        func unauthenticated() throws {
            try run(2) { loops in
                let peers = (0..<40).map { _ in Peer(port: loops[0].port) }
                for peer in peers { #expect(peer.upgrade()?.status == 101) }
                #expect(wait { loops.map(\.sockets.count).reduce(0, +) == 40 })
                let foreign = loops[1].sockets
                #expect(!foreign.isEmpty)
                let outcomes = loops[0].onLoop { server in foreign.map { server.send(frame("hello"), to: $0) } } ?? []
                #expect(outcomes.allSatisfy { $0 == .gone })
            }
        }

        @Test("Each loop responds to its own requests, whose ids contain the loop's number")
        func requests() throws {
            try run(2) { loops in
                for _ in 0..<60 { #expect(Peer(port: loops[0].port).get("/a")?.status == 200) }
                let exchanges = loops.map(\.exchanges)
                #expect(exchanges.map(\.count).reduce(0, +) == 60)
                #expect(exchanges.allSatisfy { !$0.isEmpty })
                for (index, own) in exchanges.enumerated() { #expect(own.allSatisfy { $0.loop == index }) }
            }
        }

        @Test("Loops pass messages to each other in order, and lose none")
        func relaying() throws {
            // Each message from a client of one loop goes to all connections of the other loop.
            let loops = OnLoop<[TestServer]>([])
            let sessions = (0..<2).map { _ in OnLoop<[SocketID]>([]) }
            try run(
                2,
                { $0.maxQueueBytes = 1 << 24 },
                { test in
                    test.onOpen = { server, id in sessions[server.loop].value.append(id) }
                    test.onMessage = { server, text, _ in
                        let other = loops.value[1 - server.loop].server
                        other?.post { for id in sessions[1 - server.loop].value { other?.send(frame(text), to: id) } }
                    }
                },
                { both in
                    loops.value = both
                    var peers: [Peer] = []
                    while both.contains(where: { $0.sockets.isEmpty }), peers.count < 100 {
                        let peer = Peer(port: both[0].port)
                        peer.upgrade()
                        peers.append(peer)
                        #expect(wait { both.map(\.sockets.count).reduce(0, +) == peers.count })
                    }
                    // The last client is the only one on its loop, so it receives what the first client sends.
                    peers[0].sendText("who")
                    let far = try #require(peers.dropFirst().last)
                    #expect(far.readFrame()?.text == "who")
                    for number in 0..<2_000 { peers[0].sendText("\(number)") }
                    for number in 0..<2_000 { #expect(far.readFrame()?.text == "\(number)") }
                }
            )
        }

        @Test("A port is reported as taken, whether one loop or several use it")
        func taken() throws {
            for (there, coming) in [(1, 2), (2, 1), (2, 2)] {
                let first = try TestServer { $0.loops = there }
                let port = first.port
                #expect(throws: ServerError.portTaken(host: "127.0.0.1", port: port)) {
                    try TestServer {
                        $0.loops = coming
                        $0.port = port
                    }
                }
                if there > 1 { #expect(try TestServer(beside: first, loop: 1).port == port) }
            }
        }
    }
}
