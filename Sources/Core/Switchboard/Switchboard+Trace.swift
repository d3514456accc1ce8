import CallCore
import CallPorts
import CallWire

/// The reports that are made only while somebody looks for a fault (``Switchboard/TraceNote``).
///
/// Nothing is decided here. While nothing is reported, each use of these functions costs one comparison.
extension Switchboard {
    /// How much is reported.
    package var detail: Detail { turn.detail }

    /// Sets how much is reported from now on.
    package mutating func report(_ detail: Detail) {
        turn.detail = detail
        if detail < .calls { turn.uncommitted = [] }
    }

    /// Whether decisions about calls are reported.
    @inline(__always)
    var tracesCalls: Bool { turn.detail == .calls }

    /// Reports a step of a call.
    @inline(__always)
    mutating func trace(_ call: Call, _ step: @autoclosure () -> CallStep) {
        guard tracesCalls else { return }
        turn.out.append(.trace(.call(call.tag, step())))
    }

    /// Reports a note, if at least `detail` is reported.
    @inline(__always)
    mutating func trace(from detail: Detail, _ note: @autoclosure () -> TraceNote) {
        guard turn.detail >= detail else { return }
        turn.out.append(.trace(note()))
    }

    // MARK: Signals

    // The code that handles a signal makes one comparison before each of these functions, whose bodies are not inlined
    // into it: even one needless change of a string's reference count would show in the number of instructions.

    /// Reports that a signal was received.
    @inline(never)
    mutating func trace(_ message: SignalMessage, from source: Source, by origin: Origin) {
        let kind = message.signal.kind
        turn.out.append(.trace(.signal(kind, message.callID, from: source.user, source.device.id, origin)))
    }

    /// Reports that a call was given an input.
    @inline(never)
    mutating func traceInput(_ input: CallSession.Input, of call: Call) {
        turn.out.append(.trace(.call(call.tag, .input(input.word, input.device))))
    }

    /// Reports that a call refused a signal.
    @inline(never)
    mutating func traceRefused(by call: Call) { turn.out.append(.trace(.call(call.tag, .refused))) }

    /// Reports that an entry was sent to the connections in `turn.receivers`, and empties that list.
    @inline(never)
    mutating func traceRelayed(_ entry: LogEntry, of call: Call) {
        turn.out.append(.trace(.call(call.tag, .relayed(seq: entry.seq, entry.kind, to: turn.receivers))))
        turn.receivers = []
    }

    /// Reports that a signal was accepted.
    @inline(never)
    mutating func traceAcknowledged(_ receipt: Receipt, to origin: Origin) {
        let waits = !commits.isDurable
        trace(receipt.call, .acknowledged(seq: receipt.seq, to: origin, waits: waits))
    }

    // MARK: Commits

    /// Returns a report for each call whose changes the last of these outputs hands to the store; empty if the last
    /// output is no new commit.
    mutating func notes(ofCommitIn outputs: [Output]) -> [Output] {
        guard case .commit(let changes, let ticket)? = outputs.last,
            turn.uncommitted.last.map({ $0.ticket < ticket }) ?? true
        else { return [] }
        var seen: Set<CallNumber> = []
        var tags: [CallTag] = []
        for change in changes {
            let number: CallNumber
            switch change {
            case .call(let record):
                if seen.insert(record.number).inserted {
                    tags.append(CallTag(id: record.id, epoch: record.epoch, number: record.number))
                }
                continue
            case .entry(let call, _), .event(let call, _), .logForgotten(let call): number = call
            case .historyForgotten, .device, .deviceRemoved, .blocked, .unblocked, .doNotDisturb, .revoked, .schedule,
                .scheduleRemoved, .numbers, .removalsForgotten, .uncleanStartsForgotten, .appEvent, .eventEndpoint,
                .eventEndpointRemoved, .eventHeld, .eventReleased, .eventsForgotten:
                continue
            }
            if seen.insert(number).inserted, let call = calls[number] { tags.append(call.tag) }
        }
        turn.uncommitted.append((ticket, tags))
        return tags.map { .trace(.call($0, .queuedForCommit(ticket))) }
    }

    /// Reports the calls whose changes are durable now.
    mutating func traceCommitted(upTo ticket: Ticket) {
        let durable = turn.uncommitted.prefix { $0.ticket <= ticket }
        turn.uncommitted.removeFirst(durable.count)
        for (ticket, tags) in durable {
            for tag in tags { turn.out.append(.trace(.call(tag, .committed(ticket)))) }
        }
    }
}

extension Call {
    /// The names of the call in the log.
    var tag: Switchboard.CallTag {
        Switchboard.CallTag(id: key.id, epoch: session.epoch, number: number)
    }
}

extension CallSession.Input {
    /// The input as the log shows it.
    var word: Switchboard.LogWord {
        switch self {
        case .signal: "signal"
        case .notified: "notified"
        case .gone: "gone"
        case .seen: "seen"
        case .renewed: "renewed"
        case .endDelivered: "end_delivered"
        case .foundBusy: "busy"
        case .lostGlare: "glare"
        case .replaced: "replaced"
        case .gaveWay: "gave_way"
        case .withdrawn: "withdrawn"
        case .confirmed: "confirmed"
        case .deadlineReached: "deadline"
        }
    }

    /// The device that the input is about.
    var device: DeviceID? {
        switch self {
        case .signal(_, _, let device), .notified(let device), .gone(let device, _), .seen(let device, _),
            .renewed(_, let device, _), .endDelivered(let device, _):
            device.id
        case .foundBusy, .lostGlare, .replaced, .gaveWay, .withdrawn, .confirmed, .deadlineReached: nil
        }
    }
}

extension CallSession.OfferMeaning {
    /// The meaning as the log shows it.
    var word: Switchboard.LogWord {
        switch self {
        case .repeats: "repeat"
        case .replacesDescription: "description"
        case .renegotiates: "renegotiation"
        case .refused: "refused"
        }
    }
}

extension CallRouter.StartOutcome {
    /// The decision as the log shows it.
    var word: Switchboard.LogWord {
        switch self {
        case .rings: "rings"
        case .hidden: "hidden"
        case .busy: "busy"
        case .tooManyCallers: "crowded"
        case .lostGlare: "glare"
        }
    }
}

extension LogEntry {
    /// The content as the log shows it.
    var kind: Switchboard.EntryKind {
        switch content {
        case .signal(let kind, _, _, _, _): .signal(kind)
        case .state(let change): .state(change.state)
        }
    }
}

extension TimelineEvent {
    /// The device that the event is about.
    var device: DeviceID? {
        switch self {
        case .signal(_, _, let device, _), .delivered(let device), .fetched(let device), .probe(let device),
            .probeFailed(let device), .pushSent(let device, _, _), .pushResult(let device, _, _, _, _),
            .pushCancelled(let device), .pushLowered(let device), .silenced(let device, _), .repeated(_, let device, _):
            device
        case .scheduled, .ringSkipped, .blocked, .numberBlocked, .doNotDisturb, .callIDTaken, .decided,
            .tooManyCallers, .noDevice, .tokensRevoked, .restarted, .takenOver, .ringRefused, .omitted, .ended, .other:
            nil
        }
    }
}

extension ParkedWork.Work {
    /// The callId that the work names.
    var callID: CallID? {
        switch self {
        case .signal(let message, _, _): message.callID
        case .request(_, _, let request): request.callID
        case .timeline(_, _, let record, _), .watch(_, let record, _): record.id
        case .sync, .endNotices, .expiry: nil
        }
    }
}
