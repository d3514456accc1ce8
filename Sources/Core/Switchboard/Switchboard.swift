package import CallCore
package import CallPorts
import CallWire
import HeapModule

/// The server's state machine: it holds connections and calls, and decides which devices are sent a signal or a push.
///
/// One owner uses the switchboard from one thread. The switchboard reads no clock and does no I/O: each input comes
/// with its moment, and the outputs say what the owner must do. The owner calls ``flush(at:into:)`` once after every
/// batch of inputs, so that many changes share one commit.
///
/// It is a value that cannot be copied, so that the compiler proves that nothing reads its state while something else
/// changes it. In a class, Swift would check this at run time, at each access to a property: these checks took 9 % of
/// the instructions that a call between two users needs.
package struct Switchboard: ~Copyable {
    let policy: Policy
    var ports: Ports
    var connections = ConnectionRegistry()
    var calls: CallTable
    var directory: Directory
    var limits: RateLimits
    var polls: LongPolls
    var queries = PendingQueries()
    var pushes = PushDispatcher()
    var commits = CommitQueue()
    var appEvents: AppEvents
    var precautions: StartPrecautions
    var timers = Heap<Timer>()
    var turn: Turn

    /// The counts for the metrics page.
    package internal(set) var metrics = Metrics()

    /// A switchboard that continues from the stored state.
    ///
    /// `wallClock`: What is known of the wall clock now; later changes come as ``Input/wallClock(_:)``.
    package init(
        policy: Policy,
        stored: StoredState,
        ports: Ports,
        wallClock: WallClock = .agreeing,
        at now: Moment
    ) {
        self.policy = policy
        turn = Turn(now: now, lead: wallClock.lead, corrected: wallClock.corrected)
        self.ports = ports
        calls = CallTable(lastNumber: stored.lastCallNumber)
        directory = Directory(stored, historyFor: policy.historyFor, at: now)
        limits = RateLimits(policy)
        polls = LongPolls(at: now)
        let newest = stored.newestMoment
        precautions = StartPrecautions(
            crashShadow: CrashShadow(uncleanStarts: stored.uncleanStarts, startedAt: now, lasting: policy.crashShadow),
            historyHold: HistoryHold(startedAt: now, newest: newest),
            dateHold: DateHold(startedAt: now, newest: newest)
        )
        precautions.historyHold.setClockDoubtful(!wallClock.agrees, at: now)
        precautions.dateHold.setSteady(wallClock.isSteady, at: now)
        metrics.decisions.isAsked = policy.decisions != nil
        metrics.numbers = stored.numbers.state.count
        appEvents = AppEvents(policy.events, stored, startedAt: now)
        for damage in stored.damages { noteDamage(damage) }
        for kept in stored.calls { restore(kept) }
        restAtStart(stored.ended)
        beginDeliveries(stored)
        restoreSchedules()
        if let age = precautions.historyHold.oddAge { turn.out.append(.note(.oddClock(age))) }
        limitFutureRevocations()
        schedule(.sweep, at: now + SwitchboardLimits.sweepEvery)
    }

    /// The next moment at which ``Input/deadlineReached`` is due.
    package var deadline: Moment? { timers.min?.at }

    /// The number of commits that were handed to the store and are not durable yet.
    package var commitsUnderWay: Int { commits.commitsUnderWay }

    /// The number of open connections.
    package var connectionCount: Int { connections.count }

    /// Handles one input at a moment, and appends the resulting outputs to `outputs`, in the order of execution.
    package mutating func handle(_ input: Input, at now: Moment, into outputs: inout [Output]) {
        turn.now = now
        swap(&turn.out, &outputs)
        defer { swap(&turn.out, &outputs) }
        if !outputs.isEmpty {
            // The outputs of restoring the stored calls have waited for the first input.
            turn.out.append(contentsOf: outputs)
            outputs.removeAll()
        }
        switch input {
        case .opened(let id, let principal, let device): opened(id, principal, device: device)
        case .joined(let id, let principal, let device, let seen):
            opened(id, principal, device: device, seen: seen)
        case .adopted(let id, let principal, let device, let assigned, let openFor, let seen):
            adopted(id, principal, device: device, assigned: assigned, openFor: openFor, seen: seen)
        case .signOfLife(let id): gaveSignOfLife(id)
        case .received(let id, let frame): frameReceived(frame, from: id)
        case .ponged(let id, let number): ponged(id, number)
        case .closed(let id, let code): closed(id, code: code)
        case .verified(let id, let signalID, let result): verified(result, for: id, id: signalID)
        case .requested(let id, let principal, let request): requested(request, by: principal, as: id)
        case .abandoned(let id): abandoned(id)
        case .stored(let report): stored(report)
        case .pushed(let id, let result): pushed(id, result)
        case .delivered(let id, let result): delivered(id, result)
        case .decided(let id, let result): decided(id, result)
        case .operatorCommand(let id, let command): carryOut(command, as: id)
        case .drain: drain()
        case .wallClock(let clock): clockCorrected(clock)
        case .deadlineReached: deadlineReached()
        }
    }

    /// Appends an ``Output/commit(_:_:)`` with all changes since the last flush to `outputs`, if there are any.
    package mutating func flush(at now: Moment, into outputs: inout [Output]) {
        turn.now = now
        polls.forgetBodies()
        flushCommits(into: &outputs)
    }

    /// Whether there are changes for the next ``flush(at:into:)``.
    package var hasChanges: Bool { commits.hasChanges }

    /// Returns the number of live calls by state, for the metrics page.
    package func countCalls() -> [CallState: Int] { calls.liveCounts.byState }

    private mutating func restore(_ kept: StoredCall) {
        guard
            let call = Call(
                kept,
                grace: policy.grace,
                longestRing: policy.longestRing,
                uncleanStarts: precautions.crashShadow.uncleanStarts,
                at: turn.now
            )
        else {
            metrics.damages[.leftOut, default: 0] += 1
            turn.out.append(.note(.unreadable(kept.record.number)))
            return
        }
        // Stored calls come oldest first, so a callId leads to the newest call that uses it.
        calls.insert(call)
        calls.recordFirstOffer(of: call)
        if call.isLive {
            note(call, .restarted)
            if let node = policy.nodeAddress { note(call, .takenOver(node: node)) }
        }
        wakeAfterRestart(call)
        reschedule(call)
        for leg in call.session.legs where leg.phase == .endNotDelivered {
            calls.endNotices.insert(call.number, for: call.user(on: leg.side))
        }
    }
}
