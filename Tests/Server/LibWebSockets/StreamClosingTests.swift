import Glibc
import LibWebSockets
import ServerTesting
import Testing

/// A recorder that nothing here keeps alive.
private final class WeakRecorder: @unchecked Sendable {
    weak var recorder: StreamRecorder?
}

extension EveryTest {
    @Suite("The end of a TCP stream")
    struct StreamClosingTests {
        @Test("A peer that closes and a peer that resets are told apart, also by a stream that only writes")
        func reasons() throws {
            try TestServer.run { test in
                let recorders = OnLoop<[StreamRecorder]>([])
                let port = test.listenForStreams { stream in
                    recorders.value.append(StreamRecorder())
                    recorders.value.last?.take(stream)
                }
                Peer(port: port).close()
                #expect(test.waits { recorders.value.last?.reasons == [.endOfFile] })
                Peer(port: port).reset()
                #expect(test.waits { recorders.value.count == 2 && recorders.value[1].reasons == [.reset] })
                let peer = Peer(port: port)
                #expect(test.waits { recorders.value.count == 3 })
                test.perform { _ in recorders.value[2].stream?.pauseReading() }
                peer.reset()
                // The first write may come before the reset; none of them raises SIGPIPE.
                #expect(
                    test.waits {
                        recorders.value[2].stream?.write([1])
                        return recorders.value[2].reasons == [.reset]
                    }
                )
                #expect(test.onLoop { _ in recorders.value.allSatisfy { $0.stream?.queuedBytes == 0 } } == true)
                #expect(!test.waits(seconds: 0.05) { recorders.value.contains { $0.reasons.count != 1 } })
            }
        }

        @Test("A failed write is reported to a node that waits for nothing else")
        func failedWriteWakes() throws {
            try TestServer.run { test in
                let recorder = StreamRecorder()
                let port = test.listenForStreams { recorder.take($0) }
                let peer = Peer(port: port)
                #expect(test.waits { recorder.stream != nil })
                test.perform { _ in recorder.stream?.pauseReading() }
                let end = ContinuousClock.now
                let at = OnLoop(end)
                test.perform { _ in recorder.onClose = { _ in at.value = .now } }
                peer.reset()
                usleep(20_000)
                test.server.post { recorder.stream?.write([1]) }
                usleep(300_000)
                #expect(test.onLoop { _ in recorder.reasons } == [.reset])
                #expect((test.onLoop { _ in at.value } ?? end) - end < .milliseconds(250))
            }
        }

        @Test("A stream may be closed and released in each of its callbacks, and reports nothing afterwards")
        func closingInCallbacks() throws {
            try TestServer.run { test in
                let released = WeakRecorder()
                let live = OnLoop<StreamRecorder?>(nil)
                let reads = OnLoop(0)
                let port = test.listenForStreams { stream in
                    live.value = StreamRecorder { recorder, _ in
                        reads.value += 1
                        recorder.stream?.write([1, 2, 3])
                        recorder.stream?.close()
                        recorder.stream?.close()
                        recorder.stream?.write([4])
                        recorder.stream?.resumeReading()
                        recorder.stream?.closeAfterWriting()
                        recorder.stream = nil
                        live.value = nil
                    }
                    live.value?.take(stream)
                    released.recorder = live.value
                }
                for _ in 0..<20 {
                    let peer = Peer(port: port)
                    peer.send([UInt8](repeating: 7, count: 300_000))
                    #expect(peer.isEnded())
                }
                #expect(test.onLoop { _ in reads.value } == 20)
                #expect(test.onLoop { _ in released.recorder == nil } == true)
            }
        }

        @Test("A stream may be closed in the closure that receives it, at both ends")
        func closingWhenOpened() throws {
            try TestServer.run { test in
                let results = OnLoop(0)
                let port = test.listenForStreams { $0.close() }
                #expect(Peer(port: port).isEnded())
                test.server.post {
                    test.server.connect(toHost: "127.0.0.1", port: port) { result in
                        if case .success(let stream) = result { stream.close() }
                        results.value += 1
                    }
                }
                #expect(test.waits { results.value == 1 })
            }
        }

        @Test("A delegate may end its stream and open another when the stream ends")
        func reopening() throws {
            try TestServer.run { test in
                let accepted = OnLoop<[StreamRecorder]>([])
                let port = test.listenForStreams { stream in
                    accepted.value.append(StreamRecorder())
                    accepted.value.last?.take(stream)
                    if accepted.value.count < 10 { stream.closeAfterWriting() }
                }
                let client = StreamRecorder()
                test.perform { _ in
                    client.onClose = { [unowned test] client in
                        client.stream = nil
                        test.connect(client, port: port)
                    }
                }
                test.connect(client, port: port)
                #expect(test.waits { accepted.value.count == 10 && client.stream != nil })
                #expect(test.onLoop { _ in client.reasons.count } == 9)
                #expect(test.waits { accepted.value.dropLast().allSatisfy { $0.reasons == [.endOfFile] } })
            }
        }

        @Test("Closing after writing sends everything although the peer's bytes are unread, and waits for its end")
        func closingAfterWriting() throws {
            try TestServer.run { test in
                let recorder = StreamRecorder()
                let port = test.listenForStreams {
                    recorder.take($0)
                    $0.pauseReading()
                }
                let peer = Peer(port: port, receiveBuffer: 8_192)
                #expect(test.waits { recorder.stream != nil })
                peer.send(pattern(50_000))
                let sent = pattern(6_000_000)
                test.perform { _ in
                    recorder.stream?.write(sent)
                    recorder.stream?.closeAfterWriting()
                    recorder.stream?.write([9])
                }
                peer.send(pattern(50_000))
                var read: [UInt8] = []
                var chunk = [UInt8](repeating: 0, count: 1 << 20)
                while true {
                    let count = recv(peer.descriptor, &chunk, chunk.count, 0)
                    #expect(count >= 0)
                    guard count > 0 else { break }
                    read += chunk[..<count]
                }
                #expect(read == sent)
                #expect(test.onLoop { _ in recorder.reasons } == [])
                peer.close()
                #expect(test.waits { recorder.reasons == [.endOfFile] })
                #expect(test.onLoop { _ in recorder.reads } == 0)
            }
        }

        @Test("A peer that does not close in time is cut off")
        func closingTimeout() throws {
            try TestServer.run({ $0.closeTimeoutSeconds = 1 }) { test in
                let recorder = StreamRecorder()
                let port = test.listenForStreams { recorder.take($0) }
                let peer = Peer(port: port)
                #expect(test.waits { recorder.stream != nil })
                test.perform { _ in recorder.stream?.closeAfterWriting() }
                #expect(test.waits { recorder.reasons == [.failed("connection timed out")] })
                #expect(peer.isEnded())
            }
        }

        @Test("The end of the server closes its streams, attempts, listeners and timers, and releases them silently")
        func serverEnds() throws {
            let ends = [StreamRecorder(), StreamRecorder(), StreamRecorder(), StreamRecorder()]
            let fired = OnLoop(0)
            weak var released: StreamRecorder?
            do {
                let kept = StreamRecorder()
                released = kept
                let test = try TestServer()
                test.start()
                let next = OnLoop(0)
                let port = test.listenForStreams { stream in
                    ends[next.value].take(stream)
                    next.value += 1
                    _ = kept
                }
                let timer = OnLoop<LoopTimer?>(nil)
                test.perform { server in
                    timer.value = LoopTimer(on: server) {
                        _ = kept
                        fired.value += 1
                    }
                    timer.value?.set(afterMilliseconds: 2_000)
                }
                test.connect(ends[2], port: port)
                test.connect(ends[3], port: port)
                #expect(test.waits { ends.allSatisfy { $0.stream != nil } })
                let peer = Peer(port: port, receiveBuffer: 8_192)
                let sent = pattern(8_000_000)
                test.perform { server in
                    // One is paused under a full queue, one closes and waits, and attempts are under way.
                    ends[0].stream?.pauseReading()
                    for end in ends { end.stream?.write(sent) }
                    ends[1].stream?.closeAfterWriting()
                    server.connect(toHost: "127.0.0.1", port: port) { _ in fired.value += kept.reads + 1 }
                    server.connect(toHost: "slow.invalid", port: port) { _ in fired.value += kept.reads + 1 }
                    server.stop()
                }
                test.stopAndWait()
                #expect(peer.isEnded())
                timer.value?.set(afterMilliseconds: 1)
                for end in ends {
                    end.stream?.write([1])
                    #expect(end.stream?.queuedBytes == 0)
                    end.stream?.resumeReading()
                    end.stream?.closeAfterWriting()
                    end.stream?.close()
                    #expect(end.reasons.isEmpty)
                }
                #expect(Peer(port: port).isEnded())
                timer.value = nil
            }
            #expect(fired.value == 0)
            #expect(released == nil)
        }

        @Test("A server that never ran closes its listeners and timers too")
        func neverRan() throws {
            let test = try TestServer()
            let port = try test.server.listenForStreams(host: "127.0.0.1", port: 0) { _ in }
            let timer = LoopTimer(on: test.server) {}
            timer.set(afterMilliseconds: 1)
            test.server.connect(toHost: "127.0.0.1", port: port) { _ in }
            let peer = Peer(port: port)
            test.start()
            test.stopAndWait()
            #expect(peer.isEnded())
        }
    }
}
