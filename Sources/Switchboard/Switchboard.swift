public import CallCore
public import CallPorts
import CallWire
import DequeModule
import HeapModule
import JSON

/// The server's state machine: decides who is connected, which calls there are, and whom to ring and to push.
///
/// One owner calls it from one thread. It reads no clock and does no I/O: inputs come with the moment, outputs say what
/// to do. ``flush(at:into:)`` is called once after every batch of inputs, so that many changes share one commit.
///
/// It is a value that cannot be copied, so that the compiler proves that nothing reads its state while something else
/// changes it. As properties of a class, they would be checked at each access, which took 9 % of a call's instructions.
public struct Switchboard: ~Copyable {
    let policy: Policy
    /// Issues the capabilities that pushes carry.
    let capabilities: any CapabilityIssuer
    /// Issues the credentials for the TURN server; `nil` = there is no TURN server.
    let relay: (any RelayIssuer)?
    /// The source of random numbers, passed in: a simulator uses a seeded one.
    var random: any RandomNumberGenerator

    var sessions: [SessionID: Session] = [:]
    var sessionsByUser: [UserID: [Session]] = [:]
    var rooms: [RoomKey: [Session]] = [:]
    var calls = CallTable()
    var directory: Directory
    var limits: RateLimits
    /// The pairs of users that have been in touch and so may see each other's presence.
    var acquaintances = Acquaintances()
    /// The connections that watch a user's presence.
    var watchers: [UserID: [Session]] = [:]
    var polls: [RequestID: Poll] = [:]
    /// The bodies built for fetches at one moment; requests that wait for the same signal share one array.
    var bodies: (at: Moment, built: [FetchKey: [UInt8]])
    var questions: [QuestionID: Inquiry] = [:]
    /// The work that waits for calls at rest to be read from the store, oldest first.
    var parked: [Parked] = []
    var beingTakenUp: Set<CallNumber> = []
    /// The calls at rest that the current signal concerns.
    ///
    /// The signal is handled again when they have been read.
    var awaited: [CallNumber] = []
    var pushes: [PushID: Wake] = [:]
    var breaker = DeletionBreaker()
    /// Log-outs dated in this clock's future, with their original moments.
    ///
    /// They are in force up to the current time, and stored with their original moments.
    var uncutRevocations: [UserID: Moment] = [:]
    /// Calls whose end some device that took part has not been notified of, by user.
    var news: [UserID: [CallNumber]] = [:]

    var timers = Heap<Timer>()
    var out: [Output] = []
    var steps: [CallSession.Output] = []
    /// The members of the frame being parsed.
    ///
    /// The array is reused, so that a relayed signal allocates nothing here.
    var scratch: [JSONObject.Member] = []
    var changes: [Change] = []
    var dirty: [Call] = []
    /// The acks and replies that wait for a commit, oldest first.
    var waiting = Deque<Waiting>()
    var inFlight = Deque<(ticket: Ticket, at: Moment)>()
    var lastTicket = Ticket(rawValue: 0)
    var committed = Ticket(rawValue: 0)

    var lastCallNumber: Int64
    var lastPush: UInt64 = 0
    var lastQuestion: UInt64 = 0
    /// The number of unclean starts after which clients may still remember a `seq` that a crash lost.
    var crashes: Int
    let startedAt: Moment
    /// Prevents a clock that may be wrong from deleting history.
    var historyHold: HistoryHold
    var isDraining = false
    /// The number of connections when the server began to shut down.
    var drained = 0

    /// The counts for the metrics page.
    public internal(set) var metrics = Metrics()

    /// A switchboard that continues from the stored state.
    public init(
        policy: Policy,
        stored: StoredState,
        capabilities: any CapabilityIssuer,
        relay: (any RelayIssuer)? = nil,
        random: any RandomNumberGenerator,
        at now: Moment
    ) {
        self.policy = policy
        limits = RateLimits(policy)
        self.capabilities = capabilities
        self.relay = relay
        self.random = random
        directory = Directory(stored, historyFor: policy.historyFor, at: now)
        lastCallNumber = stored.lastCallNumber
        crashes = stored.crashes
        startedAt = now
        historyHold = HistoryHold(
            startedAt: now,
            newest: (stored.devices.map(\.seenAt) + (stored.lastCallAt.map { [$0] } ?? [])).max()
        )
        bodies = (now, [:])
        for damage in stored.damages { noteDamage(damage) }
        for kept in stored.calls { restore(kept, at: now) }
        if let age = historyHold.oddAge { out.append(.note(.oddClock(age))) }
        cutRevocations(at: now)
        schedule(.sweep, at: now + Self.sweepEvery)
    }

    /// The next moment at which ``Input/deadlineReached`` is due.
    public var deadline: Moment? { timers.min?.at }

    /// The number of open connections.
    public var sessionCount: Int { sessions.count }

    /// Handles one input, and appends the resulting actions to `outputs`, in order.
    public mutating func handle(_ input: Input, at now: Moment, into outputs: inout [Output]) {
        swap(&out, &outputs)
        defer { swap(&out, &outputs) }
        if !outputs.isEmpty {
            // The outputs of restoring the stored calls have waited for the first input.
            out.append(contentsOf: outputs)
            outputs.removeAll()
        }
        switch input {
        case .opened(let id, let who, let device): opened(id, who, device: device, at: now)
        case .joined(let id, let who, let device, let seen): opened(id, who, device: device, seen: seen, at: now)
        case .showedLife(let id): showedLife(id, at: now)
        case .received(let id, let frame): received(frame, from: id, at: now)
        case .ponged(let id, let number): ponged(id, number, at: now)
        case .closed(let id): closed(id, at: now)
        case .verified(let id, let name, let result): verified(result, for: id, id: name, at: now)
        case .requested(let id, let who, let request): requested(request, by: who, as: id, at: now)
        case .abandoned(let id): abandoned(id, at: now)
        case .stored(let report): stored(report, at: now)
        case .pushed(let id, let result): pushed(id, result, at: now)
        case .ordered(let id, let order): carryOut(order, as: id, at: now)
        case .drain: drain()
        case .clockDoubted(let isDoubted): historyHold.doubt(isDoubted, at: now)
        case .deadlineReached: deadlineReached(at: now)
        }
    }

    /// Whether the server's state may require refusing signals.
    var isRestrained: Bool {
        isDraining || metrics.isStalled || metrics.backlogged > 0 || !limits.quotas.exhausted.isEmpty
    }

    /// Hands over all changes since the last flush as one commit.
    public mutating func flush(at now: Moment, into outputs: inout [Output]) {
        forgetBodies()
        guard hasChanges else { return }
        var batch: [Change] = []
        batch.reserveCapacity(changes.count + dirty.count)
        for call in dirty {
            call.isDirty = false
            batch.append(.call(call.record))
        }
        dirty.removeAll(keepingCapacity: true)
        batch.append(contentsOf: changes)
        changes.removeAll(keepingCapacity: true)
        lastTicket = nextTicket
        inFlight.append((lastTicket, now))
        outputs.append(.commit(batch, lastTicket))
    }

    /// Whether anything has changed since ``flush(at:into:)``.
    public var hasChanges: Bool { !changes.isEmpty || !dirty.isEmpty }

    /// The ticket under which changes made now will be committed.
    var nextTicket: Ticket { Ticket(rawValue: lastTicket.rawValue + 1) }

    /// Returns the number of live calls by state, for the metrics page.
    public func countCalls() -> [CallState: Int] { calls.countByState() }

    /// The longest time that any call may ring.
    var longestRing: Moment.Span { max(policy.ringFor, .seconds(Int64(WireLimits.ringSeconds.upperBound))) }

    private mutating func restore(_ kept: StoredCall, at now: Moment) {
        guard
            let call = Call(kept, grace: policy.grace, longestRing: longestRing, crashes: crashes, at: now)
        else {
            metrics.damages[.leftOut, default: 0] += 1
            out.append(.note(.unreadable(kept.record.number)))
            return
        }
        // Stored calls come oldest first, so a callId leads to the newest call that uses it.
        calls.insert(call)
        calls.began(call)
        if call.session.isLive { note(call, .restarted, at: now) }
        wakeLater(call, at: now)
        reschedule(call)
        for leg in call.session.legs where leg.phase == .untold { owe(call, to: leg) }
    }
}
