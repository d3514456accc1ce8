import CallCore

/// The open connections: by number, by user, by the rooms in which they are present and by the users that they watch.
struct ConnectionRegistry {
    private var byID: [SessionID: Session] = [:]
    /// The connections of each user, oldest first.
    private var byUser: [UserID: [Session]] = [:]
    /// The connections present in each room, in the order in which they entered.
    private var rooms: [RoomKey: [Session]] = [:]
    /// The connections that watch a user's presence.
    private var watchers: [UserID: [Session]] = [:]
    /// The number of connections when the server began to shut down; `nil` before.
    private var drainedCount: Int?

    var count: Int { byID.count }

    /// All connections, in the order in which they were opened.
    var all: [Session] { byID.values.sorted { $0.id.rawValue < $1.id.rawValue } }

    @inline(__always)
    subscript(id: SessionID) -> Session? { byID[id] }

    /// Returns a user's connections, oldest first.
    @inline(__always)
    func of(_ user: UserID) -> [Session] { byUser[user] ?? [] }

    /// Whether a user has a connection.
    func isOnline(_ user: UserID) -> Bool { byUser[user] != nil }

    mutating func insert(_ session: Session) {
        byID[session.id] = session
        byUser[session.user, default: []].append(session)
    }

    /// Removes a connection from the lists by number and by user; it stays in its rooms, and keeps watching.
    mutating func remove(_ id: SessionID) -> Session? {
        guard let session = byID.removeValue(forKey: id) else { return nil }
        byUser.remove(session, from: session.user)
        return session
    }

    // MARK: Shutting down

    /// Whether the server shuts down.
    var isDraining: Bool { drainedCount != nil }

    /// The number of connections when the server began to shut down.
    var drained: Int { drainedCount ?? 0 }

    /// Records that the server begins to shut down.
    mutating func drain() { drainedCount = count }

    // MARK: Rooms

    /// The number of rooms in which any connection is present.
    var roomCount: Int { rooms.count }

    /// Returns the connections present in a room, in the order in which they entered.
    func members(of room: RoomKey) -> [Session] { rooms[room] ?? [] }

    /// Adds a connection to a room, under the name by which it knows the room.
    mutating func enter(_ room: RoomKey, _ session: Session, as name: String) {
        session.rooms[room] = name
        rooms[room, default: []].append(session)
    }

    /// Removes a connection from a room; returns whether it was present.
    mutating func leave(_ room: RoomKey, _ session: Session) -> Bool {
        session.rooms[room] = nil
        return rooms.remove(session, from: room)
    }

    // MARK: Watching

    /// The number of users that are watched.
    var watchedCount: Int { watchers.count }

    /// Returns the connections that watch a user.
    func watchers(of user: UserID) -> [Session] { watchers[user] ?? [] }

    /// Adds a user to those that a connection watches; returns `false` if it already watches as many as it may.
    mutating func watch(_ user: UserID, by session: Session) -> Bool {
        if session.watched.contains(user) { return true }
        guard session.watched.count < SwitchboardLimits.watchedPerSession else { return false }
        session.watched.insert(user)
        watchers[user, default: []].append(session)
        return true
    }

    /// Ends all watching by a connection.
    mutating func watchNobody(_ session: Session) {
        for user in session.watched { watchers.remove(session, from: user) }
        session.watched = []
    }
}

extension Dictionary where Value == [Session] {
    /// Removes a connection from the list under a key, and the list if it becomes empty; returns whether it was there.
    @discardableResult
    fileprivate mutating func remove(_ session: Session, from key: Key) -> Bool {
        guard let place = self[key]?.firstIndex(where: { $0 === session }) else { return false }
        self[key]?.remove(at: place)
        if self[key]?.isEmpty == true { self[key] = nil }
        return true
    }
}
