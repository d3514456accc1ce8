import CallCore
import CallPorts
import CallWire

/// Presence: reported to users that asked, and to Socket.IO clients that share a live call; only among users who have
/// been in touch.
///
/// Two users have been in touch once there was a call or a text between them. To all others a user looks offline.
extension Switchboard {
    mutating func watch(_ user: UserID, _ session: Session, id: SignalID?, at now: Moment) {
        guard connections.watch(user, by: session) else {
            tell(
                WireError(.rateLimited, "userId: at most \(SwitchboardLimits.watchedPerSession) at a time"),
                id: id,
                to: session
            )
            return
        }
        guard acquaintances.are(session.user, user) == nil else {
            answerWatch(of: user, session, id: id)
            return
        }
        askForPeers(.presence(session.id, user, id), of: session.user, at: now)
    }

    /// Watches a user's acquaintances for an app with a list of contacts that does not ask for each one.
    mutating func watchContacts(_ session: Session, at now: Moment) {
        guard session.keepsNoPlace else { return }
        if let peers = acquaintances.peers(of: session.user) {
            watch(peers.sorted(), by: session)
        } else {
            askForPeers(.everybody(session.id), of: session.user, at: now)
        }
    }

    /// Asks again for the acquaintances of a connection's user if the store could not be read before.
    mutating func askAgainForPeers(of session: Session, at now: Moment) {
        guard session.hasUnknownPeers else { return }
        session.hasUnknownPeers = false
        let wish: Acquaintances.Wish = session.keepsNoPlace ? .everybody(session.id) : .news(session.id)
        // Another connection of the user may have asked since. Asking again would discard the known answer meanwhile.
        if let peers = acquaintances.peers(of: session.user) {
            grant(wish, of: session.user, knowing: peers.sorted())
        } else {
            askForPeers(wish, of: session.user, at: now)
        }
    }

    private mutating func askForPeers(_ wish: Acquaintances.Wish, of user: UserID, at now: Moment) {
        guard acquaintances.wait(wish, of: user) else { return }
        ask(.peers(user, limit: SwitchboardLimits.callsSearchedForPeers), for: .peers(user), at: now)
    }

    /// Handles the store's list of the users with whom a user has had calls; `nil` = the store could not be read.
    mutating func learned(_ peers: [UserID]?, of user: UserID) {
        let wishes = acquaintances.learn(peers, of: user)
        guard connections.isOnline(user) else {
            acquaintances.forget(user)
            return
        }
        for wish in wishes { grant(wish, of: user, knowing: peers) }
    }

    private mutating func grant(_ wish: Acquaintances.Wish, of user: UserID, knowing peers: [UserID]?) {
        guard let session = connections[wish.session] else { return }
        if peers == nil { session.hasUnknownPeers = true }
        switch wish {
        case .presence(_, let peer, let name): answerWatch(of: peer, session, id: name)
        case .news:
            for peer in session.watched.sorted() where isOnline(peer, for: user) {
                turn.out.append(.send(session.id, ServerFrame.presence(of: peer, isOnline: true)))
            }
        case .everybody:
            let known = peers ?? []
            watch(known + acquaintances.texted(with: user).filter { !known.contains($0) }, by: session)
        }
    }

    private mutating func watch(_ peers: [UserID], by session: Session) {
        for peer in peers.prefix(SwitchboardLimits.contactsPerSession)
        where peer != session.user && connections.watch(peer, by: session) {
            guard isOnline(peer, for: session.user) else { continue }
            turn.out.append(.send(session.id, ServerFrame.presence(of: peer, isOnline: true)))
        }
    }

    private mutating func answerWatch(of user: UserID, _ session: Session, id: SignalID?) {
        let isOnline = isOnline(user, for: session.user)
        turn.out.append(.send(session.id, ServerFrame.presence(of: user, isOnline: isOnline)))
        if let id { turn.out.append(.send(session.id, ServerFrame.ack(id: id, isOnline: isOnline))) }
    }

    /// Whether a user is online, as `asker` may see it.
    ///
    /// To an asker who was never in touch with the user, or whom the user has blocked, the user looks offline.
    private func isOnline(_ user: UserID, for asker: UserID) -> Bool {
        connections.isOnline(user) && mayKnow(of: user, asker)
    }

    private func mayKnow(of user: UserID, _ asker: UserID) -> Bool {
        acquaintances.are(asker, user) == true && !directory.blocks(asker, user)
    }

    /// Records that two users get in touch: from now on each of them may see the other's presence.
    mutating func getInTouch(_ user: UserID, _ peer: UserID, byText: Bool = false) {
        if acquaintances.are(user, peer) == true, acquaintances.are(peer, user) == true { return }
        let strangers = [(user, peer), (peer, user)].filter { acquaintances.are($0.0, $0.1) != true }
        if byText { acquaintances.texted(user, peer) } else { acquaintances.met(user, peer) }
        for (watcher, watched) in strangers where acquaintances.are(watcher, watched) == true {
            for session in connections.of(watcher) where session.keepsNoPlace {
                _ = connections.watch(watched, by: session)
            }
            guard isOnline(watched, for: watcher) else { continue }
            let frame = ServerFrame.presence(of: watched, isOnline: true)
            for session in connections.watchers(of: watched) where session.user == watcher {
                turn.out.append(.send(session.id, frame))
            }
        }
    }

    /// Reports that a user's first connection was opened, or the last one closed.
    mutating func tellPresence(of user: UserID, isOnline: Bool) {
        var told = connections.watchers(of: user).filter { mayKnow(of: user, $0.user) }
        for call in calls.live(of: user) {
            let peer = call.key.pair.other(than: user)
            guard peer != user, call.session.side(of: peer) != nil else { continue }
            // Clients of `/ws` see in the call's state who is gone, and receive presence only for the users that they
            // watch.
            for session in connections.of(peer) where session.keepsNoPlace {
                if !told.contains(where: { $0 === session }) { told.append(session) }
            }
        }
        guard !told.isEmpty else { return }
        let frame = ServerFrame.presence(of: user, isOnline: isOnline)
        for session in told where !directory.blocks(session.user, user) { turn.out.append(.send(session.id, frame)) }
    }

    /// Reports presence after a user has blocked or unblocked another one: the other one sees the user go offline or
    /// come online.
    mutating func hide(_ user: UserID, from other: UserID, _ isHidden: Bool) {
        if connections.isOnline(user), acquaintances.are(other, user) == true {
            let frame = ServerFrame.presence(of: user, isOnline: !isHidden)
            for session in connections.watchers(of: user) where session.user == other {
                turn.out.append(.send(session.id, frame))
            }
        }
        let key = RoomKey.pair(Pair(user, other))
        for session in connections.members(of: key) where session.user == user {
            for member in connections.members(of: key) where member.user == other {
                tell(member, of: session, in: key, !isHidden)
            }
        }
    }
}
