internal import CLibwebsockets
internal import Glibc

/// An HTTP/1.1 and WebSocket server on libwebsockets, with or without TLS, on one thread.
///
/// Make it, add listeners, and call ``run()`` on the thread that is to be its loop. Everything but ``post(_:)`` and
/// ``stop()`` belongs to that thread (before ``run()``: to whoever made it), and all of ``ServerDelegate`` is called there.
public final class Server: @unchecked Sendable {
    // @unchecked: the two methods that any thread may call touch only the mailbox, the others check their thread.

    /// How many spare bytes an outgoing frame begins with (`LWS_PRE`): the library writes the frame's header there.
    public static let headroom = 16

    /// The port of the configured listener, as the system gave it.
    public let port: Int
    /// How many loops there may be on one port: as many as the ids have numbers for.
    public static let mostLoops = 16
    /// Which of the loops on its port this is, from 0; ``ConnectionID/loop`` of its connections.
    public let loop: Int
    /// Sockets at the moment, HTTP and WebSocket together, on this loop.
    public var connectionCount: Int { table.count }
    /// The same for all loops on its port; any thread may ask.
    public var connectionCountOfAllLoops: Int { allowance?.count ?? table.count }

    let configuration: ServerConfiguration
    /// Held until ``run()`` has returned.
    var delegate: (any ServerDelegate)?
    let mailbox = Mailbox()
    let handles: LoopHandles
    var library: LibraryContext?
    let peerWatch = PeerWatch()
    var table: ConnectionTable
    var listeners: [Listener] = []
    var maxConnections = 0
    /// What the loops may have together, if there are several.
    let allowance: ConnectionAllowance?
    /// Those that nobody has vouched for.
    var newcomers = Newcomers<ConnectionID>()
    /// How many that had to make room are not quite gone.
    var leaving = 0
    /// How many had to make room, on all loops.
    public let dropped: DroppedNewcomers
    /// What TLS sessions are taken up with, on whatever loop.
    let ticketKeys: TicketKeys
    /// Where handshakes find a certificate that came after the one of the configuration.
    let certificatePlace = CertificatePlace()
    /// A descriptor to give up for a moment when all others are taken: to accept a connection and close it.
    var spareDescriptor = Int32(-1)
    var lastSerial: UInt32 = 0
    /// What goes out at the end of this turn.
    var outbox = Outbox()
    /// Whether the delegate was called since it last heard ``ServerDelegate/loopTurned()``.
    var isTouched = false
    /// What `Sec-WebSocket-Protocol` is to say in the upgrade that is going on.
    var chosenSubprotocol: String??
    var thread: pthread_t?

    var bodyDeadlines: DeadlineQueue<ExchangeID>
    var responseDeadlines: DeadlineQueue<ConnectionID>
    var closeDeadlines: DeadlineQueue<ConnectionID>

    /// Loads the certificate, makes the library's context and listens.
    ///
    /// - Parameters:
    ///   - configuration: What and where.
    ///   - delegate: Held strongly until ``run()`` has returned.
    /// - Throws: ``ServerError``, a sentence each.
    public convenience init(
        configuration: ServerConfiguration,
        delegate: any ServerDelegate
    ) throws(ServerError) {
        precondition((1...Self.mostLoops).contains(configuration.loops), "there are 1–16 loops")
        let areSeveral = configuration.loops > 1
        try self.init(
            configuration,
            delegate,
            loop: 0,
            allowance: areSeveral ? ConnectionAllowance() : nil,
            ticketKeys: try TicketKeys(),
            dropped: DroppedNewcomers()
        )
    }

    /// One more loop on the port of the first, for a thread of its own: the kernel spreads new connections over them.
    ///
    /// The first must have been made with ``ServerConfiguration/loops`` above 1, and listens on, but is not run yet.
    ///
    /// - Parameters:
    ///   - first: Loop 0.
    ///   - loop: Which this is, from 1 to one less than there are.
    ///   - delegate: Held strongly until ``run()`` has returned.
    /// - Throws: ``ServerError``.
    public convenience init(
        beside first: Server,
        loop: Int,
        delegate: any ServerDelegate
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
        _ delegate: any ServerDelegate,
        loop: Int,
        allowance: ConnectionAllowance?,
        ticketKeys: TicketKeys,
        dropped: DroppedNewcomers
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
        // A write to a peer that is gone is an error, not a signal: OpenSSL cannot say so for each write.
        signal(SIGPIPE, SIG_IGN)
        // The port first: the sentence about it is the one that most starts fail with.
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

    /// Serves on the calling thread until ``stop()``; afterwards every connection is closed and this server is done.
    public func run() {
        thread = pthread_self()
        mailbox.open(handles.async)
        uv_run(handles.loop, UV_RUN_DEFAULT)
        tearDown()
        delegate = nil
    }

    /// Runs `work` on the loop thread soon, in the order posted; from any thread.
    ///
    /// Work that is still waiting when the server stops is dropped.
    public func post(_ work: @escaping @Sendable () -> Void) {
        mailbox.post(work)
    }

    /// Makes ``run()`` return soon, after what was posted before; from any thread.
    public func stop() {
        mailbox.stop()
    }

    /// Has ``ServerDelegate/timerFired()`` called once after this time; there is one timer, set again it moves.
    ///
    /// - Parameter milliseconds: nil disarms it (`uv_timer_start`, `uv_timer_stop`).
    public func setTimer(afterMilliseconds milliseconds: UInt64?) {
        checkThread()
        guard let milliseconds else {
            uv_timer_stop(handles.ownerTimer)
            return
        }
        // libuv counts from the beginning of the turn, which may have been long.
        uv_update_time(handles.loop)
        uv_timer_start(handles.ownerTimer, clwsOwnerTimer, milliseconds, 0)
    }

    @inline(__always)
    func checkThread() {
        assert(thread == nil || thread == pthread_self(), "a Server belongs to its loop thread")
    }

    /// Closes everything; the second time nothing.
    private func tearDown() {
        guard let library else { return }
        mailbox.close()
        stopListening()
        handles.close()
        library.destroyAlone()
        self.library = nil
        handles.free()
        peerWatch.close()
        if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
    }
}
