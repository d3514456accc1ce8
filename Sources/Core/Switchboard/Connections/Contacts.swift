import CallCore
import CallPorts
import DequeModule

/// The pairs of users that have had a call or exchanged a text: only they may see each other's presence (protocol,
/// section 3.9).
///
/// The store's history holds the calls, and is asked once for each user that asks about presence; later calls are added
/// here. Texts are not stored: the last pairs that exchanged one are remembered here, until a restart.
struct Contacts {
    /// A reply that a connection awaits until the store has found the contacts of its user.
    enum PendingReply {
        /// The reply to a frame that asks whether a user is online, with the `id` of the frame.
        case presence(SocketID, UserID, SignalID?)
        /// The presence of the users that the connection watches. When the connection asked for it, the store could not
        /// be read.
        case watchedPresence(SocketID)
        /// The presence of all contacts, for an app that shows a list of contacts and does not ask for each of them.
        case everybody(SocketID)

        /// The connection that waits.
        var connection: SocketID {
            switch self {
            case .presence(let id, _, _), .watchedPresence(let id), .everybody(let id): id
            }
        }
    }

    private enum Known {
        case loading([PendingReply], met: Set<UserID>)
        case loaded(Set<UserID>)
    }

    /// The contacts of each user that has a connection and asked for the presence of others.
    private var known: [UserID: Known] = [:]
    /// The pairs that have exchanged a text, oldest first; `texted` holds the same pairs by user.
    private var texts: Deque<Pair> = []
    private var texted: [UserID: Set<UserID>] = [:]

    /// Whether two users are known to have been in touch; `nil` = the store must be asked.
    func areInTouch(_ user: UserID, _ peer: UserID) -> Bool? {
        if user == peer { return true }
        if texted[user]?.contains(peer) == true { return true }
        switch known[user] {
        case nil: return nil
        case .loading(_, let met): return met.contains(peer) ? true : nil
        case .loaded(let peers): return peers.contains(peer)
        }
    }

    /// Returns the contacts of a user, once the store has found them; `nil` before.
    func peers(of user: UserID) -> Set<UserID>? {
        guard case .loaded(let peers) = known[user] else { return nil }
        return peers
    }

    /// Returns the users with whom a user has exchanged a text.
    func texted(with user: UserID) -> [UserID] { (texted[user] ?? []).sorted() }

    /// Makes a reply wait for the store; returns whether the store must still be asked.
    mutating func addPending(_ reply: PendingReply, for user: UserID) -> Bool {
        guard case .loading(let replies, let met) = known[user] else {
            known[user] = .loading([reply], met: [])
            return true
        }
        known[user] = .loading(replies + [reply], met: met)
        return false
    }

    /// Records the peers that the store has found (`nil` = the store could not be read), and returns the replies that
    /// waited for them.
    mutating func storeAnswered(_ peers: [UserID]?, for user: UserID) -> [PendingReply] {
        guard case .loading(let replies, let met) = known[user] else { return [] }
        known[user] = peers.map { .loaded(met.union($0).union(texted[user] ?? [])) }
        return replies
    }

    /// Records that two users have a call.
    mutating func recordCall(_ a: UserID, _ b: UserID) {
        for (user, peer) in [(a, b), (b, a)] {
            switch known[user] {
            case nil: break
            case .loading(let replies, let met): known[user] = .loading(replies, met: met.union([peer]))
            case .loaded(var peers):
                guard !peers.contains(peer) else { continue }
                known[user] = nil
                peers.insert(peer)
                known[user] = .loaded(peers)
            }
        }
    }

    /// Records that two users exchange a text.
    mutating func texted(_ a: UserID, _ b: UserID) {
        guard texted[a]?.contains(b) != true else { return }
        recordCall(a, b)
        texts.append(Pair(a, b))
        texted[a, default: []].insert(b)
        texted[b, default: []].insert(a)
        guard texts.count > SwitchboardLimits.textedPairs, let oldest = texts.popFirst() else { return }
        for (user, peer) in [(oldest.low, oldest.high), (oldest.high, oldest.low)] {
            texted[user]?.remove(peer)
            if texted[user]?.isEmpty == true { texted[user] = nil }
        }
    }

    /// Forgets the contacts of a user that has no connection left.
    ///
    /// A query under way stays open, and contacts made meanwhile are still added. Without this, if the user reconnected
    /// before the query's result came, that result would pass for the result of a later query, and would lack those
    /// contacts.
    mutating func forget(_ user: UserID) {
        if case .loading(_, let met) = known[user] { known[user] = .loading([], met: met) } else { known[user] = nil }
    }
}
