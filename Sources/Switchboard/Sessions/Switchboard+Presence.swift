import CallCore
import CallWire

/// Who is online: told to those who asked, and to those who share a live call; never to everybody.
extension Switchboard {
    /// Users that one session may watch.
    private static let watchedPerSession = 256

    func watch(_ user: UserID, _ session: Session, id: SignalID?) {
        if !session.watched.contains(user) {
            guard session.watched.count < Self.watchedPerSession else {
                tell(
                    WireError(.rateLimited, "userId: at most \(Self.watchedPerSession) at a time"),
                    id: id,
                    to: session
                )
                return
            }
            session.watched.insert(user)
            watchers[user, default: []].append(session)
        }
        let isOnline = isOnline(user, for: session.user)
        out.append(.send(session.id, ServerFrame.presence(of: user, isOnline: isOnline)))
        if let id { out.append(.send(session.id, ServerFrame.ack(id: id, isOnline: isOnline))) }
    }

    /// Whoever is blocked sees nobody come or go.
    private func isOnline(_ user: UserID, for asker: UserID) -> Bool {
        sessionsByUser[user] != nil && !directory.blocks(asker, user)
    }

    func watchNobody(_ session: Session) {
        for user in session.watched {
            watchers[user]?.removeAll { $0 === session }
            if watchers[user]?.isEmpty == true { watchers[user] = nil }
        }
        session.watched = []
    }

    /// A user's first session came, or the last one went.
    func tellPresence(of user: UserID, isOnline: Bool) {
        var told = watchers[user] ?? []
        for call in calls.live(of: user) {
            let peer = call.key.pair.other(than: user)
            guard peer != user, call.session.side(of: peer) != nil else { continue }
            // Clients of `/ws` see by the call's state who is gone, and hear of presence only where they ask.
            for session in sessionsByUser[peer] ?? [] where session.keepsNoPlace {
                if !told.contains(where: { $0 === session }) { told.append(session) }
            }
        }
        guard !told.isEmpty else { return }
        let frame = ServerFrame.presence(of: user, isOnline: isOnline)
        for session in told where !directory.blocks(session.user, user) { out.append(.send(session.id, frame)) }
    }
}
