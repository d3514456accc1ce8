internal import CLibwebsockets
import CallPorts
internal import Glibc

/// Listening and accepting.
extension Server {
    /// Listens on a further address, without TLS; its requests carry `id` in `RequestHead/listener`.
    ///
    /// - Parameters:
    ///   - host: An IPv4 or IPv6 address.
    ///   - port: 0 lets the system choose.
    ///   - id: 1–255.
    /// - Returns: The port.
    /// - Throws: ``ServerError`` about the address or the port.
    @discardableResult
    package func addListener(host: String, port: Int, id: Int) throws(ServerError) -> Int {
        checkThread()
        precondition((1...255).contains(id), "a listener's id is 1–255")
        let listener = try Listener(host: host, port: port, id: id, isTLS: false, sharing: .alone)
        listeners.append(listener)
        watch(listener)
        return listener.port
    }

    /// Ends each connection that waits for a request now, and each other one after its next response.
    ///
    /// It is meant for the end of the server: a client may keep an idle connection open for hours. WebSocket
    /// connections stay open.
    package func endIdleConnections() {
        checkThread()
        keepsAlive = false
        for slot in table.rows.indices where table[slot].phase == .http {
            guard let wsi = table[slot].wsi, lws_partial_buffered(wsi) == 0 else { continue }
            abort(slot)
        }
    }

    /// Stops accepting connections; existing ones continue.
    ///
    /// - Parameter id: The listener to stop; nil (default) stops all listeners.
    package func stopListening(_ id: Int? = nil) {
        checkThread()
        for listener in listeners where id == nil || listener.id == id {
            guard let watch = listener.watch else { continue }
            LoopHandles.closeAndFree(watch)
            listener.watch = nil
        }
        listeners.removeAll { $0.watch == nil }
    }

    func watch(_ listener: Listener) {
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        uv_poll_init_socket(handles.loop, handle, listener.descriptor)
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_poll_start(handle, Int32(UV_READABLE.rawValue), clwsListenerReadable)
        listener.watch = handle
    }

    /// Accepts waiting connections, at most 64 at a time so that existing connections get their turn.
    func accept(on handle: UnsafeMutablePointer<uv_poll_t>) {
        guard let listener = listeners.first(where: { $0.watch == handle }) else { return }
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        for _ in 0..<64 {
            // Dropped connections are closed at the end of this turn. The other waiting connections are accepted after
            // that.
            if droppedStillOpen >= Self.mostLeaving, isFull(leaving: 0) { return }
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = withUnsafeMutablePointer(to: &storage) { storage in
                storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    clws_accept4(listener.descriptor, address, &length, flags)
                }
            }
            if descriptor < 0 {
                if errno == ECONNABORTED || errno == EINTR { continue }
                if errno == EMFILE || errno == ENFILE { refuseOne(on: listener) }
                return
            }
            guard descriptor < FilteredReads.mostDescriptors else {
                Glibc.close(descriptor)
                continue
            }
            if isFull(leaving: droppedStillOpen) { dropUnauthenticated(for: .connections) }
            guard table.count - droppedStillOpen < maxConnections, allowance?.admit(leaving: droppedStillOpen) ?? true
            else {
                Glibc.close(descriptor)
                continue
            }
            adopt(descriptor, from: PeerAddress(storage), by: listener)
        }
    }

    private func adopt(_ descriptor: Int32, from peer: PeerAddress, by listener: Listener) {
        guard let host = listener.isTLS ? library?.secureHost : library?.plainHost else {
            allowance?.release()
            Glibc.close(descriptor)
            return
        }
        let id = table.insert(peer: peer, listener: listener.id, isTLS: listener.isTLS)
        beginFiltering(table[id.slot].isTLS, descriptor, id.slot)
        // From here on the library closes the descriptor in every case.
        let wsi = clws_adopt(host, descriptor, id.opaque)
        guard let slot = table.slot(of: id) else { return }
        guard let wsi else {
            forget(slot)
            return
        }
        table[slot].wsi = wsi
        if listener.isTLS { FilteredReads.set(true, wsi, on: descriptor) }
        if listener.id == 0 { welcome(slot, id) }
    }

    private func beginFiltering(_ isTLS: Bool, _ descriptor: Int32, _ slot: Int) {
        let filter = RequestFilter(
            limit: configuration.maxHeadBytes,
            // The library's block also holds a few bytes for each line.
            limitBesidesCookies: configuration.maxHeaderBytes - 512
        )
        let filtered = FilteredConnection(descriptor, filter)
        table[slot].filtered = filtered
        filters[descriptor] = filtered
        if !isTLS { FilteredReads.startCounting(on: descriptor) }
    }

    /// Ends the filtering of a connection's requests: it has become a WebSocket, or is gone.
    func endFiltering(_ slot: Int) {
        guard let filtered = table[slot].filtered else { return }
        table[slot].filtered = nil
        if filters[filtered.socket] === filtered { filters[filtered.socket] = nil }
        if !table[slot].isTLS { FilteredReads.end(on: filtered.socket) }
    }

    /// Removes a connection that is gone, which makes room for another.
    func forget(_ slot: Int) {
        markAuthenticated(slot)
        endFiltering(slot)
        if table[slot].isBeingDropped { droppedStillOpen -= 1 }
        table.remove(slot)
        allowance?.release()
    }

    /// Accepts and closes one waiting connection with the spare descriptor.
    ///
    /// Without a free descriptor a waiting connection cannot even be refused, and the event loop would spin on it.
    private func refuseOne(on listener: Listener) {
        guard spareDescriptor >= 0 else { return }
        Glibc.close(spareDescriptor)
        let refused = clws_accept4(listener.descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
        if refused >= 0 { Glibc.close(refused) }
        spareDescriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
    }
}
