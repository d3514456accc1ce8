import CallCore
import DequeModule

/// With whom users have had a call or a text: only they may know when a user comes and goes (protocol, section 9).
///
/// Calls are in the store's history, which is asked once for each user who wants to know anything; what happens from
/// then on is added. Texts are kept nowhere: which pairs exchanged the last ones is remembered here, until a restart.
struct Acquaintances {
    /// What a user waits for while the store is asked.
    enum Wish {
        /// The answer to a question whether a user is online; with the `id` of the question.
        case presence(SessionID, UserID, SignalID?)
        /// News of those whom it watches, after the store could not be read.
        case news(SessionID)
        /// News of all of them, for an app with a list of contacts, which does not ask.
        case everybody(SessionID)

        /// The session that waits.
        var session: SessionID {
            switch self {
            case .presence(let id, _, _), .news(let id), .everybody(let id): id
            }
        }
    }

    private enum Known {
        case asked([Wish], met: Set<UserID>)
        case peers(Set<UserID>)
    }

    /// The acquaintances of each user who has a session and asked for the presence of others.
    private var known: [UserID: Known] = [:]
    /// Pairs that have exchanged a text, oldest first, and the same by user.
    private var texts: Deque<Pair> = []
    private var texted: [UserID: Set<UserID>] = [:]
    /// How many of those are remembered.
    static let mostTexts = 16_384

    /// Whether two users are known to have been in touch; `nil` = the store must be asked.
    func are(_ user: UserID, _ peer: UserID) -> Bool? {
        if user == peer { return true }
        if texted[user]?.contains(peer) == true { return true }
        switch known[user] {
        case nil: return nil
        case .asked(_, let met): return met.contains(peer) ? true : nil
        case .peers(let peers): return peers.contains(peer)
        }
    }

    /// The peers of a user, once the store has said so.
    func peers(of user: UserID) -> Set<UserID>? {
        guard case .peers(let peers) = known[user] else { return nil }
        return peers
    }

    /// Those with whom a user has exchanged a text.
    func texted(with user: UserID) -> [UserID] { (texted[user] ?? []).sorted() }

    /// Lets a wish wait for the store; returns whether the store is still to be asked.
    mutating func wait(_ wish: Wish, of user: UserID) -> Bool {
        guard case .asked(let wishes, let met) = known[user] else {
            known[user] = .asked([wish], met: [])
            return true
        }
        known[user] = .asked(wishes + [wish], met: met)
        return false
    }

    /// Takes the store's answer (`nil` = it could not be read), and hands back what waited for it.
    mutating func learn(_ peers: [UserID]?, of user: UserID) -> [Wish] {
        guard case .asked(let wishes, let met) = known[user] else { return [] }
        known[user] = peers.map { .peers(met.union($0).union(texted[user] ?? [])) }
        return wishes
    }

    /// Two users have a call.
    mutating func met(_ a: UserID, _ b: UserID) {
        for (user, peer) in [(a, b), (b, a)] {
            switch known[user] {
            case nil: break
            case .asked(let wishes, let met): known[user] = .asked(wishes, met: met.union([peer]))
            case .peers(var peers):
                guard !peers.contains(peer) else { continue }
                known[user] = nil
                peers.insert(peer)
                known[user] = .peers(peers)
            }
        }
    }

    /// Two users exchange a text.
    mutating func texted(_ a: UserID, _ b: UserID) {
        guard texted[a]?.contains(b) != true else { return }
        met(a, b)
        texts.append(Pair(a, b))
        texted[a, default: []].insert(b)
        texted[b, default: []].insert(a)
        guard texts.count > Self.mostTexts, let oldest = texts.popFirst() else { return }
        for (user, peer) in [(oldest.low, oldest.high), (oldest.high, oldest.low)] {
            texted[user]?.remove(peer)
            if texted[user]?.isEmpty == true { texted[user] = nil }
        }
    }

    /// A user has no session any more.
    ///
    /// A question under way goes on, and what happens meanwhile is added: whoever comes back before it is answered
    /// would else take this answer, which knows nothing of that, for the one to a later question.
    mutating func forget(_ user: UserID) {
        if case .asked(_, let met) = known[user] { known[user] = .asked([], met: met) } else { known[user] = nil }
    }
}
