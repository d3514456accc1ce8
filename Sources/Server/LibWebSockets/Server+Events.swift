internal import CLibwebsockets
import CallPorts
internal import Glibc

/// The library's events for its connections.
extension Server {
    /// - Returns: The library's result code: 0 to continue, -1 to end the connection.
    func libraryReported(
        _ wsi: OpaquePointer,
        _ reason: lws_callback_reasons,
        _ user: UnsafeMutableRawPointer?,
        _ bytes: UnsafeMutableRawPointer?,
        _ count: Int
    ) -> Int32 {
        if reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS {
            guard let user else { return 0 }
            certificateHolder.watch(for: user)
            return clws_harden_tls(user) == 1 && ticketKeys.share(with: user) ? 0 : -1
        }
        guard let id = SocketID(opaque: lws_get_opaque_user_data(wsi)), let slot = table.slot(of: id) else {
            return 0
        }
        switch reason {
        case LWS_CALLBACK_RECEIVE:
            return bytesReceived(wsi, slot, id, UnsafeRawBufferPointer(start: bytes, count: count))
        case LWS_CALLBACK_SERVER_WRITEABLE: return writable(wsi, slot)
        case LWS_CALLBACK_RECEIVE_PONG:
            return pongReceived(slot, id, UnsafeRawBufferPointer(start: bytes, count: count))
        case LWS_CALLBACK_HTTP: return requestBegan(wsi, slot)
        case LWS_CALLBACK_HTTP_BIND_PROTOCOL: transactionCompleted(slot)
        case LWS_CALLBACK_HTTP_BODY:
            return bodyReceived(wsi, slot, UnsafeRawBufferPointer(start: bytes, count: count))
        case LWS_CALLBACK_HTTP_BODY_COMPLETION: return bodyCompleted(wsi, slot)
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return upgradeAsked(wsi, slot, id, bytes)
        case LWS_CALLBACK_ESTABLISHED: return established(wsi, slot, id)
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            return peerCloses(wsi, slot, UnsafeRawBufferPointer(start: bytes, count: count))
        case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL: libraryCloses(wsi, slot, id)
        case LWS_CALLBACK_RAW_ADOPT, LWS_CALLBACK_RAW_RX:
            // The library makes a tunnel of a CONNECT, whose bytes nobody reads and which no deadline ends.
            return clwsReturnHTTPStatus(wsi, HTTP_STATUS_FORBIDDEN.rawValue, nil) == 0 ? 0 : -1
        case LWS_CALLBACK_CLOSED, LWS_CALLBACK_CLOSED_HTTP: reportClosed(slot, id)
        case LWS_CALLBACK_WSI_DESTROY:
            reportClosed(slot, id)
            forget(slot)
        default: break
        }
        return 0
    }

    /// Reports to the delegate, once, that a connection has ended.
    ///
    /// The report comes as soon as the connection can cause no more events, without waiting for the peer's close frame.
    func reportClosed(_ slot: Int, _ id: SocketID) {
        let row = table[slot]
        guard row.phase != .closed || row.wasOpened else { return }
        let awaited = row.phase == .pending ? table.requestID(of: slot) : nil
        table[slot].phase = .closed
        table[slot].wasOpened = false
        table[slot].serial = 0
        table[slot].exchange = nil
        table[slot].queue.removeAll()
        table[slot].firstOut = -1
        table[slot].partial = []
        if row.wasOpened || row.phase == .admitted {
            hasWorkedThisTurn = true
            delegate?.closed(id, code: row.closeCode == 0 ? nil : row.closeCode)
        }
        if let awaited {
            hasWorkedThisTurn = true
            delegate?.abandoned(awaited)
        }
    }

    /// Ends a connection by force, for example after a missed deadline; not from within one of its own callbacks.
    func abort(_ slot: Int) {
        guard let wsi = table[slot].wsi else { return }
        // The library would wait until its buffered bytes are sent; on a shut-down socket, sending them fails at once.
        if lws_partial_buffered(wsi) != 0 { shutdown(lws_get_socket_fd(wsi), Int32(SHUT_RDWR)) }
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_SYNC)
    }
}
