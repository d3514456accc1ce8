import CallCore
import CallPorts

/// The open connections: by number, by user, by the rooms in which they are present and by the users that they watch.
struct ConnectionRegistry {
    /// The connections by number: the compiler specializes no dictionary whose keys have a type of another module.
    private var byID: [UInt64: Connection] = [:]
    /// The connections of each user, oldest first.
    private var byUser: [UserID: [Connection]] = [:]
    /// The connections present in each room, in the order in which they entered.
    private var rooms: [RoomKey: [Connection]] = [:]
    /// The connections that watch a user's presence.
    private var watchers: [UserID: [Connection]] = [:]
    /// The connections of services that watch the timelines of calls, oldest watch first.
    private(set) var timelineWatchers: [Connection] = []
    /// The number of connections when the server began to shut down; `nil` before.
    private var drainedCount: Int?

    var count: Int { byID.count }

    /// All connections, in the order in which they were opened.
    var all: [Connection] { byID.values.sorted { $0.id.rawValue < $1.id.rawValue } }

    @inline(__always)
    subscript(id: SocketID) -> Connection? { byID[id.rawValue] }

    /// Returns a user's connections, oldest first.
    @inline(__always)
    func of(_ user: UserID) -> [Connection] { byUser[user] ?? [] }

    /// Whether a user has a connection.
    func isOnline(_ user: UserID) -> Bool { byUser[user] != nil }

    mutating func insert(_ connection: Connection) {
        byID[connection.id.rawValue] = connection
        byUser[connection.user, default: []].append(connection)
    }

    /// Removes a connection from the lists by number and by user; the connection stays in its rooms, and keeps
    /// watching.
    mutating func remove(_ id: SocketID) -> Connection? {
        guard let connection = byID.removeValue(forKey: id.rawValue) else { return nil }
        byUser.remove(connection, from: connection.user)
        return connection
    }

    // MARK: Shutting down

    /// Whether the server is shutting down.
    var isDraining: Bool { drainedCount != nil }

    /// The number of connections when the server began to shut down; 0 before.
    var drained: Int { drainedCount ?? 0 }

    /// Records that the server begins to shut down.
    mutating func drain() { drainedCount = count }

    // MARK: Rooms

    /// The number of rooms in which any connection is present.
    var roomCount: Int { rooms.count }

    /// Returns the connections present in a room, in the order in which they entered.
    func members(of room: RoomKey) -> [Connection] { rooms[room] ?? [] }

    /// Adds a connection to a room, under the name by which it knows the room.
    mutating func enter(_ room: RoomKey, _ connection: Connection, as name: String) {
        connection.rooms[room] = name
        rooms[room, default: []].append(connection)
    }

    /// Removes a connection from a room; returns whether it was present.
    mutating func leave(_ room: RoomKey, _ connection: Connection) -> Bool {
        connection.rooms[room] = nil
        return rooms.remove(connection, from: room)
    }

    // MARK: Watching

    /// The number of users that are watched.
    var watchedCount: Int { watchers.count }

    /// Returns the connections that watch a user.
    func watchers(of user: UserID) -> [Connection] { watchers[user] ?? [] }

    /// Adds a user to those that a connection watches; returns `false` if the connection already watches as many users
    /// as it may.
    mutating func watch(_ user: UserID, by connection: Connection) -> Bool {
        if connection.watched.contains(user) { return true }
        guard connection.watched.count < SwitchboardLimits.watchedPerConnection else { return false }
        connection.watched.insert(user)
        watchers[user, default: []].append(connection)
        return true
    }

    /// Ends all watching by a connection.
    mutating func watchNobody(_ connection: Connection) {
        for user in connection.watched { watchers.remove(connection, from: user) }
        connection.watched = []
    }

    /// Begins to send a connection the timeline events of calls.
    mutating func beginWatch(_ watch: TimelineWatch, by connection: Connection) {
        connection.watch = watch
        timelineWatchers.append(connection)
    }

    /// Ends what ``beginWatch(_:by:)`` began.
    mutating func endWatch(by connection: Connection) {
        guard connection.watch != nil else { return }
        connection.watch = nil
        timelineWatchers.removeAll { $0 === connection }
    }
}

extension Dictionary where Value == [Connection] {
    /// Removes a connection from the list under a key, and the list if it becomes empty; returns whether the list
    /// contained the connection.
    @discardableResult
    fileprivate mutating func remove(_ connection: Connection, from key: Key) -> Bool {
        guard let place = self[key]?.firstIndex(where: { $0 === connection }) else { return false }
        self[key]?.remove(at: place)
        if self[key]?.isEmpty == true { self[key] = nil }
        return true
    }
}
