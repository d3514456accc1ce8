internal import CLibwebsockets
package import CallPorts
internal import Glibc
internal import Threads

/// Unauthenticated connections: any client can open many of them.
///
/// Each of these connections holds headers, a socket and entries in tables until its deadlines end it. So there is a
/// limited number of places for them. When the places or the sockets run short, a new connection replaces another one:
/// the oldest connection of the network that has the most unauthenticated connections (``UnauthenticatedQueue``).
/// Authenticated connections are never dropped, and neither are those of listeners that were added with
/// ``addListener(host:port:id:)``.
extension Server {
    /// Marks the connection of a request as authenticated; the server no longer drops it to make room.
    package func markAuthenticated(for request: RequestID) {
        checkThread()
        if let slot = table.slot(of: request) { markAuthenticated(slot) }
    }

    /// The largest number of unauthenticated connections.
    ///
    /// Authenticated connections need headers too, for their next requests. Besides, for each connection that it
    /// closes, the library walks lists of all headers and sockets. With shorter lists, the library keeps up with a
    /// client that opens many connections.
    private var maximumUnauthenticated: Int { max(1, configuration.maxHandshakes / 2) }

    /// The largest number of dropped connections that may be closing at a time; their sockets are closed at the end of
    /// the turn.
    static let mostLeaving = 16

    /// Whether there is no socket for another connection; `leaving` sockets are about to be closed and do not count.
    func isFull(leaving: Int) -> Bool {
        table.count - leaving >= maxConnections || allowance.map { $0.isUsedUp(leaving: leaving) } ?? false
    }

    /// Whether more than half of the places are taken; then unauthenticated connections have the shorter
    /// `authenticationTimeout`.
    var areUnauthenticatedMany: Bool { unauthenticated.count > maximumUnauthenticated / 2 }

    /// The time limit for authentication when there are many unauthenticated connections, in milliseconds.
    ///
    /// 5 s are enough for a handshake over a bad network. When more than three quarters of the places are taken, the
    /// limit is 2 s.
    private var authenticationTimeout: UInt64 { unauthenticated.count > maximumUnauthenticated / 4 * 3 ? 2_000 : 5_000 }

    func welcome(_ slot: Int, _ id: SocketID) {
        let peer = table[slot].peer
        let isProxy = configuration.trustedProxies.contains { $0.contains(peer) }
        table[slot].isProxy = isProxy
        table[slot].isUnauthenticated = true
        wait(slot, id)
        if unauthenticated.count > maximumUnauthenticated { dropUnauthenticated(for: .handshakes) }
        if areUnauthenticatedMany { startDeadlines() }
    }

    /// Removes a connection from the unauthenticated connections: it has been authenticated, or it is gone.
    func markAuthenticated(_ slot: Int) {
        guard table[slot].isUnauthenticated else { return }
        table[slot].isUnauthenticated = false
        unauthenticated.remove(table.id(of: slot))
    }

    private func wait(_ slot: Int, _ id: SocketID) {
        let network = table[slot].isProxy ? ClientNetwork(alone: id) : ClientNetwork(table[slot].peer)
        unauthenticated.insert(id, of: network, at: loopMilliseconds)
    }

    func dropUnauthenticated(for reason: DroppedUnauthenticated.Reason) {
        for _ in 0..<4 {
            guard let id = unauthenticated.first else { return }
            if drop(id, for: reason) { return }
        }
    }

    func dropLateUnauthenticated(at now: UInt64) {
        // Dropping a connection costs a walk through the library's lists. So one check drops at most 500, and the next
        // check drops more.
        for _ in 0..<500 where areUnauthenticatedMany {
            // When a connection came above the limit, those that had sent nothing were spared. They may have begun to
            // send.
            if unauthenticated.count > maximumUnauthenticated, let id = unauthenticated.first {
                drop(id, for: .handshakes)
            } else if let id = unauthenticated.oldest(since: now - min(now, authenticationTimeout)) {
                drop(id, for: .slow)
            }
        }
    }

    /// Returns the number of bytes received from a peer (`tcpi_bytes_received`).
    ///
    /// The C library's structure does not have this field yet. Returns 1 if the kernel does not report the field.
    private static func bytesReceived(from socket: Int32) -> UInt64 {
        withUnsafeTemporaryAllocation(byteCount: 136, alignment: 8) { info in
            var length = socklen_t(info.count)
            guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &length) == 0,
                Int(length) == info.count
            else { return 1 }
            return info.load(fromByteOffset: 128, as: UInt64.self)
        }
    }

    /// Drops a connection, unless it has sent nothing yet.
    ///
    /// A connection that has sent nothing holds only its socket, and no place for a handshake. When thousands of
    /// clients connect at the same time, after a restart, most of them are connected for a while before they can send
    /// anything. Such connections are considered again later, and the library's handshake timeout applies to them. When
    /// sockets are short (`connections`), a connection is dropped even if it has sent nothing.
    @discardableResult
    private func drop(_ id: SocketID, for reason: DroppedUnauthenticated.Reason) -> Bool {
        unauthenticated.remove(id)
        guard let slot = table.slot(of: id), let wsi = table[slot].wsi else { return false }
        if reason != .connections {
            let hasSpoken = Self.bytesReceived(from: lws_get_socket_fd(wsi)) > 0
            // The request may be complete but not read yet. So a connection is dropped only in a later turn than the
            // one in which its first bytes were noticed.
            let isHalf = hasSpoken && (reason == .slow || table[slot].firstBytesAt < loopMilliseconds)
            if hasSpoken { table[slot].firstBytesAt = min(table[slot].firstBytesAt, loopMilliseconds) }
            guard isHalf else {
                wait(slot, id)
                return false
            }
        }
        table[slot].isUnauthenticated = false
        table[slot].isBeingDropped = true
        droppedStillOpen += 1
        dropped.count(reason)
        delegate?.dropped(id, reason)
        abort(slot)
        return true
    }
}

/// The numbers of unauthenticated connections that were dropped to make room; readable from any thread.
package final class DroppedUnauthenticated: Sendable {
    /// The reason why a connection was dropped.
    package enum Reason: String, CaseIterable, Sendable {
        /// No socket was left.
        case connections
        /// No place for a handshake was left.
        case handshakes
        /// More than half of the places were taken, and the connection took too long to authenticate.
        case slow
    }

    private let counts = Monitor<[Reason: UInt64]>([:])

    /// The number of connections dropped for this reason.
    package subscript(reason: Reason) -> UInt64 { counts.withLock { $0[reason] ?? 0 } }

    func count(_ reason: Reason) { counts.withLock { $0[reason, default: 0] += 1 } }
}
