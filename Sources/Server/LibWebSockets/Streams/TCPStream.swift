internal import CLibwebsockets

/// A TCP connection to another node, on a server's event loop.
///
/// A stream is opened by ``Server/listenForStreams(host:port:accepted:)`` or ``Server/connect(toHost:port:opened:)``,
/// and read from the moment when that closure returns. It belongs to the thread of its server. The server holds it
/// until it is closed; when the server ends, it closes its streams without a report. Members of a closed stream do
/// nothing.
///
/// Small writes are not delayed (`TCP_NODELAY`), and the kernel probes an idle peer (`SO_KEEPALIVE`).
package final class TCPStream {
    /// The reason why a stream was closed.
    package enum CloseReason: Sendable, Equatable {
        /// The peer closed the connection.
        case endOfFile
        /// The peer reset the connection (`ECONNRESET`, `EPIPE`): its process died, or closed without reading all.
        case reset
        /// Any other failure, as libuv words it.
        case failed(String)

        fileprivate init(_ code: Int32) {
            switch code {
            case UV_EOF.rawValue: self = .endOfFile
            case UV_ECONNRESET.rawValue, UV_EPIPE.rawValue: self = .reset
            default: self = .failed(String(cString: uv_strerror(code)))
            }
        }
    }

    /// The receiver of the bytes and of the end.
    ///
    /// Set it in the closure that receives the stream. Bytes that arrive without a delegate are discarded.
    package weak var delegate: (any TCPStreamDelegate)?
    /// The peer's numeric address and port, as in `203.0.113.7:4433` and `[2001:db8::1]:4433`.
    package let peer: String

    /// The peer's numeric address without its port.
    package var peerAddress: String { String(peer[..<(peer.lastIndex(of: ":") ?? peer.endIndex)]) }

    private enum Phase { case open, finishing, shutDown }

    private unowned let server: Server
    /// The handle; nil once the stream is closed.
    private var handle: UnsafeMutablePointer<uv_tcp_t>?
    private var phase = Phase.open
    private var isPaused = false
    /// The bytes that were not passed to libuv yet.
    private var unsent: [UInt8] = []
    /// Whether the server flushes this stream at the end of the turn.
    private var awaitsFlush = false
    /// Whether libuv still has bytes of this stream, for which the kernel has no room.
    private var isWriting = false
    /// The error of the direct write before libuv's own; 0 for none.
    private var writeError: Int32 = 0
    private var closeTimer: LoopTimer?

    /// Takes over a connected handle.
    init(_ handle: UnsafeMutablePointer<uv_tcp_t>, on server: Server) {
        self.server = server
        self.handle = handle
        peer = SocketAddress(ofPeer: handle)?.text ?? "unknown"
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_tcp_nodelay(handle, 1)
        uv_tcp_keepalive(handle, 1, Self.keepAliveSeconds)
    }

    /// The time in seconds after which the kernel probes an idle peer.
    private static let keepAliveSeconds: UInt32 = 15
    /// The capacity in bytes that the array of unsent bytes keeps between turns.
    private static let keptCapacity = 65_536

    /// Sends bytes; never blocks.
    ///
    /// All bytes of one turn of the loop go out in one write at its end. There is no limit on the bytes that wait for
    /// a slow peer: limit them by ``queuedBytes``.
    package func write(_ bytes: [UInt8]) {
        guard handle != nil, phase == .open, !bytes.isEmpty else { return }
        server.checkThread()
        unsent.append(contentsOf: bytes)
        awaitFlush()
    }

    /// The number of bytes that were written and that the kernel has not taken yet; 0 for a closed stream.
    package var queuedBytes: Int {
        guard let handle else { return 0 }
        return unsent.count + uv_stream_get_write_queue_size(handle.stream)
    }

    /// Stops reading, so that the kernel makes the peer wait; no ``TCPStreamDelegate/bytesReceived(_:on:)`` follows.
    ///
    /// While reading is paused, only a failed write shows that the connection has ended.
    package func pauseReading() {
        guard let handle, phase == .open else { return }
        server.checkThread()
        isPaused = true
        uv_read_stop(handle.stream)
    }

    /// Ends the effect of ``pauseReading()``.
    package func resumeReading() {
        isPaused = false
        startReading()
    }

    /// Closes the connection at once; no callback follows.
    ///
    /// Bytes that the kernel has not taken are discarded, also those written in this turn.
    package func close() {
        guard handle != nil else { return }
        server.checkThread()
        server.streams.open[ObjectIdentifier(self)] = nil
        closeHandle()
    }

    /// Sends the bytes written so far, then closes.
    ///
    /// Bytes that arrive meanwhile are discarded. ``TCPStreamDelegate/closed(_:reason:)`` follows: with `endOfFile`
    /// once the peer, too, has closed. A peer that has not closed within ``ServerConfiguration/closeTimeoutSeconds`` is
    /// cut off.
    package func closeAfterWriting() {
        guard handle != nil, phase == .open else { return }
        server.checkThread()
        phase = .finishing
        // Closing a socket that holds unread bytes resets the connection, and a reset destroys the bytes that the peer
        // has not read yet. So the peer's bytes are read until its end.
        resumeReading()
        let timer = LoopTimer(on: server) { [unowned self] in end(UV_ETIMEDOUT.rawValue) }
        timer.set(afterMilliseconds: UInt64(max(1, server.configuration.closeTimeoutSeconds)) * 1_000)
        closeTimer = timer
        awaitFlush()
    }

    // MARK: Events

    func startReading() {
        guard let handle, !isPaused else { return }
        // A second start does nothing but return an error.
        uv_read_start(handle.stream, clwsStreamAllocates, clwsStreamRead)
    }

    /// The memory into which libuv reads; its content is used before the next read.
    var readBuffer: UnsafeMutableRawBufferPointer { server.streams.readMemory.bytes }

    /// Passes bytes to the delegate; a negative count is an error.
    func didRead(_ count: Int, _ bytes: UnsafeRawPointer?) {
        if count < 0 { return end(Int32(truncatingIfNeeded: count)) }
        guard count > 0, phase == .open else { return }
        server.hasWorkedThisTurn = true
        delegate?.bytesReceived(UnsafeRawBufferPointer(start: bytes, count: count).bytes, on: self)
    }

    func didWrite(_ status: Int32) {
        isWriting = false
        if status < 0 { return end(writeError == 0 ? status : writeError) }
        if !unsent.isEmpty || phase == .finishing { awaitFlush() }
    }

    private func end(_ code: Int32) {
        let delegate = delegate
        close()
        server.hasWorkedThisTurn = true
        delegate?.closed(self, reason: CloseReason(code))
    }

    // MARK: Out

    private func awaitFlush() {
        guard !awaitsFlush, !isWriting else { return }
        awaitsFlush = true
        server.streams.unflushed.append(self)
    }

    /// Passes the bytes of this turn to the kernel, as many as it takes, and the rest to libuv.
    ///
    /// It calls no delegate: the end of a turn, which would report the delegate's work, is under way.
    func flush() {
        awaitsFlush = false
        guard let handle, !isWriting else { return }
        if !unsent.isEmpty {
            let written = writeDirectly(handle)
            if written < unsent.count { writeRest(handle, from: written) }
            unsent.removeAll(keepingCapacity: unsent.capacity <= Self.keptCapacity)
        }
        if phase == .finishing {
            phase = .shutDown
            // libuv shuts down behind the bytes that it still has. The result does not matter: reading reports the end.
            let request = UnsafeMutablePointer<uv_shutdown_t>.allocate(capacity: 1)
            if uv_shutdown(request, handle.stream, clwsStreamShutDown) != 0 { request.deallocate() }
        }
    }

    /// Returns the number of bytes that the kernel took.
    ///
    /// `uv_write` alone would cost an empty turn of the loop for each write, in which libuv reports its success.
    private func writeDirectly(_ handle: UnsafeMutablePointer<uv_tcp_t>) -> Int {
        let result = unsent.withUnsafeBytes { bytes in
            var buffer = uv_buf_t(bytes)
            return uv_try_write(handle.stream, &buffer, 1)
        }
        guard result < 0 else { return Int(result) }
        if result != UV_EAGAIN.rawValue { writeError = result }
        return 0
    }

    /// Lets libuv write the rest when the kernel has room; after an error, libuv reports the failure soon.
    private func writeRest(_ handle: UnsafeMutablePointer<uv_tcp_t>, from start: Int) {
        let rest = UnsafeMutableRawBufferPointer.allocate(byteCount: unsent.count - start, alignment: 1)
        rest.copyBytes(from: unsent[start...])
        let request = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
        request.pointee.data = rest.baseAddress
        var buffer = uv_buf_t(UnsafeRawBufferPointer(rest))
        let result = uv_write(request, handle.stream, &buffer, 1, clwsStreamWritten)
        // It fails at once only for a handle that is closed or shut down.
        assert(result == 0, "uv_write: \(String(cString: uv_strerror(result)))")
        isWriting = true
    }

    /// Closes the handle without a word to the server, which may be ending.
    func closeHandle() {
        guard let handle else { return }
        self.handle = nil
        unsent = []
        closeTimer = nil
        LoopHandles.closeAndFree(handle)
    }
}

/// The callbacks of a ``TCPStream``.
///
/// They are called on the event loop's thread, and ``ServerDelegate/loopTurned()`` follows them. Within them every
/// method of the stream and of the server may be called.
package protocol TCPStreamDelegate: AnyObject {
    /// Reports bytes in the order sent; where they are cut has no meaning.
    ///
    /// The bytes belong to the server: copy what you keep.
    func bytesReceived(_ bytes: RawSpan, on stream: TCPStream)
    /// Reports, once, that the stream was closed, but not by ``TCPStream/close()`` or by the end of the server.
    ///
    /// Bytes that the kernel had not taken are lost.
    func closed(_ stream: TCPStream, reason: TCPStream.CloseReason)
}
