import CallCore
import CallPorts

/// The events that wait for an owner, and how much of them is whose: one client must not take the room of all others.
struct WaitingEvents {
    /// The events, in order; `nil` = the event was removed.
    private var events: [SocketEvent?] = []
    /// The places of each socket's events in `events`, in order.
    private var places: [SocketID: [Int]] = [:]
    /// The number of events that were removed from `events`.
    private var removed = 0
    /// The bytes of all events.
    private(set) var bytes = 0
    private var bytesOfUsers: [UserID: Int] = [:]
    private var bytesOfSocketIO = 0
    private var bytesOfRequests = 0

    /// Whether an event may wait; `socket` = the state of its socket, `nil` for a request.
    ///
    /// An event is admitted while its sender's share is not used up, so that a message of the largest size always fits
    /// once. The end of a socket or of a request always waits: without it, the next owner would keep them open.
    func admits(_ event: SocketEvent, of socket: AttachedSocket?) -> Bool {
        switch event {
        case .closed, .abandoned, .tooSlow, .ponged, .signOfLife: return true
        case .requested: return bytesOfRequests < NodeLimits.waitingRequests
        case .opened, .openedSocketIO, .received:
            guard let socket, socket.waitingBytes < NodeLimits.waitingEventsOfSocket else { return false }
            guard let user = socket.principal?.user else { return bytesOfSocketIO < NodeLimits.waitingSocketIO }
            return bytesOfUsers[user, default: 0] < NodeLimits.waitingEventsOfUser
        }
    }

    /// Adds an event; `user` = the user of its socket, `nil` for a request or a Socket.IO session.
    mutating func append(_ event: SocketEvent, of user: UserID?) {
        if let socket = event.socket { places[socket, default: []].append(events.count) }
        events.append(event)
        count(event.size, of: event, user)
    }

    /// Removes the events of a socket that this node has closed: its client sends again what it had sent.
    mutating func remove(_ socket: SocketID, of user: UserID?) {
        for place in places.removeValue(forKey: socket) ?? [] {
            guard let event = events[place] else { continue }
            count(-event.size, of: event, user)
            events[place] = nil
            removed += 1
        }
        // Each removal pays for its own part, so a client that is refused again and again costs no search through all.
        if removed > events.count / 2 { compact() }
    }

    /// Drops the places of the events that were removed.
    private mutating func compact() {
        events.removeAll { $0 == nil }
        removed = 0
        places.removeAll(keepingCapacity: true)
        for (place, event) in events.enumerated() {
            if let socket = event?.socket { places[socket, default: []].append(place) }
        }
    }

    /// Removes and returns all events.
    mutating func takeAll() -> [SocketEvent] {
        defer { self = WaitingEvents() }
        return events.compactMap(\.self)
    }

    private mutating func count(_ size: Int, of event: SocketEvent, _ user: UserID?) {
        bytes += size
        if event.socket == nil {
            bytesOfRequests += size
        } else if let user {
            let sum = bytesOfUsers[user, default: 0] + size
            bytesOfUsers[user] = sum > 0 ? sum : nil
        } else {
            bytesOfSocketIO += size
        }
    }
}
