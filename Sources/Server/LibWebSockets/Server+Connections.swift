internal import CLibwebsockets
package import CallPorts
package import CallWire
internal import Glibc

/// WebSocket connections: frames in and out, close.
extension Server {
    /// Sends one text message to a connection.
    ///
    /// The message goes out at the end of this turn; if frames already wait for this connection, it goes out after
    /// them.
    ///
    /// - Parameters:
    ///   - frame: The message. The same frame may be sent to any number of connections of this event loop. Its bytes
    ///     must have been built at run time, because the library writes into its headroom.
    ///   - socket: The receiving connection.
    /// - Returns: The result (`lws_write`).
    @discardableResult
    package func send(_ frame: Frame, to socket: SocketID) -> SendOutcome {
        checkThread()
        return emit(WaitingFrame(frame, isPing: false), to: socket)
    }

    /// Sends a ping; the pong is reported by ``ServerDelegate/receivedPong(_:on:)``.
    ///
    /// - Parameters:
    ///   - socket: The receiving connection.
    ///   - payload: 1–125 bytes, without headroom. An empty payload is replaced by one byte, because the library does
    ///     not report empty pongs.
    /// - Returns: The result (`lws_write` with `LWS_WRITE_PING`).
    @discardableResult
    package func ping(_ socket: SocketID, payload: [UInt8] = []) -> SendOutcome {
        checkThread()
        let payload = payload.isEmpty ? [UInt8(ascii: "p")] : payload
        return emit(WaitingFrame(Frame(payload.prefix(125)), isPing: true), to: socket)
    }

    /// Closes a WebSocket connection with a code: queued frames go out first, then the close frame.
    ///
    /// A peer that does not receive and return the close frame within ``ServerConfiguration/closeTimeoutSeconds`` is
    /// cut off. ``ServerDelegate/closed(_:code:)`` is called later, never within this call.
    ///
    /// - Parameters:
    ///   - socket: The connection to close.
    ///   - code: RFC 6455 §7.4: 1000, 1001, 1003, 1007–1011 or 3000–4999.
    ///   - reason: At most 123 bytes of UTF-8; the rest is cut off.
    ///   - discardingQueue: Whether to drop the queued frames, for a peer that reads too slowly.
    package func close(_ socket: SocketID, code: UInt16, reason: String, discardingQueue: Bool = false) {
        checkThread()
        guard let slot = table.slot(of: socket), table[slot].phase == .open, let wsi = table[slot].wsi else {
            return
        }
        if discardingQueue {
            table[slot].queue.removeAll()
            table[slot].firstOut = -1
        } else {
            sendOut(slot)
            guard table[slot].phase == .open else { return }
        }
        beginClosing(wsi, slot, code: code, reason: reason)
    }

    /// Closes all open WebSocket connections, as ``close(_:code:reason:discardingQueue:)`` does.
    package func closeAll(code: UInt16, reason: String) {
        checkThread()
        for slot in table.rows.indices where table[slot].phase == .open {
            close(table.id(of: slot), code: code, reason: reason)
        }
    }

    /// Returns the number of bytes queued for this connection; 0 if it is gone.
    package func queuedBytes(on socket: SocketID) -> Int {
        checkThread()
        return table.slot(of: socket).map { table[$0].queue.bytes + waitingBytes($0) } ?? 0
    }

    private func beginClosing(_ wsi: OpaquePointer, _ slot: Int, code: UInt16, reason: String) {
        table[slot].phase = .closing
        table[slot].closeCode = code
        table[slot].partial = Self.closeReason(reason)
        closeDeadlines.add(table.id(of: slot), at: loopMilliseconds)
        startDeadlines()
        lws_callback_on_writable(wsi)
    }

    /// Returns at most 123 bytes of a reason, cut at a character boundary.
    private static func closeReason(_ reason: String) -> [UInt8] {
        var reason = reason[...]
        while reason.utf8.count > 123 { reason.removeLast() }
        return Array(reason.utf8)
    }

    // MARK: Out

    @inline(__always)
    private func emit(_ frame: WaitingFrame, to socket: SocketID) -> SendOutcome {
        guard let slot = table.slot(of: socket), table[slot].phase == .open, let wsi = table[slot].wsi else {
            return .gone
        }
        // Writing within the sender's turn saves another turn and an epoll_ctl: 7.4 instead of 15 µs a message.
        if table[slot].queue.isEmpty, lws_partial_buffered(wsi) == 0 {
            hold(frame, for: slot)
            return .written
        }
        guard table[slot].queue.bytes + frame.messageBytes <= configuration.maxQueueBytes else {
            return .overflow
        }
        table[slot].queue.append(frame)
        lws_callback_on_writable(wsi)
        return .queued
    }

    @inline(__always)
    func write(_ frame: WaitingFrame, _ wsi: OpaquePointer) -> Bool {
        let count = frame.messageBytes
        return frame.bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress, count >= 0 else { return true }
            // The library writes the header into the headroom. That is harmless: the same message always gets the same
            // header.
            let payload = UnsafeMutablePointer(mutating: base + Frame.headroom)
            return lws_write(wsi, payload, count, frame.isPing ? LWS_WRITE_PING : LWS_WRITE_TEXT) >= count
        }
    }

    /// Marks a connection whose write failed; the library notices the failure at its next event and reports it.
    func markBroken(_ slot: Int, _ wsi: OpaquePointer) {
        table[slot].phase = .closed
        table[slot].queue.removeAll()
        table[slot].firstOut = -1
        shutdown(lws_get_socket_fd(wsi), Int32(SHUT_RDWR))
    }

    func writable(_ wsi: OpaquePointer, _ slot: Int) -> Int32 {
        guard table[slot].phase == .open || table[slot].phase == .closing else { return 0 }
        while lws_partial_buffered(wsi) == 0, let frame = table[slot].queue.popFirst() {
            guard write(frame, wsi) else { return -1 }
        }
        if !table[slot].queue.isEmpty || lws_partial_buffered(wsi) != 0 {
            lws_callback_on_writable(wsi)
            return 0
        }
        guard table[slot].phase == .closing else { return 0 }
        setCloseReason(wsi, table[slot].closeCode, table[slot].partial)
        // Returning -1 would end the connection too. But if the library was built with assertions, as Debian's is, it
        // would then close twice under libuv ("repeat test"). The second close does not wait for the close frame to go
        // out.
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_SYNC)
        reportClosed(slot, table.id(of: slot))
        return 0
    }

    private func setCloseReason(_ wsi: OpaquePointer, _ code: UInt16, _ reason: [UInt8]) {
        var reason = reason
        reason.withUnsafeMutableBufferPointer { reason in
            lws_close_reason(wsi, lws_close_status(rawValue: UInt32(code)), reason.baseAddress, reason.count)
        }
    }

    // MARK: In

    func established(_ wsi: OpaquePointer, _ slot: Int, _ id: SocketID) -> Int32 {
        table[slot].wsi = wsi
        if table[slot].isTLS, let socket = table[slot].filtered?.socket { FilteredReads.set(false, wsi, on: socket) }
        endFiltering(slot)
        // Any pointer will do, because it is never dereferenced. Without a pointer, the library does not report when it
        // closes the connection itself.
        lws_set_wsi_user(wsi, id.opaque)
        if table[slot].phase == .admittedToClose {
            let reason = String(decoding: table[slot].partial, as: UTF8.self)
            beginClosing(wsi, slot, code: table[slot].closeCode, reason: reason)
            return 0
        }
        table[slot].phase = .open
        table[slot].wasOpened = true
        hasWorkedThisTurn = true
        delegate?.opened(id)
        return 0
    }

    func bytesReceived(
        _ wsi: OpaquePointer,
        _ slot: Int,
        _ id: SocketID,
        _ bytes: UnsafeRawBufferPointer
    ) -> Int32 {
        guard table[slot].phase == .open else { return 0 }
        if lws_frame_is_binary(wsi) != 0 { return fail(wsi, slot, 1003, "only text frames are supported") }
        // The announced length of a frame counts before its bytes arrive, but no memory is allocated for it.
        let collected = table[slot].partial.count + bytes.count
        guard
            lws_remaining_packet_payload(wsi) <= configuration.maxMessageBytes
                - min(collected, configuration.maxMessageBytes),
            collected <= configuration.maxMessageBytes
        else { return fail(wsi, slot, 1009, "message too long") }
        guard lws_is_final_fragment(wsi) != 0 else {
            table[slot].partial.append(contentsOf: bytes)
            return 0
        }
        hasWorkedThisTurn = true
        guard !table[slot].partial.isEmpty else {
            // Most messages arrive in one piece, which is passed to the delegate without being copied.
            guard isUTF8(bytes) else { return fail(wsi, slot, 1007, "invalid UTF-8") }
            delegate?.messageReceived(bytes.bytes, on: id)
            return 0
        }
        var message: [UInt8] = []
        swap(&message, &table[slot].partial)
        message.append(contentsOf: bytes)
        return message.withUnsafeBytes { message in
            guard isUTF8(message) else { return fail(wsi, slot, 1007, "invalid UTF-8") }
            delegate?.messageReceived(message.bytes, on: id)
            return 0
        }
    }

    /// Checks UTF-8; the library's own check accepts a character that is cut off by the end of a fragmented message.
    private func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do {
            _ = try UTF8Span(validating: Span(_bytes: bytes.bytes))
            return true
        } catch {
            return false
        }
    }

    /// Ends a WebSocket connection whose peer violated the protocol or a limit.
    private func fail(_ wsi: OpaquePointer, _ slot: Int, _ code: UInt16, _ reason: String) -> Int32 {
        // The frames that this turn has sent so far go out first.
        sendOut(slot)
        table[slot].closeCode = code
        setCloseReason(wsi, code, Array(reason.utf8))
        reportClosed(slot, table.id(of: slot))
        return -1
    }

    func pongReceived(_ slot: Int, _ id: SocketID, _ payload: UnsafeRawBufferPointer) -> Int32 {
        guard table[slot].phase == .open else { return 0 }
        hasWorkedThisTurn = true
        delegate?.receivedPong(payload.bytes, on: id)
        return 0
    }

    /// Reports a received ping, or several pings of which the library answers only one.
    func pingReceived(_ id: SocketID) {
        guard let slot = table.slot(of: id), table[slot].phase == .open else { return }
        hasWorkedThisTurn = true
        delegate?.receivedPing(on: id)
    }

    /// Handles a close by the library: the peer violated a rule that the library checks, or the connection broke.
    func libraryCloses(_ wsi: OpaquePointer, _ slot: Int, _ id: SocketID) {
        if table[slot].closeCode == 0, lws_get_close_length(wsi) >= 2, let payload = lws_get_close_payload(wsi) {
            table[slot].closeCode = UInt16(payload[0]) << 8 | UInt16(payload[1])
        }
        reportClosed(slot, id)
    }

    /// Handles the peer's close frame: the frames of this turn go out, then the library returns the close frame.
    func peerCloses(_ wsi: OpaquePointer, _ slot: Int, _ payload: UnsafeRawBufferPointer) -> Int32 {
        if payload.count == 1 { return fail(wsi, slot, 1002, "a close code must have two bytes") }
        if payload.count > 2, !isUTF8(UnsafeRawBufferPointer(rebasing: payload[2...])) {
            return fail(wsi, slot, 1007, "invalid UTF-8")
        }
        sendOut(slot)
        table[slot].closeCode = payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005
        reportClosed(slot, table.id(of: slot))
        return 0
    }
}
