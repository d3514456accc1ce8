import LibWebSockets
import ServerTesting

/// The delegate of a stream, which records what is reported.
///
/// @unchecked Sendable: used on the event loop's thread only; tests read it with `TestServer.onLoop`.
final class StreamRecorder: TCPStreamDelegate, @unchecked Sendable {
    var stream: TCPStream?
    var bytes: [UInt8] = []
    var reads = 0
    var reasons: [TCPStream.CloseReason] = []
    var failures: [TCPConnectFailure] = []
    var onReceive: ((StreamRecorder, [UInt8]) -> Void)?
    var onClose: ((StreamRecorder) -> Void)?

    init(onReceive: ((StreamRecorder, [UInt8]) -> Void)? = nil) { self.onReceive = onReceive }

    /// Takes over a stream; `body` runs within the closure that receives the stream.
    func take(_ stream: TCPStream) {
        self.stream = stream
        stream.delegate = self
    }

    func bytesReceived(_ bytes: RawSpan, on stream: TCPStream) {
        let bytes = bytes.withUnsafeBytes { Array($0) }
        reads += 1
        self.bytes += bytes
        onReceive?(self, bytes)
    }

    func closed(_ stream: TCPStream, reason: TCPStream.CloseReason) {
        reasons.append(reason)
        onClose?(self)
    }
}

extension TestServer {
    /// Listens for streams and returns the port; `accepted` gets each stream.
    func listenForStreams(host: String = "127.0.0.1", _ accepted: @escaping @Sendable (TCPStream) -> Void) -> Int {
        onLoop { server in (try? server.listenForStreams(host: host, port: 0, accepted: accepted)) ?? -1 } ?? -1
    }

    /// Connects, and gives the stream or the failure to the recorder.
    func connect(_ recorder: StreamRecorder, host: String = "127.0.0.1", port: Int) {
        server.post { [unowned self] in
            server.connect(toHost: host, port: port) { result in
                switch result {
                case .success(let stream): recorder.take(stream)
                case .failure(let failure): recorder.failures.append(failure)
                }
            }
        }
    }

    /// Waits until a condition holds on the loop.
    func waits(seconds: Double = 5, _ condition: @escaping @Sendable () -> Bool) -> Bool {
        wait(seconds: seconds) { self.onLoop { _ in condition() } == true }
    }

    /// Runs `body` on the loop and waits for its end.
    func perform(_ body: @escaping @Sendable (Server) -> Void) {
        _ = onLoop { server in
            body(server)
            return true
        }
    }
}

/// Bytes that tell their position, so that a lost or doubled piece shows.
func pattern(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { bytes, length in
        for index in 0..<count { bytes[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 8 &+ index >> 16) }
        length = count
    }
}
