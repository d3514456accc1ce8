import CallCore
import CallPorts
import CallWire

/// The shell around the call core: hands inputs to a call and carries out its outputs.
extension Switchboard {
    /// The result of a signal.
    enum SignalOutcome {
        case acknowledged(seq: UInt64, isNew: Bool)
        case refused(CallSession.Refusal)
        case nothing
    }

    /// Hands one input to a call and carries out the call's outputs: all decisions are made before the first action.
    @discardableResult
    mutating func process(
        _ call: Call,
        _ input: CallSession.Input,
        relaying message: SignalMessage? = nil,
        from sender: Sender? = nil
    ) -> SignalOutcome {
        var outputs: [CallSession.Output] = []
        // The array is reused, so that a relayed signal allocates nothing here.
        swap(&outputs, &turn.steps)
        if tracesCalls { traceInput(input, of: call) }
        call.handle(input, at: turn.now, into: &outputs)
        let result = perform(&outputs, of: call, relaying: message, from: sender)
        let isOnlyRelayed = if case .signal(let signal, _, _) = input { Self.movesNoDeadline(signal) } else { false }
        swap(&outputs, &turn.steps)
        if !isOnlyRelayed {
            calls.stateChanged(of: call)
            reschedule(call)
        }
        return result
    }

    /// Whether a signal leaves a call's deadline unchanged, as nearly all signals do.
    private static func movesNoDeadline(_ signal: Signal) -> Bool {
        switch signal.content {
        case .ice, .dtmf, .info, .update: true
        case .confirm, .offer, .ringing, .silenced, .answer, .connected, .end: false
        }
    }

    /// Carries out a call's outputs in their order, and removes them.
    mutating func perform(
        _ outputs: inout [CallSession.Output],
        of call: Call,
        relaying message: SignalMessage?,
        from sender: Sender?
    ) -> SignalOutcome {
        var result = SignalOutcome.nothing
        var notified: [(Connection, Side)] = []
        // Each output is moved out of the array: to copy it would cost more than most of them do. `reverse` copies.
        var reversed = outputs.mutableSpan
        for index in 0..<reversed.count / 2 { reversed.swapAt(index, reversed.count - 1 - index) }
        while let output = outputs.popLast() {
            switch output {
            case .append(let entry):
                let frame = append(entry, to: call, relaying: message, from: sender)
                if !withholdIfNeeded(entry, of: call) {
                    show(entry, as: frame, of: call, notified: &notified)
                }
            case .acknowledge(let seq, let isNew): result = .acknowledged(seq: seq, isNew: isNew)
            case .refuse(let refusal):
                if tracesCalls { traceRefused(by: call) }
                result = .refused(refusal)
            case .stopRinging: stopWaking(call)
            case .changed: commits.markDirty(call)
            }
        }
        // From here on, every entry of the log has its frame, so the responses to polls can be built.
        if call.hasPolls { respondToPolls(of: call) }
        if !notified.isEmpty { awaitEndConfirmations(of: call, by: notified) }
        if !call.isLive { cleanUpEnded(call) }
        return result
    }

    /// Makes the frame of an entry, and stores the entry; returns the frame.
    private mutating func append(
        _ entry: LogEntry,
        to call: Call,
        relaying message: SignalMessage?,
        from sender: Sender?
    ) -> [UInt8] {
        let frame: [UInt8]
        switch entry.content {
        case .signal(let kind, let side, let device, let id, _):
            frame = RelayedSignal.frame(
                kind,
                id: id,
                at: call.position(of: entry),
                from: sender?.encoded(for: device.id) ?? EncodedSender(call.user(on: side), device.id),
                offer: kind == .offer ? offerExtras(of: call, message, from: side) : nil,
                reason: kind == .end ? endReason(of: call) : nil,
                around: message?.relayed ?? .none
            )
        case .state(let change):
            if change.state == .answered, let answeredAt = call.session.answeredAt {
                metrics.answerMilliseconds.record((answeredAt - call.session.startedAt).milliseconds)
            }
            frame = ServerFrame.call(change, callee: call.callee, at: call.position(of: entry))
        }
        let isLast = if case .state(let change) = entry.content { change.state == .ended } else { false }
        store(frame, of: entry, in: call, isLast: isLast)
        return frame
    }

    /// Keeps the frame of a call's newest entry, and has the entry stored.
    ///
    /// `memberBytes`: The size of the sender's own members, if the entry is of a signal that is only relayed.
    mutating func store(
        _ frame: [UInt8],
        of entry: consuming LogEntry,
        in call: Call,
        isLast: Bool,
        memberBytes: Int? = nil
    ) {
        if let memberBytes {
            call.frames.append(relayed: frame, memberBytes: memberBytes)
        } else {
            call.frames.append(frame)
        }
        countStoredEntries(of: call, newest: entry, frame.count, isLast: isLast)
        if !connections.timelineWatchers.isEmpty, let signal = TimelineRecord(copy entry) {
            report(signal, of: call, from: .log)
        }
        commits.append(.entry(call.number, EntryRecord(entry, object: frame[Frame.headroom...])))
    }

    private func offerExtras(
        of call: Call,
        _ message: SignalMessage?,
        from side: Side
    ) -> RelayedSignal.OfferExtras {
        // The call keeps its caller's displayed name; a callee's renegotiation carries the callee's own name.
        if side == .caller, let name = message?.displayName { call.displayName = name }
        let hasVideo = if case .offer(let offer)? = message?.content { offer.hasVideo } else { call.session.hasVideo }
        return RelayedSignal.OfferExtras(
            hasVideo: hasVideo,
            displayName: side == .caller ? call.displayName : message?.displayName,
            callUUID: call.uuid,
            ringUntil: call.session.ringUntil,
            isWaiting: call.isWaiting,
            isScheduled: call.scheduled != nil
        )
    }

    /// Returns the reason with which the call has ended; `nil` = the call is live.
    ///
    /// The call ends before the entry of its `end` signal is written, so the reason is known by then.
    private func endReason(of call: Call) -> EndReason? {
        if case .ended(let ending, _) = call.session.phase { return ending.reason }
        return nil
    }

    /// Makes the connections that were sent the call's end confirm it.
    func awaitEndConfirmations(of call: Call, by notified: [(Connection, Side)]) {
        for (connection, side) in notified where call.session.hasUndeliveredEnd(to: connection.device, side: side) {
            connection.awaitEndConfirmation(of: call, side)
        }
    }

    /// Sends an entry, as its frame, to every connection that it concerns; adds those that were sent the call's end to
    /// `notified`.
    ///
    /// `openedBefore`: Only connections that were opened before this moment are sent the entry; `nil` = all are.
    mutating func show(
        _ entry: LogEntry,
        as frame: [UInt8],
        of call: Call,
        openedBefore: Moment? = nil,
        notified: inout [(Connection, Side)]
    ) {
        let isEnd = if case .state(let change) = entry.content { change.state == .ended } else { false }
        let isOffer = if case .signal(.offer, .caller, _, _, _) = entry.content { true } else { false }
        for side in Side.allCases where entry.audience.reaches(side) && (side == .callee || call.scheduled == nil) {
            for connection in connections.of(call.user(on: side))
            where show(entry, as: frame, of: call, to: connection, side, openedBefore: openedBefore) {
                if isEnd { notified.append((connection, side)) }
                if isOffer { note(call, .delivered(connection.device.id)) }
            }
        }
        if tracesCalls { traceRelayed(entry, of: call) }
    }

    /// Sends an entry of a signal that is only relayed, as its frame, to every connection that it concerns.
    mutating func show(_ entry: LogEntry, as frame: [UInt8], of call: Call) {
        if entry.audience.reaches(.caller) {
            for connection in connections.of(call.caller) {
                _ = show(entry, as: frame, of: call, to: connection, .caller)
            }
        }
        if entry.audience.reaches(.callee) {
            for connection in connections.of(call.callee) {
                _ = show(entry, as: frame, of: call, to: connection, .callee)
            }
        }
        if tracesCalls { traceRelayed(entry, of: call) }
    }

    /// Sends an entry to a connection of a user on a side, if it concerns the connection; returns whether it was sent.
    @inline(__always)
    private mutating func show(
        _ entry: LogEntry,
        as frame: [UInt8],
        of call: Call,
        to connection: Connection,
        _ side: Side,
        openedBefore: Moment? = nil
    ) -> Bool {
        guard call.sees(entry, side: side, device: connection.device) else { return false }
        // The call is being replayed to this connection, and the replay will reach this entry.
        if connection.replays(call.number) { return false }
        if let openedBefore, connection.openedAt >= openedBefore { return false }
        metrics.delivered += 1
        if tracesCalls { turn.receivers.append(connection.id) }
        sendFrame(frame, at: entry.seq, of: call, to: connection)
        return true
    }

    /// Carries out the actions that are due once, when a call ends.
    private mutating func cleanUpEnded(_ call: Call) {
        guard case .ended(let ending, _) = call.session.phase, calls.ended(call) else { return }
        directory.ended(call.key, epoch: call.epoch, at: turn.now)
        metrics.callsEnded[ending.reason, default: 0] += 1
        note(call, .ended(ending.reason))
        turn.out.append(.note(.ended(call.key.id, epoch: call.epoch, ending.reason)))
        for leg in call.session.legs where leg.phase == .endNotDelivered {
            calls.endNotices.insert(call.number, for: call.user(on: leg.side))
        }
        tellMissed(call)
        if call.scheduled != nil { scheduledCallEnded(call, ending.reason) }
        reschedule(call)
    }
}
