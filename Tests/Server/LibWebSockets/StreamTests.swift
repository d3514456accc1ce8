import Glibc
import LibWebSockets
import ServerTesting
import Testing

extension EveryTest {
    @Suite("TCP streams between nodes")
    struct StreamTests {
        @Test(
            "What a stream sends comes back from an echo, over IPv4, IPv6 and a name",
            arguments: [
                "127.0.0.1", "::1", "localhost",
            ]
        )
        func echo(host: String) throws {
            try TestServer.run { test in
                let echoing = StreamRecorder { $0.stream?.write($1) }
                let client = StreamRecorder()
                let port = test.listenForStreams(host: host == "localhost" ? "::" : host) { echoing.take($0) }
                test.connect(client, host: host, port: port)
                #expect(test.waits { client.stream != nil })
                let sent = pattern(1_000_000)
                for start in stride(from: 0, to: sent.count, by: 9_973) {
                    let piece = Array(sent[start..<min(sent.count, start + 9_973)])
                    test.server.post { client.stream?.write(piece) }
                }
                #expect(test.waits { client.bytes.count == 1_000_000 })
                #expect(test.onLoop { _ in client.bytes } == sent)
                let address = host == "::1" ? "[::1]:\(port)" : "127.0.0.1:\(port)"
                let peer = test.onLoop { _ in client.stream?.peer }
                #expect(peer == address || host == "localhost" && peer == "[::1]:\(port)")
                #expect(test.onLoop { _ in client.stream?.queuedBytes } == 0)
                #expect(test.onLoop { _ in client.failures.isEmpty && client.reasons.isEmpty } == true)
            }
        }

        @Test("All that is written in one turn goes out in one write, in order, without delay")
        func batching() throws {
            try TestServer.run { test in
                let recorder = StreamRecorder()
                let port = test.listenForStreams { recorder.take($0) }
                let peer = Peer(port: port)
                #expect(test.waits { recorder.stream != nil })
                let lines = (0..<1_000).map { index in Array("\(10_000_000 + index)\n".utf8) }
                for _ in 0..<20 {
                    test.server.post { for line in lines { recorder.stream?.write(line) } }
                    // The kernel passes on a write of this size in one piece.
                    var chunk = [UInt8](repeating: 0, count: 65_536)
                    let count = recv(peer.descriptor, &chunk, chunk.count, 0)
                    #expect(count == 9_000)
                    guard count == 9_000 else { break }
                    #expect(Array(chunk[..<count]) == lines.flatMap { $0 })
                }
            }
        }

        @Test("What a slow peer does not take is counted, kept in order, and sent when it reads")
        func slowPeer() throws {
            try TestServer.run { test in
                let recorder = StreamRecorder()
                let port = test.listenForStreams { recorder.take($0) }
                let peer = Peer(port: port, receiveBuffer: 8_192)
                #expect(test.waits { recorder.stream != nil })
                let sent = pattern(12_000_000)
                for start in stride(from: 0, to: sent.count, by: 1_000_000) {
                    let piece = Array(sent[start..<start + 1_000_000])
                    test.perform { _ in recorder.stream?.write(piece) }
                }
                let queued = test.onLoop { _ in recorder.stream?.queuedBytes ?? 0 } ?? 0
                #expect((1_000_000..<12_000_000).contains(queued))
                var read: [UInt8] = []
                var chunk = [UInt8](repeating: 0, count: 1 << 20)
                while read.count < sent.count {
                    let count = recv(peer.descriptor, &chunk, chunk.count, 0)
                    guard count > 0 else { break }
                    read += chunk[..<count]
                }
                #expect(read == sent)
                #expect(test.waits { recorder.stream?.queuedBytes == 0 })
            }
        }

        @Test("A stream whose reading is paused makes its peer wait, and loses nothing")
        func pausing() throws {
            try TestServer.run { test in
                let reader = StreamRecorder { recorder, _ in
                    if recorder.reads == 1 { recorder.stream?.pauseReading() }
                }
                let writer = StreamRecorder()
                let port = test.listenForStreams { reader.take($0) }
                test.connect(writer, port: port)
                #expect(test.waits { writer.stream != nil && reader.stream != nil })
                let sent = pattern(12_000_000)
                test.server.post { writer.stream?.write(sent) }
                #expect(test.waits { reader.reads == 1 })
                #expect(!test.waits(seconds: 0.1) { reader.reads > 1 || writer.stream?.queuedBytes == 0 })
                test.perform { _ in reader.stream?.resumeReading() }
                #expect(test.waits { reader.bytes.count == sent.count })
                #expect(test.onLoop { _ in reader.bytes } == sent)
                #expect(test.onLoop { _ in writer.stream?.queuedBytes } == 0)
            }
        }

        @Test("A stream that is paused when it is accepted reads nothing until it resumes")
        func pausedFromTheBeginning() throws {
            try TestServer.run { test in
                let recorder = StreamRecorder()
                let port = test.listenForStreams {
                    recorder.take($0)
                    $0.pauseReading()
                }
                let peer = Peer(port: port)
                peer.send("abc")
                #expect(!test.waits(seconds: 0.1) { recorder.reads > 0 })
                test.perform { _ in recorder.stream?.resumeReading() }
                #expect(test.waits { recorder.bytes == Array("abc".utf8) })
            }
        }

        @Test("Two nodes that send much to each other at once both receive everything")
        func bothAtOnce() throws {
            try TestServer.run { test in
                let ends = [StreamRecorder(), StreamRecorder()]
                let port = test.listenForStreams { ends[0].take($0) }
                test.connect(ends[1], port: port)
                #expect(test.waits { ends.allSatisfy { $0.stream != nil } })
                let sent = pattern(8_000_000)
                test.server.post { for end in ends { end.stream?.write(sent) } }
                #expect(test.waits { ends.allSatisfy { $0.bytes.count == sent.count } })
                #expect(test.onLoop { _ in ends.allSatisfy { $0.bytes == sent } } == true)
                test.server.post { for end in ends { end.stream?.closeAfterWriting() } }
                #expect(test.waits { ends.allSatisfy { $0.reasons == [.endOfFile] } })
            }
        }

        @Test("What streams and timers report counts as work of the turn")
        func turns() throws {
            let turns = OnLoop(0)
            try TestServer.run({ _ in }, { $0.onTurn = { _ in turns.value += 1 } }) { test in
                /// Returns whether one turn ends with work after `event` has happened outside of the loop.
                func turn(_ event: () -> Void) -> Bool {
                    let before = test.onLoop { _ in turns.value } ?? 0
                    event()
                    // The probe itself is work: it must not run before the event was handled.
                    usleep(50_000)
                    return test.onLoop { _ in turns.value } == before + 2
                }
                let recorder = StreamRecorder()
                let port = test.listenForStreams { recorder.take($0) }
                var peer: Peer?
                #expect(turn { peer = Peer(port: port) })
                #expect(turn { peer?.send("abc") })
                #expect(turn { peer?.close() })
                #expect(test.onLoop { _ in recorder.reasons } == [.endOfFile])
                #expect(turn {} == false)
                // The time passes within the next step.
                let timer = OnLoop<LoopTimer?>(nil)
                test.perform { server in
                    timer.value = LoopTimer(on: server) {}
                    timer.value?.set(afterMilliseconds: 20)
                }
                #expect(turn {})
                test.perform { _ in timer.value = nil }
                // The connection refused is reported in a turn after that of the addresses, which was posted.
                let refused = OnLoop(0)
                test.perform { server in
                    server.connect(toHost: "127.0.0.1", port: 1) { _ in refused.value = turns.value }
                }
                #expect(test.waits { refused.value > 0 && turns.value > refused.value })
            }
        }

        @Test("The sockets of streams are closed when a program is executed")
        func closeOnExec() throws {
            try TestServer.run { test in
                let ends = [StreamRecorder(), StreamRecorder()]
                let port = test.listenForStreams { ends[0].take($0) }
                test.connect(ends[1], port: port)
                #expect(test.waits { ends.allSatisfy { $0.stream != nil } })
                let sockets = (0..<Int32(4_096)).filter { Self.usesPort(port, $0) }
                #expect(sockets.count == 3)
                for socket in sockets { #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC != 0) }
            }
        }

        /// Whether a descriptor is a socket with this port at one of its ends.
        private static func usesPort(_ port: Int, _ descriptor: Int32) -> Bool {
            [getsockname, getpeername].contains { function in
                var address = sockaddr_in()
                var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                let result = withUnsafeMutablePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { function(descriptor, $0, &length) }
                }
                return result == 0 && address.sin_family == sa_family_t(AF_INET)
                    && Int(UInt16(bigEndian: address.sin_port)) == port
            }
        }
    }
}
