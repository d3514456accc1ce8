import Glibc
import Testing

@testable import LibWebSockets

extension EveryTest {
    @Suite("Connecting a TCP stream")
    struct StreamConnectingTests {
        /// A name that the resolver refuses without asking a name server: a label has at most 63 bytes.
        private static let unresolvable = String(repeating: "a", count: 64) + ".invalid"

        /// Returns a port on which no process listens.
        private func freePort(_ test: TestServer) -> Int {
            let port = test.listenForStreams { _ in }
            test.perform { $0.stopListeningForStreams() }
            return port
        }

        @Test("A refused connection is told apart from a name that cannot be resolved and an invalid port")
        func failures() throws {
            try TestServer.run { test in
                let port = freePort(test)
                for host in ["127.0.0.1", "::1", "localhost"] {
                    let refused = StreamRecorder()
                    test.connect(refused, host: host, port: port)
                    #expect(test.waits { refused.failures == [.refused] })
                }
                for (host, port, words) in [
                    (Self.unresolvable, port, "cannot resolve \(Self.unresolvable)"),
                    ("127.0.0.1", 0, "0 is not a port"), ("127.0.0.1", 65_536, "65536 is not a port"),
                ] {
                    let failed = StreamRecorder()
                    test.connect(failed, host: host, port: port)
                    #expect(test.waits { failed.failures.count == 1 })
                    guard case .failed(let reason)? = test.onLoop({ _ in failed.failures[0] }) else {
                        Issue.record("not failed")
                        continue
                    }
                    #expect(reason.hasPrefix(words))
                }
            }
        }

        @Test("Several attempts for one name get one look-up's result each, and can be repeated")
        func sharedLookup() throws {
            try TestServer.run { test in
                let recorders = (0..<5).map { _ in StreamRecorder() }
                for round in 1...3 {
                    for recorder in recorders { test.connect(recorder, host: Self.unresolvable, port: 9) }
                    #expect(test.waits { recorders.allSatisfy { $0.failures.count == round } })
                }
            }
        }

        @Test("A cancelled attempt reports nothing, wherever it is, and its connection is closed")
        func cancelling() throws {
            try TestServer.run { test in
                let accepted = OnLoop<[StreamRecorder]>([])
                let port = test.listenForStreams { stream in
                    accepted.value.append(StreamRecorder())
                    accepted.value.last?.take(stream)
                }
                let results = OnLoop(0)
                let endpoints = [("127.0.0.1", port), ("localhost", port), (Self.unresolvable, 1), ("127.0.0.1", 0)]
                for (host, port) in endpoints {
                    test.perform { server in
                        server.connect(toHost: host, port: port) { _ in results.value += 1 }.cancel()
                    }
                }
                for host in ["127.0.0.1", "localhost"] {
                    test.perform { server in
                        let attempt = OnLoop(
                            server.connect(toHost: host, port: port) { _ in results.value += 1 }
                        )
                        // When this work runs, the connection is being opened, or the name is being looked up.
                        server.post { attempt.value.cancel() }
                    }
                }
                #expect(!test.waits(seconds: 0.2) { results.value != 0 })
                #expect(test.onLoop { server in server.streams.attempts.isEmpty } == true)
                #expect(test.waits { accepted.value.allSatisfy { $0.reasons.count == 1 } })
            }
        }

        @Test("A cancellation in the closure itself, and after the end, does nothing")
        func lateCancelling() throws {
            try TestServer.run { test in
                let port = test.listenForStreams { _ in }
                let attempt = OnLoop<TCPConnectionAttempt?>(nil)
                let client = StreamRecorder()
                test.perform { server in
                    attempt.value = server.connect(toHost: "127.0.0.1", port: port) { result in
                        attempt.value?.cancel()
                        if case .success(let stream) = result { client.take(stream) }
                    }
                }
                #expect(test.waits { client.stream != nil })
                test.perform { _ in attempt.value?.cancel() }
                #expect(!test.waits(seconds: 0.05) { !client.reasons.isEmpty })
                test.perform { _ in attempt.value = nil }
            }
        }

        @Test("The next address is tried when one refuses or does not answer; the first that opens wins")
        func severalAddresses() throws {
            try TestServer.run { test in
                let accepted = OnLoop(0)
                let port = test.listenForStreams { _ in accepted.value += 1 }
                // No process listens on port 1 (tcpmux).
                let closed = 1
                let listener = SilentListener()
                defer { listener.close() }
                let silent = try #require(listener.port)
                for ports in [[closed, port], [silent, closed, port], [port, closed]] {
                    let client = StreamRecorder()
                    test.perform { server in Self.connect(client, to: ports, server) }
                    #expect(test.waits { client.stream?.peer == "127.0.0.1:\(port)" })
                    #expect(test.onLoop { _ in client.failures } == [])
                }
                let refused = StreamRecorder()
                test.perform { server in Self.connect(refused, to: [closed, closed], server) }
                #expect(test.waits { refused.failures == [.refused] })
                let waiting = StreamRecorder()
                test.perform { server in Self.connect(waiting, to: [closed, silent], server) }
                // A peer that does not answer is not one that refuses.
                #expect(!test.waits(seconds: 0.4) { !waiting.failures.isEmpty })
                #expect(test.onLoop { _ in accepted.value } == 3)
            }
        }

        /// Starts an attempt as if a name had addresses with these ports.
        private static func connect(_ recorder: StreamRecorder, to ports: [Int], _ server: Server) {
            let addresses = ports.compactMap { SocketAddress.parse(Endpoint(host: "127.0.0.1", port: $0)) }
            let attempt = TCPConnectionAttempt(Endpoint(host: "name", port: 1), on: server) { result in
                switch result {
                case .success(let stream): recorder.take(stream)
                case .failure(let failure): recorder.failures.append(failure)
                }
            }
            server.streams.attempts[ObjectIdentifier(attempt)] = attempt
            attempt.addressesFound(.success(addresses))
        }

        @Test("A port that is taken, or an address that is not this machine's, is reported")
        func listenErrors() throws {
            try TestServer.run { test in
                let port = test.listenForStreams { _ in }
                func failure(_ host: String, _ port: Int) -> ServerError? {
                    test.onLoop { server -> ServerError? in
                        do throws(ServerError) {
                            try server.listenForStreams(host: host, port: port) { _ in }
                            return nil
                        } catch {
                            return error
                        }
                    } ?? nil
                }
                #expect(failure("127.0.0.1", port) == .portTaken(host: "127.0.0.1", port: port))
                #expect(failure("127.0.0.1", test.port) == .portTaken(host: "127.0.0.1", port: test.port))
                #expect(failure("nowhere", 0) == .badAddress("nowhere"))
                #expect("\(failure("192.0.2.1", 0).map { "\($0)" } ?? "")".contains("Cannot listen"))
                #expect(failure("::", 0) == nil)
            }
        }

        @Test("A loop timer fires once, at the time set last, and not when it was disarmed or released")
        func timers() throws {
            try TestServer.run { test in
                let fired = OnLoop<[Int]>([])
                let timers = OnLoop<[LoopTimer]>([])
                test.perform { server in
                    for number in 0..<4 { timers.value.append(LoopTimer(on: server) { fired.value.append(number) }) }
                    for timer in timers.value { timer.set(afterMilliseconds: 1) }
                    timers.value[0].set(afterMilliseconds: 60)
                    timers.value[1].set(afterMilliseconds: 20)
                    timers.value[2].set(afterMilliseconds: nil)
                    timers.value.removeLast()
                }
                #expect(!test.waits(seconds: 0.2) { fired.value.count > 2 })
                #expect(test.onLoop { _ in fired.value } == [1, 0])
                // A timer may set itself again, and release itself.
                let rounds = OnLoop(0)
                test.perform { server in
                    timers.value = [
                        LoopTimer(on: server) {
                            rounds.value += 1
                            if rounds.value < 5 { timers.value[0].set(afterMilliseconds: 0) } else { timers.value = [] }
                        }
                    ]
                    timers.value[0].set(afterMilliseconds: 0)
                }
                #expect(test.waits { rounds.value == 5 && timers.value.isEmpty })
                #expect(test.onLoop { $0.streams.timers.isEmpty } == true)
            }
        }
    }
}

/// A listening socket whose full queue makes the kernel drop every further attempt to connect.
private struct SilentListener {
    /// The port on 127.0.0.1; nil if something failed.
    private(set) var port: Int?
    private var descriptors: [Int32] = []

    init() {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let listener = socket(AF_INET, kind, 0)
        descriptors.append(listener)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(listener, address, length) == 0, getsockname(listener, address, &length) == 0,
                    listen(listener, 0) == 0
                else { return }
                for _ in 0..<4 {
                    let client = socket(AF_INET, kind, 0)
                    _ = connect(client, address, length)
                    descriptors.append(client)
                }
            }
        }
        if descriptors.count > 1 { port = Int(UInt16(bigEndian: address.sin_port)) }
    }

    func close() { for descriptor in descriptors { Glibc.close(descriptor) } }
}
