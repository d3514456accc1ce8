import CallCore
import CallWire

/// A call as the switchboard keeps it: the session that decides, and the bytes and timers around it.
final class Call {
    var session: CallSession
    /// The room as the caller named it.
    let room: String
    /// How every frame of the call begins.
    private let logHead: LogHead
    /// The caller's name as it is shown.
    var displayName: String?
    /// What CallKit knows the call by.
    let uuid: String
    /// Why the callee is not told of it.
    let hidden: CallRecord.Hidden?
    /// Whether the callee was in another call when this one came.
    let isWaiting: Bool
    /// The frames as they are relayed, each at the place of its entry in the session's log.
    var frames: [[UInt8]] = []
    /// The devices that are, or were, to be woken.
    var pushes: [DeviceID: DevicePush] = [:]
    /// Whether its callee has asked not to be disturbed while it rang.
    var isSilenced = false
    /// Requests that wait for the next entry.
    var polls: [RequestID] = []
    /// What its timeline holds.
    var timeline = TimelineBound()
    /// How many entries of its log were counted towards their users' quotas.
    var countedEntries = 0
    /// Bytes of its timeline that were not counted yet.
    var uncountedBytes = 0
    /// By which ways the caller's newest offer has come: some apps send it by both.
    var offerWays: Set<Source.Way> = []
    /// The newest answer to the call before under this name: it may come once more, by a slower way.
    var earlierAnswer: UInt64?
    /// The signals that were taken under its name and begin, answer and end nothing when they come again.
    var taken = TakenSignals()
    /// Pushes of it that are under way.
    var openPushes = 0
    /// When it was last taken up from rest, or kept from it.
    var takenUpAt: Moment?
    /// For when the heap holds a timer for it.
    var scheduledAt: Moment?
    /// Whether its record must be kept anew.
    var isDirty = false

    init(
        session: CallSession,
        room: String,
        displayName: String?,
        hidden: CallRecord.Hidden?,
        isWaiting: Bool
    ) {
        self.session = session
        self.room = room
        logHead = LogHead(LogName(callID: session.key.id, room: room, epoch: session.epoch))
        self.displayName = displayName
        self.uuid = UUIDv5.call(session.key.id, epoch: session.epoch)
        self.hidden = hidden
        self.isWaiting = isWaiting
    }

    var number: CallNumber { session.number }
    var key: CallKey { session.key }

    /// Whether the newest offer is still to come by a way, if its app sends it by both.
    func offerHasComeOnlyBy(other way: Source.Way) -> Bool { !offerWays.isEmpty && !offerWays.contains(way) }

    /// Which log is its.
    var logName: LogName { LogName(callID: key.id, room: room, epoch: session.epoch) }

    /// When it ended; `nil` while it lives.
    var endedAt: Moment? {
        if case .ended(let ending, _) = session.phase { ending.at } else { nil }
    }

    /// When the switchboard must look at it again.
    func deadline(fetchableFor: Moment.Span) -> Moment? {
        var next =
            endedAt.map { min(max($0, takenUpAt ?? $0) + Switchboard.restsAfter, $0 + fetchableFor) }
            ?? session.deadline
        for push in pushes.values {
            guard let retry = push.retryAt else { continue }
            next = next.map { min($0, retry) } ?? retry
        }
        return next
    }

    func user(on side: Side) -> UserID { side == .caller ? session.caller : session.callee }

    /// Where an entry of its log stands.
    func place(of entry: LogEntry) -> LogPlace {
        LogPlace(in: logHead, seq: entry.seq, at: entry.at)
    }
}
