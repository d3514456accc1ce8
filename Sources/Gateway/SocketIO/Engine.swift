import CallCore
import CallWire
import DequeModule
import LibWebSockets
import SocketIO
import Switchboard

/// One Engine.IO session: the machine, and what it is attached to.
final class Engine {
    var session: SocketSession
    /// As the switchboard knows it.
    let id: SessionID
    /// The device that the address names.
    let device: DeviceID?
    /// Whose token was verified last.
    var who: Who?
    /// Among whose sessions it counts until it joins; `nil` among the strangers of `share`.
    let guarantor: UserID?
    /// Where it comes from.
    let share: AddressShare
    /// Its WebSocket, once it has one.
    var connection: ConnectionID? {
        didSet { board?.note(session.sid, hasSocket: connection != nil) }
    }
    /// Where other loops look it up, if there are any.
    fileprivate(set) var board: EngineBoard?
    /// Whether the switchboard was told of it.
    var isJoined = false
    /// Under which its place in logs is remembered.
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

/// Why a session of which nobody knew who it was had to go.
enum DroppedStrangers: String, CaseIterable {
    /// There was no place for another one.
    case crowded = "socketio"
    /// Places were short, and it took too long.
    case late = "socketio_slow"
}

/// Every Engine.IO session, by all that leads to it.
struct EngineTable {
    /// What other loops know of these, if there are any.
    var board: EngineBoard?
    private(set) var bySID: [String: Engine] = [:]
    private(set) var byID: [SessionID: Engine] = [:]
    var byConnection: [ConnectionID: Engine] = [:]
    /// Requests that wait for their answer.
    var byRequest: [ExchangeID: Engine] = [:]
    /// WebSockets that were let in and are not open yet: to be a session's, or to begin one.
    var admitted: [ConnectionID: AdmittedSocket] = [:]
    /// Those that have something to say once all that came together has been handed in.
    var unturned: [Engine] = []
    var places = Places()
    private var checks = Deque<(at: Moment, sid: String)>()
    private var last: UInt64 = 0

    enum AdmittedSocket {
        case upgrade(Engine)
        case new(EngineKnock.Beginning)
    }

    /// How often a session's deadlines are looked at.
    private static let checkEvery = Moment.Span.seconds(5)

    /// A number for the switchboard that no connection has: theirs end in a slot, which is below 2^31.
    mutating func makeID() -> SessionID {
        last += 1
        return SessionID(rawValue: (last >> 31) << 32 | 1 << 31 | last & ((1 << 31) - 1))
    }

    /// Whether a session may be one of these.
    static func mayHold(_ id: SessionID) -> Bool { id.rawValue & 1 << 31 != 0 }

    /// Those that have not said who they are.
    private var strangers = Newcomers<SessionID>()
    /// How many of each user's have a good token and have not joined.
    private(set) var unjoined: [UserID: Int] = [:]

    /// Who has to go when there is one too many.
    var strangerTooMany: Engine? {
        strangers.count > SocketIOLimits.strangers ? strangers.first.flatMap { byID[$0] } : nil
    }

    /// Who has taken too long to say who it is, when many have not.
    func lateStranger(at now: Moment) -> Engine? {
        guard strangers.count > SocketIOLimits.strangers / 2 else { return nil }
        let since = now.milliseconds - Int64(SocketIOLimits.hurriedConnectMilliseconds)
        return strangers.oldest(since: UInt64(clamping: since)).flatMap { byID[$0] }
    }

    /// It has not joined yet.
    private mutating func wait(_ engine: Engine, at now: Moment) {
        if let user = engine.guarantor {
            count(user, 1)
        } else {
            strangers.insert(engine.id, of: engine.share, at: UInt64(clamping: now.milliseconds))
        }
    }

    /// It has joined, or is gone.
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

    /// When the next one is to be looked at.
    var nextCheck: Moment? { checks.first?.at }

    /// Those whose deadlines are to be looked at.
    mutating func due(at now: Moment) -> [Engine] {
        var due: [Engine] = []
        while let check = checks.first, check.at <= now {
            checks.removeFirst()
            guard let engine = bySID[check.sid] else { continue }
            due.append(engine)
            if let key = engine.place { places.keep(key, at: now) }
            // All wait for the same time: whoever is appended last is due last.
            checks.append((now + Self.checkEvery, check.sid))
        }
        if !due.isEmpty { places.prune(at: now) }
        return due
    }
}

/// How far the logs of calls have reached devices that keep no place themselves: for when they connect again.
///
/// In memory only: after a restart such a device gets its live calls once more.
struct Places {
    struct Key: Hashable {
        let user: UserID
        let device: DeviceID
    }

    /// For how long a device's place is remembered once it has no session.
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

    /// A device's session is still open.
    mutating func keep(_ key: Key, at now: Moment) { all[key]?.at = now }

    mutating func prune(at now: Moment) {
        guard now >= prunedAt + .seconds(60) else { return }
        prunedAt = now
        all = all.filter { now < $0.value.at + Self.keptFor }
    }
}
