import CallCore

/// Signals on their way to the server: resent under the same id, in order, until they are acknowledged.
extension CallClient {
    /// Appends a signal to the outbox; `false` when too many signals of the call wait already.
    @discardableResult
    mutating func enqueue(
        _ content: OutgoingSignal.Content,
        of index: Int,
        as role: Unacknowledged.Role = .ordinary
    ) -> Bool {
        let call = calls[index]
        // There is always room for an end.
        if case .end = content {
        } else {
            guard outbox.count(where: { $0.call == call.number }) < ClientLimits.unacknowledged else { return false }
        }
        guard let id = newSignalID() else { return false }
        var signal = OutgoingSignal(
            id: id,
            callID: call.callID,
            epoch: nil,
            peer: call.peer,
            user: configuration.user,
            device: configuration.device,
            content: content
        )
        if signal.kind == .offer {
            signal.handle = configuration.handle.map { configuration.handleType.normalized($0) }
            signal.handleType = configuration.handleType
        }
        outbox.append(Unacknowledged(signal: signal, call: call.number, role: role))
        return true
    }

    mutating func newSignalID() -> SignalID? {
        lastSignalNumber += 1
        let prefix = String(decoding: configuration.signalIDPrefix.utf8.prefix(40), as: UTF8.self)
        // If the prefix is cut within a character, U+FFFD (3 bytes) replaces the cut character: the id stays within 64
        // bytes.
        return SignalID("\(prefix)-\(lastSignalNumber)")
    }

    /// Sends the signals and the requests for logs that are due.
    ///
    /// It runs after every input, so that the returned outputs are complete.
    mutating func sendDue(at now: Moment) {
        dropExpiredEnds(at: now)
        for index in outbox.indices {
            if let until = outbox[index].pauseUntil, now >= until { outbox[index].pauseUntil = nil }
            if let until = outbox[index].postAfter, now >= until { outbox[index].postAfter = nil }
        }
        var withHead: Set<UInt64> = []
        var held: Set<UInt64> = []
        for index in outbox.indices where !outbox[index].isWithdrawn && !held.contains(outbox[index].call) {
            let isHead = withHead.insert(outbox[index].call).inserted
            guard outbox[index].pauseUntil == nil, fillEpoch(at: index) else {
                held.insert(outbox[index].call)
                continue
            }
            if isConnected, outbox[index].sentAt == nil {
                outbox[index].sentAt = now
                outbox[index].wasSent = true
                outbox[index].wasSentWithEpochKnown = isEpochKnown(ofCall: outbox[index].call)
                out.append(.send(outbox[index].signal))
            }
            if isHead { postIfDue(index, at: now) }
        }
        for index in calls.indices {
            if case .pausing(let until, let failures) = calls[index].fetching, now >= until {
                fetchLog(index, after: failures)
            }
        }
    }

    private mutating func postIfDue(_ index: Int, at now: Moment) {
        let entry = outbox[index]
        guard !entry.isPosting, entry.postAfter == nil else { return }
        if isConnected, let sentAt = entry.sentAt, now < sentAt + ClientLimits.ackTimeout { return }
        guard let authorization = authorization(for: entry.signal, of: entry.call) else { return }
        outbox[index].isPosting = true
        outbox[index].wasSent = true
        outbox[index].wasPostedWithEpochKnown = isEpochKnown(ofCall: entry.call)
        out.append(.post(entry.signal, authorization))
    }

    /// Writes the epoch into a signal; `false` when the signal needs an epoch that is not known yet.
    private mutating func fillEpoch(at index: Int) -> Bool {
        if outbox[index].role == .firstOffer { return true }
        guard let call = calls.first(where: { $0.number == outbox[index].call }), let epoch = call.epoch else {
            return false
        }
        outbox[index].signal.epoch = epoch
        return true
    }

    func isEpochKnown(ofCall number: UInt64) -> Bool {
        calls.contains { $0.number == number && $0.epoch != nil }
    }

    /// Returns the authorisation for a signal; `nil` when the signal must wait for a fresh token.
    private func authorization(for signal: OutgoingSignal, of number: UInt64) -> Authorization? {
        guard isTokenExpired else { return .token }
        guard let call = calls.first(where: { $0.number == number }) else { return nil }
        // The capability covers all a scheduled call needs. An ordinary call also needs TURN, hence a fresh token: its
        // answer waits.
        guard signal.kind == .ringing || signal.kind == .end || call.isScheduled else { return nil }
        return call.capability.map { .capability($0) }
    }

    /// Drops the ends that could not be delivered in time: by now the server has ended their calls anyway.
    private mutating func dropExpiredEnds(at now: Moment) {
        guard !outbox.isEmpty else { return }
        for index in calls.indices {
            guard case .ended(_, let at) = calls[index].phase, now >= at + ClientLimits.endTimeout else { continue }
            clearOutbox(index)
        }
    }

    /// The next moment at which something is due in the outbox.
    var outboxDeadline: Moment? {
        guard !outbox.isEmpty else { return nil }
        var next: Moment?
        var withHead: Set<UInt64> = []
        for entry in outbox {
            let call = calls.firstIndex { $0.number == entry.call }
            let hasEpoch = call.map { calls[$0].epoch != nil } ?? false
            if let call, case .ended(_, let at) = calls[call].phase {
                next = Self.earlier(next, at + ClientLimits.endTimeout)
            }
            guard !entry.isWithdrawn else { continue }
            let isHead = withHead.insert(entry.call).inserted
            if let until = entry.pauseUntil {
                next = Self.earlier(next, until)
                continue
            }
            guard isHead, !entry.isPosting, entry.role == .firstOffer || hasEpoch,
                authorization(for: entry.signal, of: entry.call) != nil
            else { continue }
            let timeout = isConnected ? entry.sentAt.map { $0 + ClientLimits.ackTimeout } : nil
            switch (timeout, entry.postAfter) {
            case (let a?, let b?): next = Self.earlier(next, max(a, b))
            case (let one?, nil), (nil, let one?): next = Self.earlier(next, one)
            case (nil, nil): break
            }
        }
        return next
    }

    /// Removes all signals of a call from the outbox.
    mutating func clearOutbox(_ index: Int) {
        let number = calls[index].number
        outbox.removeAll { $0.call == number }
    }

    /// Whether an unacknowledged signal will end this call on the server, or reveal that it has ended there.
    ///
    /// A `ringing` does neither: the system may not show a call that an earlier launch of the app has answered.
    func isBeingEnded(_ index: Int) -> Bool {
        outbox.contains { $0.call == calls[index].number && $0.signal.kind != .ringing }
    }

    func hasUnacknowledged(_ index: Int, _ role: Unacknowledged.Role? = nil) -> Bool {
        outbox.contains { $0.call == calls[index].number && (role == nil || $0.role == role) }
    }
}
