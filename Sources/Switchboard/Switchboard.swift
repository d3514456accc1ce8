public import CallCore
import CallWire
import DequeModule
import HeapModule

/// Who is connected, which calls there are, who is rung and woken: everything that the server decides.
///
/// One owner calls it from one thread. It reads no clock and does no I/O: inputs come with the moment, outputs say what
/// to do. ``flush(at:into:)`` is called once after every batch of inputs, so that many changes share one commit.
public final class Switchboard {
    let policy: Policy
    /// Makes the capabilities that pushes carry.
    let capabilities: any CapabilityIssuer
    /// Makes the credentials for the TURN server; `nil` = there is none.
    let relay: (any RelayIssuer)?
    /// Chance, handed in: a simulator's has a seed.
    var random: any RandomNumberGenerator

    var sessions: [SessionID: Session] = [:]
    var sessionsByUser: [UserID: [Session]] = [:]
    var rooms: [RoomKey: [Session]] = [:]
    var calls = CallTable()
    var directory: Directory
    var callBuckets: [UserID: TokenBucket] = [:]
    var requestBuckets: [UserID: TokenBucket] = [:]
    /// What users may still have pushed by texts.
    var noticeBuckets: [UserID: TokenBucket] = [:]
    /// The ends that users may still send which end nothing.
    var endBuckets: [UserID: TokenBucket] = [:]
    /// The bytes that may still be kept for users.
    var keptBuckets: [UserID: TokenBucket] = [:]
    /// How often callees may still be rung.
    var rings: RingLimits
    /// The users for whom no more is kept for now.
    var overQuota: Set<UserID> = [] { didSet { noteRestraints() } }
    /// Whether any signal may have to be refused for the state that the server is in: asked once for each of them.
    private(set) var isRestrained = false
    /// Who may know when whom comes or goes.
    var acquaintances = Acquaintances()
    /// The sessions that want to know when a user comes or goes.
    var watchers: [UserID: [Session]] = [:]
    var polls: [RequestID: Poll] = [:]
    /// The bodies that were built for fetches at a moment: those who wait for one signal get one array.
    var bodies: (at: Moment, built: [FetchKey: [UInt8]])
    var questions: [QuestionID: Inquiry] = [:]
    /// What waits for calls that are being taken up from rest, oldest first.
    var parked: [Parked] = []
    var beingTakenUp: Set<CallNumber> = []
    /// The calls at rest that the signal at hand concerns: it is to come again when they are taken up.
    var awaited: [CallNumber] = []
    var pushes: [PushID: Wake] = [:]
    var breaker = DeletionBreaker()
    /// The log-outs that lie in this clock's future: in force until now, and kept as they were dated.
    var uncutRevocations: [UserID: Moment] = [:]
    /// Calls that a device was in and that ended without its knowing, by user.
    var news: [UserID: [CallNumber]] = [:]

    var timers = Heap<Timer>()
    var out: [Output] = []
    var steps: [CallSession.Output] = []
    /// Where the members of the frame at hand are kept: reused, so that a relayed signal allocates nothing here.
    var scratch: [JSONObject.Member] = []
    var changes: [Change] = []
    var dirty: [Call] = []
    /// What waits for a commit, oldest first.
    var waiting = Deque<Waiting>()
    var inFlight = Deque<(ticket: Ticket, at: Moment)>()
    var lastTicket = Ticket(rawValue: 0)
    var committed = Ticket(rawValue: 0)

    var lastCallNumber: Int64
    var lastPush: UInt64 = 0
    var lastQuestion: UInt64 = 0
    /// What earlier runs may have shown and lost is still guarded against.
    var crashes: Int
    let startedAt: Moment
    /// Keeps history from being deleted by a clock that may be wrong.
    var historyHold: HistoryHold
    var isDraining = false { didSet { noteRestraints() } }
    /// How many sessions there were when the server began to shut down.
    var drained = 0

    /// What is counted.
    public internal(set) var metrics = Metrics()

    /// A switchboard that goes on with what was kept.
    public init(
        policy: Policy,
        stored: StoredState,
        capabilities: any CapabilityIssuer,
        relay: (any RelayIssuer)? = nil,
        random: any RandomNumberGenerator,
        at now: Moment
    ) {
        self.policy = policy
        rings = RingLimits(policy)
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

    /// How many sessions are open.
    public var sessionCount: Int { sessions.count }

    /// Takes one input, and adds to `outputs` what is to be done about it, in order.
    public func handle(_ input: Input, at now: Moment, into outputs: inout [Output]) {
        swap(&out, &outputs)
        defer { swap(&out, &outputs) }
        if !outputs.isEmpty {
            // What taking up the kept calls had to say waits for the first input.
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

    /// Looks anew whether signals may have to be refused.
    func noteRestraints() {
        isRestrained = isDraining || metrics.isStalled || metrics.backlogged > 0 || !overQuota.isEmpty
    }

    /// Hands over what has changed since the last time as one commit.
    public func flush(at now: Moment, into outputs: inout [Output]) {
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

    /// The ticket that what changes now will be committed under.
    var nextTicket: Ticket { Ticket(rawValue: lastTicket.rawValue + 1) }

    /// Counts of live calls by state, for the metrics page.
    public func countCalls() -> [CallState: Int] { calls.countByState() }

    /// The longest that a call may have been given to ring.
    var longestRing: Moment.Span { max(policy.ringFor, .seconds(Int64(WireLimits.ringSeconds.upperBound))) }

    private func restore(_ kept: StoredCall, at now: Moment) {
        guard
            let call = Call(kept, grace: policy.grace, longestRing: longestRing, crashes: crashes, at: now)
        else {
            metrics.damages[.leftOut, default: 0] += 1
            out.append(.note(.unreadable(kept.record.number)))
            return
        }
        // Kept calls come oldest first, so that the newest use of a name has it.
        calls.insert(call)
        calls.began(call)
        if call.session.isLive { note(call, "restarted", at: now) }
        wakeLater(call, at: now)
        reschedule(call)
        for leg in call.session.legs where leg.phase == .untold { owe(call, to: leg) }
    }
}

/// Makes the capability that a push carries, so that a just-woken app whose token has expired can learn of the call.
public protocol CapabilityIssuer {
    /// A capability for one device and one epoch of a call, valid until a moment (protocol, section 6).
    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String
}
