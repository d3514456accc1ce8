import CallCore
import CallWire
import DequeModule
import LibWebSockets
import SocketIO
import Switchboard

/// One Engine.IO session: its state machine, and the objects that it is attached to.
final class Engine {
    var session: SocketSession
    /// The switchboard's id of the session.
    let id: SessionID
    /// The device that the handshake's address names.
    let device: DeviceID?
    /// The bearer of the token that was verified last.
    var who: Who?
    /// The user among whose sessions it counts until it joins; `nil` if it counts as unidentified, in `share`.
    let guarantor: UserID?
    /// The share of the client's address.
    let share: AddressShare
    /// The session's WebSocket, once it has one.
    var connection: ConnectionID? {
        didSet { board?.note(session.sid, hasSocket: connection != nil) }
    }
    /// The table in which other loops look the session up, if there are other loops.
    fileprivate(set) var board: EngineBoard?
    /// Whether the switchboard was notified of the session.
    var isJoined = false
    /// The key under which its cursors are remembered.
    var place: Places.Key?
    var needsTurn = false

    init(session: SocketSession, id: SessionID, _ beginning: EngineKnock.Beginning) {
        self.session = session
        self.id = id
        who = beginning.who
        device = beginning.device
        guarantor = beginning.who?.user
        share = beginning.share
    }
}

/// The reason why an unidentified session was closed.
enum DroppedStrangers: String, CaseIterable {
    /// Another session needed its place.
    case crowded = "socketio"
    /// Places were short, and it took too long to identify itself.
    case late = "socketio_slow"
}

/// All Engine.IO sessions, indexed by each of their ids.
struct EngineTable {
    /// The state that other loops need of these sessions, if there are other loops.
    var board: EngineBoard?
    private(set) var bySID: [String: Engine] = [:]
    private(set) var byID: [SessionID: Engine] = [:]
    var byConnection: [ConnectionID: Engine] = [:]
    /// The sessions of the requests that wait for their answer.
    var byRequest: [ExchangeID: Engine] = [:]
    /// The WebSockets that were admitted and are not open yet, each for an existing session or a new one.
    var admitted: [ConnectionID: AdmittedSocket] = [:]
    /// The sessions that need `SocketSession.Input.turned` at the end of the turn.
    var unturned: [Engine] = []
    var places = Places()
    private var checks = Deque<(at: Moment, sid: String)>()
    private var last: UInt64 = 0

    enum AdmittedSocket {
        case upgrade(Engine)
        case new(EngineKnock.Beginning)
    }

    /// How often a session's deadlines are checked.
    private static let checkEvery = Moment.Span.seconds(5)

    /// Returns a new session id that no connection has: a connection's id ends in a slot, which is below 2^31.
    mutating func makeID() -> SessionID {
        last += 1
        return SessionID(rawValue: (last >> 31) << 32 | 1 << 31 | last & ((1 << 31) - 1))
    }

    /// Returns whether a session id can belong to an Engine.IO session.
    static func mayHold(_ id: SessionID) -> Bool { id.rawValue & 1 << 31 != 0 }

    /// The sessions that have not identified themselves.
    private var strangers = Newcomers<SessionID>()
    /// The number of each user's sessions with a good token that have not joined.
    private(set) var unjoined: [UserID: Int] = [:]

    /// The session to be closed when there are too many unidentified ones.
    var strangerTooMany: Engine? {
        strangers.count > SocketIOLimits.strangers ? strangers.first.flatMap { byID[$0] } : nil
    }

    /// Returns a session that has taken too long to identify itself, while many have not.
    func lateStranger(at now: Moment) -> Engine? {
        guard strangers.count > SocketIOLimits.strangers / 2 else { return nil }
        let since = now.milliseconds - Int64(SocketIOLimits.hurriedConnectMilliseconds)
        return strangers.oldest(since: UInt64(clamping: since)).flatMap { byID[$0] }
    }

    /// Counts a session that has not joined yet.
    private mutating func wait(_ engine: Engine, at now: Moment) {
        if let user = engine.guarantor {
            count(user, 1)
        } else {
            strangers.insert(engine.id, of: engine.share, at: UInt64(clamping: now.milliseconds))
        }
    }

    /// Stops counting a session that has joined or is gone.
    private mutating func waitNoMore(_ engine: Engine) {
        if let user = engine.guarantor { count(user, -1) } else { strangers.remove(engine.id) }
    }

    private mutating func count(_ user: UserID, _ more: Int) {
        let count = (unjoined[user] ?? 0) + more
        unjoined[user] = count == 0 ? nil : count
        board?.note(unjoined: count, of: user)
    }

    mutating func insert(_ engine: Engine, at now: Moment) {
        bySID[engine.session.sid] = engine
        byID[engine.id] = engine
        if let board {
            engine.board = board
            board.note(engine.session.sid, hasSocket: engine.connection != nil)
        }
        wait(engine, at: now)
        checks.append((now + Self.checkEvery, engine.session.sid))
    }

    mutating func join(_ engine: Engine) {
        engine.isJoined = true
        waitNoMore(engine)
    }

    mutating func remove(_ engine: Engine) {
        guard bySID.removeValue(forKey: engine.session.sid) != nil else { return }
        byID[engine.id] = nil
        if let connection = engine.connection { byConnection[connection] = nil }
        if !engine.isJoined { waitNoMore(engine) }
        if let board {
            engine.board = nil
            board.remove(engine.session.sid)
        }
    }

    /// When the next session is to be checked.
    var nextCheck: Moment? { checks.first?.at }

    /// Returns the sessions whose deadlines are to be checked, and plans their next check.
    mutating func due(at now: Moment) -> [Engine] {
        var due: [Engine] = []
        while let check = checks.first, check.at <= now {
            checks.removeFirst()
            guard let engine = bySID[check.sid] else { continue }
            due.append(engine)
            if let key = engine.place { places.keep(key, at: now) }
            // All checks are planned with the same delay, so the one appended last is due last.
            checks.append((now + Self.checkEvery, check.sid))
        }
        if !due.isEmpty { places.prune(at: now) }
        return due
    }
}

/// The cursors of devices that keep no cursors themselves, for when they connect again.
///
/// They are in memory only: after a restart such a device gets its live calls again.
struct Places {
    struct Key: Hashable {
        let user: UserID
        let device: DeviceID
    }

    /// How long a device's cursors are remembered after its last session.
    private static let keptFor = Moment.Span.seconds(600)

    private var all: [Key: (seen: [LogName: UInt64], at: Moment)] = [:]
    private var prunedAt = Moment(milliseconds: 0)

    func seen(by key: Key) -> [LogName: UInt64] { all[key]?.seen ?? [:] }

    mutating func note(_ news: [LogName: UInt64], by key: Key, at now: Moment) {
        var seen = seen(by: key)
        seen.merge(news) { max($0, $1) }
        if seen.count > SocketIOLimits.rememberedLogs { seen = news }
        all[key] = (seen, now)
    }

    /// Keeps the cursors of a device whose session is still open.
    mutating func keep(_ key: Key, at now: Moment) { all[key]?.at = now }

    mutating func prune(at now: Moment) {
        guard now >= prunedAt + .seconds(60) else { return }
        prunedAt = now
        all = all.filter { now < $0.value.at + Self.keptFor }
    }
}
