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
        newcomers.insert(id, of: isProxy ? AddressShare(alone: id) : AddressShare(peer), at: loopMilliseconds)
        if newcomers.count > mostNewcomers { dropNewcomer(for: .handshakes) }
        if areNewcomersMany { startDeadlines() }
    }

    /// It is known who it is, or it is gone.
    func vouch(_ slot: Int) {
        guard table[slot].isNewcomer else { return }
        table[slot].isNewcomer = false
        newcomers.remove(table.id(of: slot))
    }

    func dropNewcomer(for reason: DroppedNewcomers.Reason) {
        if let id = newcomers.first { drop(id, for: reason) }
    }

    func dropLateNewcomers(at now: UInt64) {
        while areNewcomersMany, let id = newcomers.oldest(since: now - min(now, newcomersLife)) {
            drop(id, for: .slow)
        }
    }

    private func drop(_ id: ConnectionID, for reason: DroppedNewcomers.Reason) {
        newcomers.remove(id)
        guard let slot = table.slot(of: id) else { return }
        table[slot].isNewcomer = false
        table[slot].isLeaving = true
        leaving += 1
        dropped.count(reason)
        cut(slot)
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
