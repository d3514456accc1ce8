import CallPorts
import Foundation
import LibWebSockets
import ServerTesting
import Testing

/// Returns the CPU time of the calling thread, in microseconds.
func threadMicroseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
}

extension EveryTest {
    @Suite("The event loop")
    struct LoopTests {
        @Test("Work that four threads post is run, in the order of each thread")
        func posting() throws {
            let seen = OnLoop<[[Int]]>(Array(repeating: [], count: 4))
            try TestServer.run { test in
                let threads = (0..<4).map { thread in
                    Thread { for index in 0..<10_000 { test.server.post { seen.value[thread].append(index) } } }
                }
                for thread in threads { thread.start() }
                #expect(wait { test.onLoop { _ in seen.value.allSatisfy { $0.count == 10_000 } } == true })
                #expect(test.onLoop { _ in seen.value.allSatisfy { $0 == Array(0..<10_000) } } == true)
            }
        }

        @Test("A loop can be given work, and be stopped, before it runs; work that is posted after its end is dropped")
        func early() throws {
            let ran = OnLoop(0)
            let test = try TestServer()
            test.server.post { ran.value += 1 }
            test.server.stop()
            test.start()
            test.stopAndWait()
            #expect(ran.value == 1)
            test.server.post { ran.value += 1 }
            test.server.stop()
            #expect(ran.value == 1)
        }

        @Test("The server installs no signal handlers, so that a crash ends the process")
        func signals() throws {
            @Sendable func handlers() -> [UInt] {
                [SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGFPE].map { number in
                    var action = sigaction()
                    sigaction(number, nil, &action)
                    return withUnsafeBytes(of: action) { $0.loadUnaligned(as: UInt.self) }
                }
            }
            let before = handlers()
            try TestServer.run({ $0.tls = TestCertificate.tls }) { test in
                #expect(test.onLoop { _ in handlers() } == before)
            }
        }

        @Test("The timer fires once, at the time that was set last, and does not fire after it was disarmed")
        func timer() throws {
            try TestServer.run { test in
                _ = test.onLoop { server in
                    server.setTimer(afterMilliseconds: 1)
                    server.setTimer(afterMilliseconds: 60_000)
                    server.setTimer(afterMilliseconds: 30)
                    return true
                }
                #expect(test.hears("timer"))
                _ = test.onLoop { server in
                    server.setTimer(afterMilliseconds: 1)
                    server.setTimer(afterMilliseconds: nil)
                    return true
                }
                #expect(!wait(seconds: 0.1) { test.count("timer") > 1 })
            }
        }

        @Test("The end of a turn is reported for a batch of messages, not for each of them")
        func turns() throws {
            let turns = OnLoop(0)
            try TestServer.run({ _ in }, { $0.onTurn = { _ in turns.value += 1 } }) { test in
                let peer = Peer(port: test.port)
                peer.upgrade()
                #expect(test.hears("opened"))
                let before = test.onLoop { _ in turns.value } ?? 0
                var bytes: [UInt8] = []
                for _ in 0..<50 { bytes += Peer.frame(1, [65]) }
                peer.send(bytes)
                #expect(test.hears("received A", times: 50))
                let after = test.onLoop { _ in turns.value } ?? 0
                #expect((1...3).contains(after - before))
            }
        }

        @Test("A second listener's requests carry its id, and the first listener can stop alone")
        func listeners() throws {
            try TestServer.run { test in
                let admin =
                    test.onLoop { server in (try? server.addListener(host: "127.0.0.1", port: 0, id: 7)) ?? 0 } ?? 0
                #expect(Peer(port: test.port).get("/a")?.status == 200)
                #expect(Peer(port: admin).get("/b")?.status == 200)
                #expect(test.heads.map(\.listener) == [0, 7])
                let session = Peer(port: test.port)
                session.upgrade()
                _ = test.onLoop { server in
                    server.stopListening(0)
                    return true
                }
                #expect(Peer(port: test.port).get("/c") == nil)
                #expect(Peer(port: admin).get("/d")?.status == 200)
                session.sendText("still")
                #expect(test.hears("received still"))
            }
        }

        @Test("A taken port and an invalid address are reported, each by an error of its own")
        func errors() throws {
            try TestServer.run { test in
                let port = test.port
                #expect(throws: ServerError.portTaken(host: "127.0.0.1", port: port)) {
                    try TestServer { $0.port = port }
                }
                #expect(throws: ServerError.badAddress("nowhere")) { try TestServer { $0.host = "nowhere" } }
                #expect("\(ServerError.portTaken(host: "::", port: 1))".contains("taken"))
                #expect("\(ServerError.openSSL("no memory"))" == "OpenSSL failed: no memory.")
                #expect("\(ServerError.threads("too many"))".contains("threads"))
            }
        }

        @Test("A listener on :: accepts IPv4 connections too")
        func dualStack() throws {
            try TestServer.run({ $0.host = "::" }) { test in
                #expect(Peer(port: test.port).get("/a")?.status == 200)
                #expect(test.heads.first?.peerAddress == "127.0.0.1")
            }
        }

        @Test("The server accepts no more connections than its limit, and new connections when there is room again")
        func limit() throws {
            try TestServer.run({ $0.maxConnections = 5 }) { test in
                let peers = (0..<5).map { _ in Peer(port: test.port) }
                for peer in peers { #expect(peer.upgrade()?.status == 101) }
                for _ in 0..<20 { #expect(Peer(port: test.port).isEnded()) }
                peers[0].close()
                #expect(wait { Peer(port: test.port).upgrade()?.status == 101 })
            }
        }

        @Test("The limit of connections can be reached although the process has many other files open")
        func limitBesideFiles() throws {
            let files = (0..<200).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
            defer { for file in files { close(file) } }
            try TestServer.run({ $0.maxConnections = 5 }) { test in
                let peers = (0..<5).map { _ in Peer(port: test.port) }
                for peer in peers { #expect(peer.upgrade()?.status == 101) }
            }
        }
    }
}
