import CallCore
import CallPorts
import CallWire

/// A call in the switchboard: the state machine that decides, with its frames, pushes and timers.
///
/// Swift checks at run time that no two accesses to a class's property overlap, and copies a value before it calls one
/// of the value's methods. So the facts that every signal needs are not read from ``session``: ``identity`` never
/// changes, and ``isLive`` is a mere flag.
final class Call {
    private(set) var session: CallSession
    let identity: CallIdentity
    /// Whether the call has not ended.
    private(set) var isLive: Bool
    /// The room as the caller named it.
    let room: String
    /// The JSON members by which every frame of the call names its log.
    let encodedLogIdentity: EncodedLogIdentity
    /// The caller's displayed name; `nil` = neither the offer nor the caller's token has one.
    var displayName: String?
    /// The UUID by which CallKit identifies the call.
    let uuid: String
    /// Why the call is hidden from the callee; `nil` = it is shown.
    let hidden: CallRecord.Hidden?
    /// Whether the callee was in another call when this call began.
    let isWaiting: Bool
    /// The ring of a schedule that the call is; `nil` = a user's device has begun the call.
    let scheduled: ScheduledRing?
    /// The frames as they are relayed, each at the index of its entry in the log.
    var frames = KeptFrames()
    /// The entries that are not shown yet.
    var withheld = WithheldEntries()
    /// Whether the call rings as soon as its offer is shown.
    var ringsWhenShown = false
    /// The offer at an index of the log, as the pushes need it; `nil` = no push has needed it, or the ringing is over.
    var parsedOffer: (index: Int, object: RelayedObject)?
    /// The pushes of the call, by device.
    var pushes: [DeviceID: DevicePush] = [:]
    /// Whether the callee set do-not-disturb while the call rang.
    var wasSilencedByDoNotDisturb = false
    /// The devices that get no notice of a missed call: their user has blocked the caller in the system's settings, or
    /// the called user is not signed in there.
    ///
    /// They are not stored: after a restart such a device may be notified of a missed call.
    var unnoticedDevices: Set<DeviceID> = []
    /// The requests that wait for the next entry.
    var polls: [RequestID] = [] { didSet { hasPolls = !polls.isEmpty } }
    /// Whether ``polls`` has any: each signal asks, and to read a flag needs no check at run time.
    private(set) var hasPolls = false
    /// The bound on the call's timeline.
    var timeline = TimelineBound()
    /// The number of log entries that were counted towards the quotas of the two users.
    var countedEntries = 0
    /// The bytes of the timeline that were not counted towards the caller's quota yet.
    var uncountedBytes = 0
    /// The transports by which the caller's newest offer has come: some apps send it both by request and by connection.
    var offerTransports: Source.Transports = []
    /// The digest of the newest answer to the previous call under this callId; `nil` = there is none.
    ///
    /// That answer may come a second time, by a slower transport.
    var earlierAnswer: UInt64?
    /// The accepted signals of the callId that must have no effect when they are resent.
    var acceptedSignals = AcceptedSignals()
    /// The number of the call's pushes that are under way.
    var openPushes = 0
    /// When the ended call was last loaded from the store; `nil` = never.
    ///
    /// If the call had to stay in memory although it was due to be put to rest, this is a moment that lets it be due again
    /// soon.
    var loadedAt: Moment?
    /// The moment of the call's next timer in the heap; `nil` = no timer is set.
    var scheduledAt: Moment?
    /// The state in which ``LiveCallCounts`` has counted the call; `nil` = it is not counted.
    var countedState: CallState?
    /// Whether the call's record must be stored again.
    var isDirty = false
    /// The events for the app's backend that the call has; `nil` = it began while nobody wanted events.
    var events: CallEvents?
    /// The events of the timeline since the start, for the verdict that the app's backend is told; empty while nobody wants
    /// events.
    var course: [TimelineRecord] = []

    init(
        session: CallSession,
        room: String,
        displayName: String?,
        hidden: CallRecord.Hidden?,
        isWaiting: Bool,
        scheduled: ScheduledRing? = nil
    ) {
        identity = session.identity
        isLive = session.isLive
        self.room = room
        encodedLogIdentity = EncodedLogIdentity(LogIdentity(callID: session.key.id, room: room, epoch: session.epoch))
        self.displayName = displayName
        self.uuid = UUIDv5.call(session.key.id, epoch: session.epoch)
        self.hidden = hidden
        self.isWaiting = isWaiting
        self.scheduled = scheduled
        // At the end, because the session would be copied if it were read again.
        self.session = session
    }

    var number: CallNumber { identity.number }
    var key: CallKey { identity.key }
    var epoch: UInt32 { identity.epoch }
    var caller: UserID { identity.caller }
    var callee: UserID { identity.callee }
    /// The users of the call: one if a user calls another device of their own, or if the call is scheduled.
    var users: [UserID] { caller == callee || scheduled != nil ? [callee] : [caller, callee] }
    /// The user whose quota and list of live calls the call is in first: the caller, or the callee of a scheduled call.
    var owner: UserID { scheduled == nil ? caller : callee }

    /// Hands one input to the session, and appends the session's outputs to `outputs`.
    func handle(_ input: CallSession.Input, at now: Moment, into outputs: inout [CallSession.Output]) {
        isLive = Self.step(input, by: &session, at: now, into: &outputs)
    }

    /// Hands the input to the session; returns whether that is live afterwards, in the same access to it.
    private static func step(
        _ input: CallSession.Input,
        by session: inout CallSession,
        at now: Moment,
        into outputs: inout [CallSession.Output]
    ) -> Bool {
        session.handle(input, at: now, into: &outputs)
        return session.isLive
    }

    /// Hands a signal that is only relayed to the session (`CallSession.relay`).
    func relay(
        _ signal: Signal,
        from side: Side,
        _ device: DeviceIdentity,
        at now: Moment
    ) throws(CallSession.Unchanged) -> LogEntry {
        try session.relay(signal, from: side, device, at: now)
    }

    /// Returns whether an entry concerns a device (`CallSession.sees`).
    func sees(_ entry: LogEntry, side: Side, device: DeviceIdentity) -> Bool {
        Self.sees(entry, side, device, in: &session)
    }

    /// Takes the session as `inout`, because it would be copied otherwise.
    private static func sees(
        _ entry: LogEntry,
        _ side: Side,
        _ device: DeviceIdentity,
        in session: inout CallSession
    ) -> Bool { session.sees(entry, side: side, device: device) }

    /// Begins the session with its first offer (`CallSession.begin`).
    func beginSession(
        with signal: Signal,
        reachesCallee: Bool,
        at now: Moment,
        into outputs: inout [CallSession.Output]
    ) { session.begin(with: signal, reachesCallee: reachesCallee, at: now, into: &outputs) }

    /// Whether the newest offer has come, but not by `transport`.
    ///
    /// A copy of the offer may still come by `transport`, because some apps send an offer by both transports.
    func offerCameOnly(byOtherThan transport: Source.Transport) -> Bool {
        !offerTransports.isEmpty && !offerTransports.contains(transport)
    }

    /// The name of the call's log: callId, room and epoch.
    var logIdentity: LogIdentity { LogIdentity(callID: key.id, room: room, epoch: epoch) }

    /// When the call ended; `nil` while it is live.
    var endedAt: Moment? {
        if case .ended(let ending, _) = session.phase { ending.at } else { nil }
    }

    /// Returns the next moment at which the switchboard must check the call; `nil` = the call has no deadline.
    func deadline(fetchableFor: Moment.Duration) -> Moment? {
        var next =
            isLive
            ? Self.deadline(of: &session)
            : endedAt.map { min(max($0, loadedAt ?? $0) + SwitchboardLimits.restsAfter, $0 + fetchableFor) }
        for push in pushes.values {
            guard let retry = push.retryAt else { continue }
            next = next.map { min($0, retry) } ?? retry
        }
        return next
    }

    /// The state of the call, as the wire reports it.
    var state: CallState { Self.state(of: &session) }

    /// Lets `body` read the session where it is; it is `inout` because it would be copied otherwise.
    ///
    /// `body` must not change the session, nor read it by another way.
    func readSession<Result>(_ body: (inout CallSession) -> Result) -> Result { body(&session) }

    /// Takes the session as `inout`, because it would be copied otherwise.
    private static func state(of session: inout CallSession) -> CallState { session.state }

    /// Takes the session as `inout`, because it would be copied otherwise.
    private static func deadline(of session: inout CallSession) -> Moment? { session.deadline }

    /// The state of the session, to be stored (`CallSession.snapshot`).
    var snapshot: CallSession.Snapshot { Self.snapshot(of: &session) }

    private static func snapshot(of session: inout CallSession) -> CallSession.Snapshot { session.snapshot }

    func user(on side: Side) -> UserID { identity.user(on: side) }

    /// Returns the side that a user is on; `nil` for all other users, and for a callee from whom the call is hidden.
    func side(of user: UserID) -> Side? { identity.side(of: user) }

    /// Returns the position of a log entry.
    func position(of entry: LogEntry) -> LogPosition {
        LogPosition(in: encodedLogIdentity, seq: entry.seq, at: entry.at)
    }
}
