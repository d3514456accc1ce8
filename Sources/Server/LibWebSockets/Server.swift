internal import CLibwebsockets
import CallPorts
internal import Glibc
internal import Threads

/// An HTTP/1.1 and WebSocket server on libwebsockets, with or without TLS, on one thread.
///
/// Create it, add listeners, and call ``run()`` on the thread that becomes its event loop. Except for members whose
/// documentation allows any thread, all members must be used on that thread only; before ``run()``, on the thread that
/// created the server. All methods of ``ServerDelegate`` are called on the event loop's thread.
package final class Server: @unchecked Sendable {
    // @unchecked: the members that any thread may use touch only objects that are safe on any thread, such as the
    // inbox. The other methods check the calling thread.

    /// The port of the configured listener, as the system assigned it.
    package let port: Int
    /// The largest number of event loops on one port: ids have four bits for the loop's number.
    package static let maximumLoops = 16
    /// The number of this event loop among those on its port, from 0; `SocketID/loop` of its connections.
    package let loop: Int
    /// The number of open sockets on this event loop, HTTP and WebSocket together.
    package var connectionCount: Int { table.count }
    /// The number of open sockets on all event loops of this port.
    ///
    /// With several loops it is readable from any thread; with one loop, only on the thread of that loop.
    package var connectionCountOfAllLoops: Int { allowance?.count ?? table.count }

    let configuration: ServerConfiguration
    /// The receiver of the callbacks.
    ///
    /// Set it before ``run()``; the server holds it until ``run()`` returns.
    package var delegate: (any ServerDelegate)?
    /// The work that was posted; closed by ``stop()``.
    let inbox = Inbox<@Sendable () -> Void>()
    let handles: LoopHandles
    var library: LibraryContext?
    let peerWatch = PeerWatch()
    var table: ConnectionTable
    var listeners: [Listener] = []
    var maxConnections = 0
    /// The connections whose requests are filtered, by descriptor.
    var filters: [Int32: FilteredConnection] = [:]
    /// The requests whose body was awaited or came in this turn, in part or whole; see ``continueBodies()``.
    var readBodies: [RequestID] = []
    /// The limit on sockets that all event loops share; nil if there is only one loop.
    let allowance: ConnectionAllowance?
    /// The connections that are not authenticated yet.
    var unauthenticated = UnauthenticatedQueue<SocketID>()
    /// The number of connections that were dropped to make room and are not completely closed yet.
    var droppedStillOpen = 0
    /// The numbers of unauthenticated connections that were dropped, on all event loops; readable from any thread.
    package let dropped: DroppedUnauthenticated
    /// The keys of TLS session tickets, shared by all event loops of the port.
    let ticketKeys: TicketKeys
    /// The place where handshakes find a certificate that replaced the configured one.
    let certificateHolder = CertificateHolder()
    /// A spare descriptor: when no other is free, it is released for a moment, so that a waiting connection can be
    /// accepted and closed.
    var spareDescriptor = Int32(-1)
    var lastSerial = UInt32.random(in: 0...UInt32.max)
    /// The frames that go out at the end of this turn.
    var heldFrames = HeldFrames()
    /// The connections to other nodes, and the timers other than the delegate's own.
    var streams = LoopStreams()
    /// Whether a connection may serve a further request after a response.
    var keepsAlive = true
    /// Whether the delegate was called, or posted work ran, since the last ``ServerDelegate/loopTurned()``.
    var hasWorkedThisTurn = false
    /// The value of `Sec-WebSocket-Protocol` for the upgrade in progress; nil outside of an upgrade, `.some(nil)` for
    /// no header.
    var chosenSubprotocol: String??
    var thread: pthread_t?

    var bodyDeadlines: DeadlineQueue<RequestID>
    var responseDeadlines: DeadlineQueue<SocketID>
    var closeDeadlines: DeadlineQueue<SocketID>

    /// Loads the certificate, creates the library's context and starts listening.
    ///
    /// - Parameters:
    ///   - configuration: The addresses, the protocols and the limits.
    ///   - delegate: Held strongly until ``run()`` has returned; it may also be set later.
    /// - Throws: ``ServerError``; each case describes itself in one sentence.
    package convenience init(
        configuration: ServerConfiguration,
        delegate: (any ServerDelegate)? = nil
    ) throws(ServerError) {
        precondition((1...Self.maximumLoops).contains(configuration.loops), "there are 1–16 loops")
        let areSeveral = configuration.loops > 1
        try self.init(
            configuration,
            delegate,
            loop: 0,
            allowance: areSeveral ? ConnectionAllowance() : nil,
            ticketKeys: try TicketKeys(),
            dropped: DroppedUnauthenticated()
        )
    }

    /// Creates a further event loop on the port of the first, for another thread.
    ///
    /// The kernel distributes new connections over the loops. The first server must have been created with
    /// ``ServerConfiguration/loops`` above 1. It must be listening but not running yet.
    ///
    /// - Parameters:
    ///   - first: The server of loop 0.
    ///   - loop: This loop's number, from 1 to one less than ``ServerConfiguration/loops``.
    ///   - delegate: Held strongly until ``run()`` has returned; it may also be set later.
    /// - Throws: ``ServerError``.
    package convenience init(
        beside first: Server,
        loop: Int,
        delegate: (any ServerDelegate)? = nil
    ) throws(ServerError) {
        precondition(first.loop == 0 && (1..<first.configuration.loops).contains(loop), "a loop that was announced")
        var configuration = first.configuration
        configuration.port = first.port
        try self.init(
            configuration,
            delegate,
            loop: loop,
            allowance: first.allowance,
            ticketKeys: first.ticketKeys,
            dropped: first.dropped
        )
    }

    private init(
        _ configuration: ServerConfiguration,
        _ delegate: (any ServerDelegate)?,
        loop: Int,
        allowance: ConnectionAllowance?,
        ticketKeys: TicketKeys,
        dropped: DroppedUnauthenticated
    ) throws(ServerError) {
        self.configuration = configuration
        self.delegate = delegate
        self.loop = loop
        self.allowance = allowance
        self.ticketKeys = ticketKeys
        self.dropped = dropped
        table = ConnectionTable(loop: loop)
        bodyDeadlines = DeadlineQueue(seconds: configuration.bodyTimeoutSeconds)
        responseDeadlines = DeadlineQueue(seconds: configuration.responseTimeoutSeconds)
        closeDeadlines = DeadlineQueue(seconds: configuration.closeTimeoutSeconds)
        handles = try LoopHandles()
        // A write to a closed connection must return an error instead of raising SIGPIPE. OpenSSL has no flag that
        // would suppress the signal for one write.
        signal(SIGPIPE, SIG_IGN)
        // The port comes first: a taken port is the most common reason for a failed start, so its error is reported
        // before any other.
        let listener = try Listener(
            host: configuration.host,
            port: configuration.port,
            id: 0,
            isTLS: configuration.tls != nil,
            sharing: configuration.loops == 1 ? .alone : loop == 0 ? .opening : .joining
        )
        port = listener.port
        listeners = [listener]
        let owner = Unmanaged.passUnretained(self).toOpaque()
        let library = try LibraryContext(configuration, loop: handles.loop, owner: owner)
        self.library = library
        maxConnections = min(
            configuration.maxConnections ?? Int.max,
            library.descriptorLimit - DescriptorLimit.reserve(loops: configuration.loops)
        )
        allowance?.set(limit: maxConnections)
        spareDescriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        handles.start(owner: owner, peerWatch: peerWatch.descriptor)
        watch(listener)
    }

    deinit {
        tearDown()
    }

    /// Serves on the calling thread until ``stop()``.
    ///
    /// When it returns, every connection is closed and the server cannot be used again.
    package func run() {
        thread = pthread_self()
        FilteredReads.setServer(self)
        // Any thread may call `uv_async_send` while the handle is open. `tearDown()` removes this function from the
        // inbox before it closes the handle.
        nonisolated(unsafe) let handle = handles.async
        inbox.setWakeFunction { uv_async_send(handle) }
        uv_run(handles.loop, UV_RUN_DEFAULT)
        tearDown()
        FilteredReads.setServer(nil)
        delegate = nil
    }

    /// Runs `work` on the event loop's thread soon, in the order posted; may be called from any thread.
    ///
    /// Work that is still waiting when the server stops is dropped, and so is work that is posted afterwards.
    package func post(_ work: @escaping @Sendable () -> Void) {
        inbox.put(work)
    }

    /// Makes ``run()`` return soon, after the work posted before; may be called from any thread.
    package func stop() {
        inbox.close()
    }

    /// Schedules one call of ``ServerDelegate/timerFired()`` after this time.
    ///
    /// There is one timer: setting it again replaces its time.
    ///
    /// - Parameter milliseconds: nil disarms it (`uv_timer_start`, `uv_timer_stop`).
    package func setTimer(afterMilliseconds milliseconds: UInt64?) {
        checkThread()
        guard let milliseconds else {
            uv_timer_stop(handles.ownerTimer)
            return
        }
        // libuv counts from the beginning of the current turn, which may be long ago.
        uv_update_time(handles.loop)
        uv_timer_start(handles.ownerTimer, clwsOwnerTimer, milliseconds, 0)
    }

    @inline(__always)
    func checkThread() {
        assert(thread == nil || thread == pthread_self(), "a Server belongs to its loop thread")
    }

    /// Closes everything; a second call does nothing.
    private func tearDown() {
        guard let library else { return }
        inbox.setWakeFunction(nil)
        // The closures are released outside of the inbox's lock: the values that they captured may post work when they
        // are released.
        _ = inbox.take()
        stopListening()
        endStreams()
        handles.close()
        library.destroyAlone()
        self.library = nil
        handles.free()
        peerWatch.close()
        if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
    }
}
