internal import CLibwebsockets
internal import Glibc
internal import Threads

/// The TCP streams and the timers of an event loop.
struct LoopStreams {
    /// The streams that are not closed.
    var open: [ObjectIdentifier: TCPStream] = [:]
    /// The streams that have something to send at the end of this turn.
    var unflushed: [TCPStream] = []
    /// The attempts that are not over.
    var attempts: [ObjectIdentifier: TCPConnectionAttempt] = [:]
    /// The endpoints whose addresses are being looked up.
    var lookups: Set<Endpoint> = []
    var listeners: [StreamListener] = []
    /// The handles of the timers that were not released.
    var timers: Set<UnsafeMutablePointer<uv_timer_t>> = []
    /// The memory into which all streams read, one after the other.
    lazy var readMemory = ReadMemory()
    /// Whether the server is ending, so that nothing new may use its loop.
    var isOver = false

    final class ReadMemory {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        deinit { bytes.deallocate() }
    }

    /// Closes all handles.
    ///
    /// The server may be in its deinit, so nothing here may use a reference to it.
    func close() {
        // Streams own timers, which must not look for their server any more.
        for handle in timers {
            guard let timer = handle.pointee.data else { continue }
            Unmanaged<LoopTimer>.fromOpaque(timer).takeUnretainedValue().closeHandle()
        }
        for stream in open.values { stream.closeHandle() }
        for attempt in attempts.values { attempt.closeHandles() }
        for listener in listeners { listener.close() }
    }
}

/// A listening socket for streams.
final class StreamListener {
    private unowned let server: Server
    private let accepted: (TCPStream) -> Void
    private var handle: UnsafeMutablePointer<uv_tcp_t>?

    init(host: String, port: Int, on server: Server, accepted: @escaping (TCPStream) -> Void) throws(ServerError) {
        self.server = server
        self.accepted = accepted
        let (descriptor, port) = try Listener.openSocket(host: host, port: port, sharing: .alone)
        self.port = port
        let handle = LoopHandles.makeTCP(on: server.handles.loop)
        self.handle = handle
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        var result = uv_tcp_open(handle, descriptor)
        // libuv owns the descriptor from here on.
        if result < 0 { Glibc.close(descriptor) } else { result = uv_listen(handle.stream, 128, clwsStreamArrived) }
        guard result < 0 else { return }
        close()
        throw .cannotListen(host: host, port: port, reason: String(cString: uv_strerror(result)))
    }

    let port: Int

    /// Accepts one waiting connection.
    func accept() {
        guard let handle else { return }
        let client = LoopHandles.makeTCP(on: server.handles.loop)
        guard uv_accept(handle.stream, client.stream) == 0 else { return LoopHandles.closeAndFree(client) }
        server.hasWorkedThisTurn = true
        server.addStream(client, accepted)
    }

    func close() {
        guard let handle else { return }
        self.handle = nil
        LoopHandles.closeAndFree(handle)
    }
}

/// Plain TCP connections between nodes.
extension Server {
    /// Listens for streams, without TLS.
    ///
    /// Neither this nor ``ServerConfiguration/maxConnections`` limits their number: close those that are too many.
    ///
    /// - Parameters:
    ///   - host: An IPv4 or IPv6 address.
    ///   - port: 0 lets the system choose.
    ///   - accepted: Receives each stream on the loop's thread; ``ServerDelegate/loopTurned()`` follows. The server
    ///     holds it until ``stopListeningForStreams()`` or its end.
    /// - Returns: The port.
    /// - Throws: ``ServerError`` about the address or the port.
    @discardableResult
    package func listenForStreams(
        host: String,
        port: Int,
        accepted: @escaping (TCPStream) -> Void
    ) throws(ServerError) -> Int {
        checkThread()
        guard !streams.isOver else {
            throw .cannotListen(host: host, port: port, reason: "the server has ended")
        }
        let listener = try StreamListener(host: host, port: port, on: self, accepted: accepted)
        streams.listeners.append(listener)
        return listener.port
    }

    /// Stops accepting streams; existing ones continue.
    package func stopListeningForStreams() {
        checkThread()
        for listener in streams.listeners { listener.close() }
        streams.listeners = []
    }

    /// Opens a stream to another node.
    ///
    /// There is no limit of time here: use ``LoopTimer`` and ``TCPConnectionAttempt/cancel()``.
    ///
    /// - Parameters:
    ///   - host: An IPv4 or IPv6 address, or a name.
    ///   - port: 1–65,535.
    ///   - opened: Receives the result once, on the loop's thread and never within this call;
    ///     ``ServerDelegate/loopTurned()`` follows. It is not called after a cancellation or the end of the server.
    /// - Returns: The attempt, only needed to cancel it; the server holds it until it is over.
    @discardableResult
    package func connect(
        toHost host: String,
        port: Int,
        opened: @escaping (Result<TCPStream, TCPConnectFailure>) -> Void
    ) -> TCPConnectionAttempt {
        checkThread()
        let attempt = TCPConnectionAttempt(Endpoint(host: host, port: port), on: self, opened: opened)
        streams.attempts[ObjectIdentifier(attempt)] = attempt
        lookUp(attempt.endpoint)
        return attempt
    }

    /// Reads a connected stream as soon as `body` has received it.
    func addStream(_ handle: UnsafeMutablePointer<uv_tcp_t>, _ body: (TCPStream) -> Void) {
        let stream = TCPStream(handle, on: self)
        streams.open[ObjectIdentifier(stream)] = stream
        body(stream)
        stream.startReading()
    }

    /// Closes the streams and the timers for good.
    func endStreams() {
        let ended = streams
        streams = LoopStreams()
        streams.isOver = true
        // The closures are released when `streams` is empty already: the values that they captured may use the server
        // when they are released.
        ended.close()
    }

    func flushStreams() {
        // Flushing calls no delegate, so no stream is added meanwhile.
        for stream in streams.unflushed { stream.flush() }
        streams.unflushed.removeAll(keepingCapacity: true)
    }

    /// Looks up the addresses for all attempts that wait for this endpoint.
    ///
    /// A name is looked up on a thread of its own, one at a time for each endpoint. With `uv_getaddrinfo` the end of
    /// the server, and of the process, would have to wait until a name server that does not answer is given up.
    private func lookUp(_ endpoint: Endpoint) {
        guard streams.lookups.insert(endpoint).inserted else { return }
        guard (1...65_535).contains(endpoint.port) else {
            return addressesFound(.failure(.failed("\(endpoint.port) is not a port")), of: endpoint)
        }
        if let address = SocketAddress.parse(endpoint) { return addressesFound(.success([address]), of: endpoint) }
        do throws(WorkThread.Refused) {
            _ = try WorkThread(named: "name-lookup") { [weak self] in
                let found = SocketAddress.resolve(endpoint)
                self?.addressesFound(found, of: endpoint)
            }
        } catch {
            addressesFound(.failure(.failed("cannot look up \(endpoint.host): \(error.reason)")), of: endpoint)
        }
    }

    /// Passes the addresses to the attempts, in a later turn; may be called from any thread.
    private func addressesFound(_ found: Result<[SocketAddress], TCPConnectFailure>, of endpoint: Endpoint) {
        post { [weak self] in
            guard let self else { return }
            streams.lookups.remove(endpoint)
            for attempt in streams.attempts.values where attempt.endpoint == endpoint { attempt.addressesFound(found) }
        }
    }
}
