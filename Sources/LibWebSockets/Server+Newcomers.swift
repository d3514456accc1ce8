internal import CLibwebsockets
internal import Glibc
internal import Threads

/// Connections of whom nobody knows yet who they are: anybody can make many of them.
///
/// Each holds headers, a socket, a place in tables, for as long as the deadlines let it. So there are places for some, and
/// when these or the sockets are short, a connection that comes takes the place of another: of the oldest of the address that has
/// the most (``Newcomers``). Whoever was vouched for is left alone; so is the operator's listener.
extension Server {
    /// The owner knows who asks: from now on this connection is nobody's to end but its own.
    public func vouch(for exchange: ExchangeID) {
        checkThread()
        if let slot = table.slot(of: exchange) { vouch(slot) }
    }

    /// How many there may be.
    ///
    /// A connection that was vouched for needs headers too, for its next request. And the library walks lists of all headers and
    /// sockets for each connection that it closes: with fewer of them it keeps up with whoever makes many.
    private var mostNewcomers: Int { max(1, configuration.maxHandshakes / 2) }

    /// How many of them may be ending at a time: their sockets are closed at the end of the turn.
    static let mostLeaving = 16

    /// Whether there is no socket for another connection, `leaving` sockets apart that are about to be closed.
    func isFull(besides leaving: Int) -> Bool {
        table.count - leaving >= maxConnections || allowance.map { $0.isUsedUp(besides: leaving) } ?? false
    }

    /// Whether deadlines are shorter: from half of the places on.
    var areNewcomersMany: Bool { newcomers.count > mostNewcomers / 2 }

    /// How long one may take to say who it is when there are many, in milliseconds: a handshake over a bad network.
    private var newcomersLife: UInt64 { newcomers.count > mostNewcomers / 4 * 3 ? 2_000 : 5_000 }

    func welcome(_ slot: Int, _ id: ConnectionID) {
        let peer = table[slot].peer
        let isProxy = configuration.trustedProxies.contains { $0.contains(peer) }
        table[slot].isProxy = isProxy
        table[slot].isNewcomer = true
        wait(slot, id)
        if newcomers.count > mostNewcomers { dropNewcomer(for: .handshakes) }
        if areNewcomersMany { startDeadlines() }
    }

    /// It is known who it is, or it is gone.
    func vouch(_ slot: Int) {
        guard table[slot].isNewcomer else { return }
        table[slot].isNewcomer = false
        newcomers.remove(table.id(of: slot))
    }

    private func wait(_ slot: Int, _ id: ConnectionID) {
        let share = table[slot].isProxy ? AddressShare(alone: id) : AddressShare(table[slot].peer)
        newcomers.insert(id, of: share, at: loopMilliseconds)
    }

    func dropNewcomer(for reason: DroppedNewcomers.Reason) {
        for _ in 0..<4 {
            guard let id = newcomers.first else { return }
            if drop(id, for: reason) { return }
        }
    }

    func dropLateNewcomers(at now: UInt64) {
        // Each costs a walk through the library's lists: the rest goes the next time.
        for _ in 0..<500 where areNewcomersMany {
            // Those that were silent when they came may have begun to speak.
            if newcomers.count > mostNewcomers, let id = newcomers.first {
                drop(id, for: .handshakes)
            } else if let id = newcomers.oldest(since: now - min(now, newcomersLife)) {
                drop(id, for: .slow)
            }
        }
    }

    /// How many bytes have come from a peer (`tcpi_bytes_received`, which the C library's structure does not have yet).
    private static func bytesReceived(from socket: Int32) -> UInt64 {
        withUnsafeTemporaryAllocation(byteCount: 136, alignment: 8) { info in
            var length = socklen_t(info.count)
            guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &length) == 0,
                Int(length) == info.count
            else { return 1 }
            return info.load(fromByteOffset: 128, as: UInt64.self)
        }
    }

    /// Ends one, unless it takes nothing but its socket: one that has said nothing yet has no place for a handshake.
    ///
    /// When thousands come at once, after a restart, most of them are connected for a while before they get to say something. They
    /// are asked about again later, and have the library's deadline.
    @discardableResult
    private func drop(_ id: ConnectionID, for reason: DroppedNewcomers.Reason) -> Bool {
        newcomers.remove(id)
        guard let slot = table.slot(of: id), let wsi = table[slot].wsi else { return false }
        if reason != .connections {
            let hasSpoken = Self.bytesReceived(from: lws_get_socket_fd(wsi)) > 0
            // Its request may be whole and not read yet: it has until the next turn.
            let isHalf = hasSpoken && (reason == .slow || table[slot].spokeAt < loopMilliseconds)
            if hasSpoken { table[slot].spokeAt = min(table[slot].spokeAt, loopMilliseconds) }
            guard isHalf else {
                wait(slot, id)
                return false
            }
        }
        table[slot].isNewcomer = false
        table[slot].isLeaving = true
        leaving += 1
        dropped.count(reason)
        cut(slot)
        return true
    }
}

/// How many connections had to make room before anybody knew who they were; any thread may ask.
public final class DroppedNewcomers: Sendable {
    /// For whose sake, or why.
    public enum Reason: String, CaseIterable, Sendable {
        /// There was no socket left.
        case connections
        /// There was no place left for a handshake.
        case handshakes
        /// Places were short, and it took too long.
        case slow
    }

    private let counts = Locked<[Reason: UInt64]>([:])

    /// How many for this reason.
    public subscript(reason: Reason) -> UInt64 { counts.withLock { $0[reason] ?? 0 } }

    func count(_ reason: Reason) { counts.withLock { $0[reason, default: 0] += 1 } }
}
