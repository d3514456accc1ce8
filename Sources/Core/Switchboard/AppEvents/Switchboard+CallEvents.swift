import CallCore
import CallPorts
import CallWire

/// The events of calls for the app's backend (protocol, section 13).
///
/// They are made when a call's record is stored, not where the call is decided: whatever has happened to the call and has
/// no event yet gets one. So an event and its decision are in one commit, and a call that ends has exactly one
/// event of its end, however it ended.
extension Switchboard {
    /// Hands all changes so far to the store, with the events that they are, and appends the commit to `outputs`.
    mutating func flushCommits(into outputs: inout [Output]) {
        if appEvents.areWanted { reportChangedCalls() }
        commits.flush(at: turn.now, into: &outputs)
        if tracesCalls { outputs += notes(ofCommitIn: outputs) }
    }

    /// Makes the new events of the calls whose records are about to be stored.
    mutating func reportChangedCalls() {
        for call in commits.dirty { if let events = call.events { reportNews(of: call, events) } }
    }

    /// Makes the events that a call has by now and did not have, in their order.
    private mutating func reportNews(of call: Call, _ before: CallEvents) {
        var events = before
        let (isRinging, isAnswered, isActive, ringing) = call.readSession { session in
            let isRinging = if case .ringing = session.phase { true } else { false }
            return (isRinging, session.answeredAt != nil, session.activeAt != nil, session.log.firstRinging)
        }
        let hasEnded = !call.isLive
        if !events.has(.callStarted) { report(.callStarted, of: call, ringing, &events) }
        if ringing != nil, !events.has(.callRinging) { report(.callRinging, of: call, ringing, &events) }
        if isRinging, !events.has(.callUnreachable), let why = whyUnreachable(call) {
            report(.callUnreachable, of: call, ringing, why: why.rawValue, &events)
        }
        if isAnswered, !events.has(.callAnswered) {
            report(.callAnswered, of: call, ringing, &events)
            // The verdict is on calls that nobody answered.
            call.course = []
        }
        if isActive, !events.has(.callActive) { report(.callActive, of: call, ringing, &events) }
        if hasEnded, !events.has(.callEnded) { report(.callEnded, of: call, ringing, &events) }
        if hasEnded, !events.has(.callMissed), let why = whyMissed(call) {
            report(.callMissed, of: call, ringing, why: why.rawValue, &events)
        }
        if events != before { call.events = events }
    }

    private mutating func report(
        _ type: AppEventType,
        of call: Call,
        _ ringing: LogEntry?,
        why: String? = nil,
        _ events: inout CallEvents
    ) {
        // A type that nobody wants has no number either: the numbers that are seen have no gaps.
        guard appEvents.isWanted(type) else { return events.skip(type) }
        let number = events.add(type)
        let data = CallEventData(
            type: type,
            number: number,
            scheduled: call.scheduled,
            ringing: ringing,
            why: why,
            verdict: type == .callEnded ? verdict(on: call) : nil
        )
        let now = turn.now
        let (at, bytes) = call.readSession { data.content(of: &$0, at: now) }
        add(type, of: (call.number, number), at: at, data: bytes)
    }

    /// Adds an event to the changes of the next commit.
    mutating func add(
        _ type: AppEventType,
        of call: (number: CallNumber, count: UInt32)? = nil,
        about user: UserID? = nil,
        at moment: Moment,
        data: [UInt8]
    ) {
        metrics.appEvents[type] += 1
        let event = appEvents.add(
            type,
            of: call,
            about: user,
            at: moment,
            data: data,
            in: commits.nextTicket
        )
        commits.append(.appEvent(event))
    }

    /// Returns the verdict on a call that nobody answered; `nil` if it was answered, or its course is not known because the
    /// server has restarted meanwhile.
    private func verdict(on call: Call) -> [String]? {
        guard call.session.answeredAt == nil, appEvents.isOfThisRun(call.number) else { return nil }
        let record = call.record
        let signals = call.session.log.compactMap { TimelineRecord($0) }
        let events = signals + call.course
        let sorted = events.indices.sorted { (events[$0].at, $0) < (events[$1].at, $1) }.map { events[$0] }
        return ports.explainer?.verdict(
            on: record,
            sorted,
            devices: directory.devices(of: record.callee),
            at: turn.now
        )
    }

    // MARK: Missed calls

    /// Why a callee has missed a call.
    enum MissedWhy: String {
        case unanswered
        case cancelled
        case busy
        case doNotDisturb = "dnd"
        case blocked
    }

    /// Returns why the callee has missed an ended call; `nil` = they have not.
    private func whyMissed(_ call: Call) -> MissedWhy? {
        guard case .ended(let ending, nil) = call.session.phase, call.scheduled == nil else { return nil }
        let why: MissedWhy
        switch ending.reason {
        case .unanswered: why = .unanswered
        case .cancelled: why = .cancelled
        case .busy: why = .busy
        case .hangup, .declined, .answeredElsewhere, .declinedElsewhere, .glare, .failed, .disconnected, .replaced,
            .confirmed, .missed, .givenUp:
            return nil
        }
        switch call.hidden {
        case .block: return .blocked
        case .doNotDisturb: return .doNotDisturb
        case .callIDTaken, .app, .refusedOffer: return nil
        case nil: return call.wasSilencedByDoNotDisturb ? .doNotDisturb : why
        }
    }

    // MARK: Reachability

    /// Why nobody can be rung any more.
    enum UnreachableWhy: String {
        /// The callee has neither a connection nor a device with a push token.
        case noDevice = "no_device"
        /// No push service has accepted a push.
        case pushesRefused = "pushes_refused"
        /// The systems of all devices that were reached do not show the call.
        case silenced
        case doNotDisturb = "dnd"
        case blocked
        /// The devices that were ringing have gone.
        case gone
    }

    /// Returns why nobody can be rung any more while the caller still waits; `nil` = somebody can, or the call does not
    /// ring.
    private func whyUnreachable(_ call: Call) -> UnreachableWhy? {
        guard case .ringing = call.session.phase, !call.ringsWhenShown else { return nil }
        switch call.hidden {
        case .block: return .blocked
        case .doNotDisturb: return .doNotDisturb
        case .callIDTaken, .app, .refusedOffer: return nil
        case nil: break
        }
        // After a restart the devices connect again.
        guard appEvents.isOfThisRun(call.number) || turn.now >= appEvents.startedAt + policy.grace else { return nil }
        return call.readSession { session in
            let isRung =
                session.legs.contains { $0.side == .callee && $0.phase == .ringing }
                || connections.of(call.callee).contains { !session.isSilenced($0.device.id) }
                || call.polls.contains { polls[$0]?.principal.user == call.callee }
                || call.pushes.contains { !session.isSilenced($0.key) && $0.value.mayRing }
            guard !isRung else { return nil }
            if session.legs.contains(where: { $0.phase == .silenced }) { return .silenced }
            if call.wasSilencedByDoNotDisturb { return .doNotDisturb }
            if call.pushes.contains(where: { $0.value.phase == .refused }) { return .pushesRefused }
            return session.legs.contains { $0.side == .callee } ? .gone : .noDevice
        }
    }

    /// Makes sure that a ringing call that has lost a device is looked at: perhaps nobody can be rung any more.
    mutating func checkReach(of call: Call) {
        guard appEvents.areWanted, case .ringing = call.session.phase else { return }
        commits.markDirty(call)
    }
}

extension DevicePush {
    /// Whether the push rings its device, or may still do so.
    fileprivate var mayRing: Bool {
        switch phase {
        case .sent, .waiting, .accepted: true
        case .refused, .cancelled: mayHaveArrived
        }
    }
}
