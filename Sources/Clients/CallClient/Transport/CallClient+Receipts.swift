import CallCore
import CallWire

/// The server's acks and responses to our signals, and the state of connection and token.
extension CallClient {
    mutating func posted(_ id: SignalID, _ result: Result<Ack, RequestFailure>, at now: Moment) {
        if let index = outbox.firstIndex(where: { $0.signal.id == id }) { outbox[index].isPosting = false }
        switch result {
        case .success(let ack): acknowledged(id, ack, at: now)
        case .failure(.refused(let code)): refused(id, code, wasPosted: true, at: now)
        case .failure(.unreachable):
            guard let index = outbox.firstIndex(where: { $0.signal.id == id }) else { return }
            outbox[index].failures += 1
            outbox[index].postAfter = now + Unacknowledged.pause(after: outbox[index].failures)
            fetchLogsOfWithdrawn()
        }
    }

    mutating func acknowledged(_ id: SignalID, _ ack: Ack, at now: Moment) {
        guard let place = outbox.firstIndex(where: { $0.signal.id == id }) else { return }
        let entry = outbox.remove(at: place)
        guard let index = calls.firstIndex(where: { $0.number == entry.call }) else { return }
        if entry.role == .firstOffer {
            if let epoch = ack.epoch { setEpoch(epoch, of: index) }
            takeEarlyEnd(of: index, at: now)
            checkHiddenCalls(of: calls[index].peer, at: now)
        }
        if entry.signal.kind == .end { clearOutbox(index) }
        guard ack.state == .ended, ack.epoch == nil || ack.epoch == calls[index].epoch else {
            return
        }
        endedRemotely(index, ack.reason, replacedBy: ack.replacedBy, at: now)
    }

    /// Handles a refusal of a signal.
    ///
    /// `wasPosted`: Whether the refusal is the response to a request; otherwise it came over the connection.
    mutating func refused(_ id: SignalID, _ code: String, wasPosted: Bool, at now: Moment) {
        guard let place = outbox.firstIndex(where: { $0.signal.id == id }) else { return }
        switch WireCode(rawValue: code) {
        case .rateLimited?, .draining?, .storeUnavailable?, .keysUnavailable?, .internalError?:
            tellDelay(place, code)
            retryLater(place, at: now)
        case .notFound?:
            let since = outbox[place].notFoundSince ?? now
            outbox[place].notFoundSince = since
            if now < since + ClientLimits.notFoundTimeout {
                retryLater(place, at: now)
            } else {
                dropUnknownCall(place, at: now)
            }
        case .unauthenticated?, .tokenExpired?:
            // If the capability is refused too, the signal is sent again only after a pause.
            outbox[place].failures += 1
            outbox[place].postAfter = now + Unacknowledged.pause(after: outbox[place].failures)
            tokenExpired(at: now)
        case _ where isOvertaken(place, wasPosted: wasPosted): break
        case .callEnded?: dropSignal(place, at: now)
        case .alreadyAnswered? where outbox[place].role == .firstOffer:
            // Another device of this user uses the callId.
            failSignal(place, at: now)
        case .alreadyAnswered?: dropAnswered(place, at: now)
        case .callExists? where outbox[place].role == .firstOffer:
            let entry = outbox.remove(at: place)
            guard let index = calls.firstIndex(where: { $0.number == entry.call }) else { return }
            clearOutbox(index)
            // The peer has begun a call under the same callId, and that call continues.
            if calls[index].isOutgoingUnanswered { lostGlare(index, to: calls[index].callID, at: now) }
        case .invalidJSON?, .invalidField?, .unknownType?, .forbidden?, .methodNotAllowed?, .cursorGone?,
            .upgradeRequired?, .refusedByApp?, .decisionUnavailable?, .callExists?, .logFull?, .tooLarge?,
            .unsupportedMediaType?, .invalidSDP?, nil:
            failSignal(place, at: now)
        }
    }

    /// Drops a signal of a call that the server says is answered.
    private mutating func dropAnswered(_ place: Int, at now: Moment) {
        let entry = outbox.remove(at: place)
        guard let index = calls.firstIndex(where: { $0.number == entry.call }) else { return }
        guard entry.role == .firstAnswer else {
            // The event that ended the call for this device may have come before a late push, which then made the
            // device ring.
            if entry.signal.kind == .ringing, !calls[index].isAnswered {
                endedRemotely(index, .answeredElsewhere, replacedBy: nil, at: now)
            }
            // The server has our answer to an earlier offer, which the peer has replaced: the descriptions do not
            // match.
            let negotiation = calls[index].negotiation
            if entry.signal.kind == .answer, calls[index].isAnswered, negotiation.state == .stable,
                negotiation.nextOffer == nil
            {
                offer(
                    index,
                    Negotiation.PlannedOffer(hasVideo: calls[index].displayedPeer.hasVideo, restartsICE: true)
                )
            }
            return
        }
        if calls[index].answeringDevice == configuration.device {
            // This device answered in an earlier launch of the app, and that launch was killed during the call.
            endAsLost(index, at: now)
        } else {
            endedRemotely(index, .answeredElsewhere, replacedBy: nil, at: now)
        }
    }

    /// Returns whether a refusal answers a try of a first offer that was made before the server stated the call's epoch.
    ///
    /// The server has then taken the offer from another try. The offer still waits for its ack, and is sent again if the
    /// ack does not come, unless it was withdrawn. If the server has lost the call in a crash, that try is refused too.
    private func isOvertaken(_ place: Int, wasPosted: Bool) -> Bool {
        let entry = outbox[place]
        guard entry.role == .firstOffer, isEpochKnown(ofCall: entry.call) else { return false }
        return wasPosted ? !entry.wasPostedWithEpochKnown : !entry.wasSentWithEpochKnown
    }

    /// Tells the app why the offer that begins a call waits.
    private mutating func tellDelay(_ place: Int, _ code: String) {
        let entry = outbox[place]
        guard entry.role == .firstOffer, !entry.isWithdrawn, entry.toldDelay != code,
            let call = calls.first(where: { $0.number == entry.call }), call.isLive
        else { return }
        outbox[place].toldDelay = code
        out.append(.delayed(call.uuid, code: code))
    }

    private mutating func retryLater(_ place: Int, at now: Moment) {
        outbox[place].failures += 1
        outbox[place].sentAt = nil
        outbox[place].pauseUntil = now + Unacknowledged.pause(after: outbox[place].failures)
        // The server may have accepted a withdrawn offer although its ack or response was lost: the log shows whether
        // it did.
        if outbox[place].isWithdrawn, let index = calls.firstIndex(where: { $0.number == outbox[place].call }) {
            requestLog(of: index)
        }
    }

    /// Drops a signal whose call has ended or is unknown to the server, and fetches the log to find out whether the
    /// call has ended.
    private mutating func dropSignal(_ place: Int, at now: Moment) {
        let entry = outbox.remove(at: place)
        guard let index = calls.firstIndex(where: { $0.number == entry.call }) else { return }
        if entry.role == .firstOffer {
            clearOutbox(index)
            endedRemotely(index, .failed, replacedBy: nil, at: now)
        } else if calls[index].isLive {
            rollBack(entry, of: index)
            calls[index].mayHaveEnded = true
            requestLog(of: index)
        } else {
            clearOutbox(index)
        }
    }

    /// Withdraws a refused renegotiation; the call stays as it was.
    private mutating func rollBack(_ entry: Unacknowledged, of index: Int) {
        guard calls[index].isLive, case .offer(_, let round, _, _) = entry.signal.content,
            calls[index].negotiation.state == .offered(round: round)
        else { return }
        calls[index].negotiation.state = .stable
        out.append(.rollback(calls[index].uuid))
    }

    /// Drops a signal whose call the server has not known for a long time.
    ///
    /// It also drops the later signals of the call, except its end: the server would not find their call either.
    private mutating func dropUnknownCall(_ place: Int, at now: Moment) {
        let number = outbox[place].call
        dropSignal(place, at: now)
        outbox.removeAll { $0.call == number && $0.role == .ordinary && $0.signal.kind != .end }
    }

    /// Drops a signal that the server will never accept.
    private mutating func failSignal(_ place: Int, at now: Moment) {
        let entry = outbox.remove(at: place)
        guard let index = calls.firstIndex(where: { $0.number == entry.call }) else { return }
        switch entry.role {
        case .firstOffer:
            clearOutbox(index)
            endedRemotely(index, .failed, replacedBy: nil, at: now)
        case .firstAnswer: endLocally(index, .failed, at: now)
        case .ordinary: rollBack(entry, of: index)
        }
    }

    mutating func connectionOpened(at now: Moment) {
        guard !isConnectionRefused else { return }
        isConnected = true
        reconnectAt = nil
        isSkewStale = true
        for index in outbox.indices { outbox[index].sentAt = nil }
        // The server replays the entries of live calls that this device has missed, but sends nothing about a call that
        // it has forgotten. So the logs are fetched too.
        for index in calls.indices where calls[index].isLive && calls[index].epoch != nil {
            calls[index].mayHaveMissed = true
            requestLog(of: index)
        }
    }

    mutating func connectionClosed(at now: Moment) {
        isConnected = false
        for index in outbox.indices { outbox[index].sentAt = nil }
        fetchLogsOfWithdrawn()
        if wantsConnection, reconnectAt == nil { out.append(.connect) }
    }

    /// Whether there is anything to receive or to send, so that the app needs a connection even in the background.
    public var wantsConnection: Bool { calls.contains { $0.isLive } || !outbox.isEmpty }

    /// Asks for a connection at the moment from which a server that shut down accepts this device again.
    mutating func reconnectIfDue(at now: Moment) {
        guard !isConnected, let at = reconnectAt, now >= at else { return }
        reconnectAt = nil
        if wantsConnection { out.append(.connect) }
    }

    /// Fetches the log for a withdrawn offer that is no longer on its way: there may be no ack or response that shows
    /// whether the server accepted it.
    private mutating func fetchLogsOfWithdrawn() {
        for entry in outbox where entry.isWithdrawn && !entry.isInFlight {
            if let index = calls.firstIndex(where: { $0.number == entry.call }) { requestLog(of: index) }
        }
    }

    /// Refuses a connection with another user's token: this user's calls would be made in that user's name.
    mutating func welcomed(as user: UserID?, at now: Moment) {
        isConnectionRefused = user.map { $0 != configuration.user } ?? false
        guard let user, isConnectionRefused else { return }
        isTokenExpired = true
        out += [.tokenOfAnotherUser(user), .renewToken]
    }

    mutating func tokenExpired(at now: Moment) {
        guard !isTokenExpired else { return }
        isTokenExpired = true
        out.append(.renewToken)
    }

    mutating func tokenRenewed(at now: Moment) {
        isTokenExpired = false
        for index in outbox.indices { outbox[index].postAfter = nil }
        for index in calls.indices {
            if case .pausing(_, let failures) = calls[index].fetching { fetchLog(index, after: failures) }
        }
    }
}
