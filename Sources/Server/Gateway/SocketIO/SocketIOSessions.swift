import CallCore
import CallPorts
import CallWire
import DequeModule
import LibWebSockets
import SocketIO
import Switchboard

/// All Socket.IO sessions, indexed by each of their ids.
struct SocketIOSessions {
    /// The state of these sessions that every loop needs.
    let index = SessionIndex()
    private(set) var bySID: [String: SocketIOSession] = [:]
    private(set) var byID: [SocketID: SocketIOSession] = [:]
    var bySocket: [SocketID: SocketIOSession] = [:]
    /// The sessions of the requests that wait for their response.
    var byRequest: [RequestID: SocketIOSession] = [:]
    /// The sessions that need `SocketSession.Input.turnEnded` at the end of the turn.
    var needingTurnEnd: [SocketIOSession] = []
    var cursors = ReplayCursors()
    private var checks = Deque<(at: Moment, sid: String)>()
    private var last: UInt64 = 0

    /// How often a session's deadlines are checked.
    private static let checkEvery = Moment.Duration.seconds(5)

    /// Returns a new session id.
    ///
    /// The id has bit 31 set, which is 0 in every `SocketID`.
    mutating func makeID() -> SocketID {
        last += 1
        return SocketID(rawValue: (last >> 31) << 32 | 1 << 31 | last & ((1 << 31) - 1))
    }

    /// Returns whether a connection id can belong to a Socket.IO session.
    static func isSocketIO(_ id: SocketID) -> Bool { id.rawValue & 1 << 31 != 0 }

    /// The sessions that are not authenticated.
    private var unauthenticated = UnauthenticatedQueue<SocketID>()

    /// The session to be closed next; `nil` unless there are too many unauthenticated sessions.
    var excessUnauthenticated: SocketIOSession? {
        unauthenticated.count > SocketIOLimits.unauthenticated ? unauthenticated.first.flatMap { byID[$0] } : nil
    }

    /// Returns a session that has taken too long to authenticate; `nil` unless more than half of the places for
    /// unauthenticated sessions are taken.
    func lateUnauthenticated(at now: Moment) -> SocketIOSession? {
        guard unauthenticated.count > SocketIOLimits.unauthenticated / 2 else { return nil }
        let since = now.milliseconds - Int64(SocketIOLimits.shortConnectMilliseconds)
        return unauthenticated.oldest(since: UInt64(clamping: since)).flatMap { byID[$0] }
    }

    /// Counts a session that has not joined yet.
    private mutating func countUnjoined(_ session: SocketIOSession, at now: Moment) {
        if let user = session.countedUser {
            index.count(1, unjoinedOf: user)
        } else {
            unauthenticated.insert(session.id, of: session.clientNetwork, at: UInt64(clamping: now.milliseconds))
        }
    }

    /// Stops counting a session as not joined: it has joined or is gone.
    private mutating func uncountUnjoined(_ session: SocketIOSession) {
        if let user = session.countedUser {
            index.count(-1, unjoinedOf: user)
        } else {
            unauthenticated.remove(session.id)
        }
    }

    mutating func insert(_ session: SocketIOSession, at now: Moment) {
        bySID[session.machine.sid] = session
        byID[session.id] = session
        session.index = index
        index.note(session.machine.sid, hasSocket: session.socket != nil)
        countUnjoined(session, at: now)
        checks.append((now + Self.checkEvery, session.machine.sid))
    }

    mutating func join(_ session: SocketIOSession) {
        session.isJoined = true
        uncountUnjoined(session)
    }

    mutating func remove(_ session: SocketIOSession) {
        guard bySID.removeValue(forKey: session.machine.sid) != nil else { return }
        byID[session.id] = nil
        if let socket = session.socket { bySocket[socket] = nil }
        if !session.isJoined { uncountUnjoined(session) }
        session.index = nil
        index.remove(session.machine.sid)
    }

    /// The earliest deadline of a session.
    var nextCheck: Moment? { checks.first?.at }

    /// Returns the sessions whose deadlines are due, and plans their next check.
    mutating func due(at now: Moment) -> [SocketIOSession] {
        var due: [SocketIOSession] = []
        while let check = checks.first, check.at <= now {
            checks.removeFirst()
            guard let session = bySID[check.sid] else { continue }
            due.append(session)
            if let key = session.cursorKey { cursors.keep(key, at: now) }
            // All checks are planned with the same delay, so the check appended last is due last.
            checks.append((now + Self.checkEvery, check.sid))
        }
        if !due.isEmpty { cursors.prune(at: now) }
        return due
    }
}
