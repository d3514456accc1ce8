import CallCore
import CallPorts
import CallWire

/// The presence of a user is reported to the connections that watch the user. While the user is in a live call, it is
/// also reported to the peer's Socket.IO connections, whose clients keep no cursor, even if they do not watch the user.
///
/// Only users who have been in touch with the user, by a call or a text, see the presence. To all others the user looks
/// offline.
extension Switchboard {
    mutating func watch(_ user: UserID, _ connection: Connection, id: SignalID?) {
        guard connections.watch(user, by: connection) else {
            let rule = "userId: at most \(SwitchboardLimits.watchedPerConnection) at a time"
            tell(exceeded(.presence, rule), id: id, to: connection)
            return
        }
        updateBond(of: connection)
        guard directory.contacts.areInTouch(connection.user, user) == nil else {
            replyToWatch(of: user, connection, id: id)
            return
        }
        queryPeers(.presence(connection.id, user, id), of: connection.user)
    }

    /// Watches the contacts of a connection's user, for an app that shows a list of contacts and does not ask for each
    /// of them.
    mutating func watchContacts(_ connection: Connection) {
        guard connection.isStateless else { return }
        if let peers = directory.contacts.peers(of: connection.user) {
            watch(peers.sorted(), by: connection)
        } else {
            queryPeers(.everybody(connection.id), of: connection.user)
        }
    }

    /// Asks again for the contacts of a connection's user if the store could not be read before.
    mutating func queryPeersAgain(of connection: Connection) {
        guard connection.awaitsContacts else { return }
        connection.awaitsContacts = false
        let reply: Contacts.PendingReply =
            connection.isStateless ? .everybody(connection.id) : .watchedPresence(connection.id)
        // Another connection of the user may have asked since then. A second query would discard the known contacts
        // until its result comes.
        if let peers = directory.contacts.peers(of: connection.user) {
            complete(reply, of: connection.user, knowing: peers.sorted())
        } else {
            queryPeers(reply, of: connection.user)
        }
    }

    private mutating func queryPeers(_ reply: Contacts.PendingReply, of user: UserID) {
        guard directory.contacts.addPending(reply, for: user) else { return }
        submit(.peers(user, limit: SwitchboardLimits.callsSearchedForPeers), for: .peers(user))
    }

    /// Handles the store's list of the users with whom a user has had calls; `nil` = the store could not be read.
    mutating func peersLoaded(_ peers: [UserID]?, of user: UserID) {
        let replies = directory.contacts.storeAnswered(peers, for: user)
        guard connections.isOnline(user) else {
            directory.contacts.forget(user)
            return
        }
        for reply in replies { complete(reply, of: user, knowing: peers) }
    }

    private mutating func complete(_ reply: Contacts.PendingReply, of user: UserID, knowing peers: [UserID]?) {
        guard let connection = connections[reply.connection] else { return }
        if peers == nil { connection.awaitsContacts = true }
        switch reply {
        case .presence(_, let peer, let signalID): replyToWatch(of: peer, connection, id: signalID)
        case .watchedPresence:
            for peer in connection.watched.sorted() where isOnline(peer, for: user) {
                turn.out.append(.send(connection.id, ServerFrame.presence(of: peer, isOnline: true)))
            }
        case .everybody:
            let known = peers ?? []
            watch(known + directory.contacts.texted(with: user).filter { !known.contains($0) }, by: connection)
        }
    }

    private mutating func watch(_ peers: [UserID], by connection: Connection) {
        for peer in peers.prefix(SwitchboardLimits.contactsPerConnection)
        where peer != connection.user && connections.watch(peer, by: connection) {
            guard isOnline(peer, for: connection.user) else { continue }
            turn.out.append(.send(connection.id, ServerFrame.presence(of: peer, isOnline: true)))
        }
    }

    private mutating func replyToWatch(of user: UserID, _ connection: Connection, id: SignalID?) {
        let isOnline = isOnline(user, for: connection.user)
        turn.out.append(.send(connection.id, ServerFrame.presence(of: user, isOnline: isOnline)))
        if let id { turn.out.append(.send(connection.id, ServerFrame.ack(id: id, isOnline: isOnline))) }
    }

    /// Whether a user is online, as `asker` may see it.
    ///
    /// To an asker who was never in touch with the user, or whom the user has blocked, the user looks offline.
    private func isOnline(_ user: UserID, for asker: UserID) -> Bool {
        connections.isOnline(user) && maySeePresence(of: user, asker)
    }

    private func maySeePresence(of user: UserID, _ asker: UserID) -> Bool {
        directory.contacts.areInTouch(asker, user) == true && !directory.isBlocked(asker, by: user)
    }

    /// Records that two users get in touch: from now on each of them may see the other's presence.
    mutating func noteContact(_ user: UserID, _ peer: UserID, byText: Bool = false) {
        let isKnown = directory.contacts.areInTouch(user, peer) == true
        let isKnownToPeer = directory.contacts.areInTouch(peer, user) == true
        if isKnown, isKnownToPeer { return }
        if byText { directory.contacts.texted(user, peer) } else { directory.contacts.recordCall(user, peer) }
        if !isKnown, directory.contacts.areInTouch(user, peer) == true { tellNewContact(user, of: peer) }
        if !isKnownToPeer, directory.contacts.areInTouch(peer, user) == true { tellNewContact(peer, of: user) }
    }

    /// Reports to a user that a new contact is online.
    private mutating func tellNewContact(_ watcher: UserID, of watched: UserID) {
        for connection in connections.of(watcher) where connection.isStateless {
            _ = connections.watch(watched, by: connection)
        }
        guard isOnline(watched, for: watcher) else { return }
        let frame = ServerFrame.presence(of: watched, isOnline: true)
        for connection in connections.watchers(of: watched) where connection.user == watcher {
            turn.out.append(.send(connection.id, frame))
        }
    }

    /// Reports that a user's first connection was opened, or the last one closed.
    mutating func tellPresence(of user: UserID, isOnline: Bool) {
        var receivers = connections.watchers(of: user).filter { maySeePresence(of: user, $0.user) }
        for call in calls.live(of: user) {
            let peer = call.key.pair.other(than: user)
            guard peer != user, call.side(of: peer) != nil else { continue }
            // Clients of `/ws` receive presence only for the users that they watch.
            for connection in connections.of(peer) where connection.isStateless {
                if !receivers.contains(where: { $0 === connection }) { receivers.append(connection) }
            }
        }
        guard !receivers.isEmpty else { return }
        let frame = ServerFrame.presence(of: user, isOnline: isOnline)
        for connection in receivers where !directory.isBlocked(connection.user, by: user) {
            turn.out.append(.send(connection.id, frame))
        }
    }

    /// Reports presence after a user has blocked or unblocked another user, who sees the first user go offline or come
    /// online.
    mutating func sendPresenceAfterBlock(by user: UserID, of other: UserID, isHidden: Bool) {
        if connections.isOnline(user), directory.contacts.areInTouch(other, user) == true {
            let frame = ServerFrame.presence(of: user, isOnline: !isHidden)
            for connection in connections.watchers(of: user) where connection.user == other {
                turn.out.append(.send(connection.id, frame))
            }
        }
        let key = RoomKey.pair(Pair(user, other))
        for connection in connections.members(of: key) where connection.user == user {
            for member in connections.members(of: key) where member.user == other {
                tell(member, of: connection, in: key, !isHidden)
            }
        }
    }
}
