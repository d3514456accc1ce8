import CallCore

/// Objects from the server: which call they belong to, whether they are new, and what they mean.
extension CallClient {
    mutating func received(_ object: ServerMessage, at now: Moment) {
        switch object {
        case .welcome(let user): welcomed(as: user, at: now)
        case .other: break
        case .ack(let id, let ack): acknowledged(id, ack, at: now)
        case .error(let id?, let code): refused(id, code, wasPosted: false, at: now)
        case .draining(let pause): reconnectAt = now + min(pause, ClientLimits.longestReconnectDelay)
        case .error(nil, let code): if code == "token_expired" { tokenExpired(at: now) }
        case .signal(let envelope, let content):
            // A call has two users, and the server does not relay a user's signals to that user.
            guard let from = envelope.from, from != configuration.user else { return }
            observe(envelope.at, at: now)
            guard let index = locateCall(envelope, peer: from, at: now, isOffer: content.isOffer) else {
                if case .offer(var offer) = content {
                    offer.device = envelope.fromDevice
                    incoming(offer, envelope, from: from, at: now)
                }
                return
            }
            guard isNew(envelope, for: index) else {
                if case .offer(var offer) = content,
                    beginsAnew(envelope, for: index) || ringsAfterAll(offer, envelope, for: index, at: now)
                {
                    offer.device = envelope.fromDevice
                    clearOutbox(index)
                    incoming(offer, envelope, from: from, at: now)
                }
                return
            }
            noteFirstOffer(content, envelope, of: index)
            apply(content, by: envelope.fromDevice, to: index, at: now)
        case .call(let envelope, let event):
            observe(envelope.at, at: now)
            let peer = envelope.room.flatMap { IncomingPush.peer(inRoom: $0, of: configuration.user) }
            if let index = locateCallOfEvent(envelope, event, peer: peer, at: now) {
                guard isNew(envelope, for: index) else {
                    keepEarlyEnd(of: index, envelope, event)
                    endOnServer(index, envelope, event, at: now)
                    return
                }
                apply(event, to: index, at: now)
            } else if let peer {
                handleUnknownCall(envelope, event, peer: peer, at: now)
            }
        }
    }

    /// Returns the call that a signal belongs to, live or ended; `nil` if this device does not know that call.
    ///
    /// An incoming call without an epoch gets the epoch of the signal, unless another call has this epoch or a later
    /// epoch; then the call with exactly this epoch is returned, if there is such a call. A signal with an earlier
    /// epoch that no known call has is stale: the newest call is returned, so that `isNew` rejects the signal.
    private mutating func locateCall(
        _ envelope: ServerMessage.Envelope,
        peer: UserID,
        at now: Moment,
        isOffer: Bool
    ) -> Int? {
        guard let index = newestCall(envelope.callID, peer: peer) else { return nil }
        guard let epoch = calls[index].epoch else {
            if calls[index].side == .callee {
                // If the call known here has ended without an epoch and none of its outgoing signals waits for an ack,
                // the received signal belongs to another call.
                guard calls[index].isLive || hasUnacknowledged(index) else { return nil }
                guard !isEpochTaken(envelope.epoch, excluding: index) else { return exactCall(envelope, peer: peer) }
                setEpoch(envelope.epoch, of: index)
                return index
            }
            // The outgoing call has no epoch yet: an offer under its callId is a call that the peer makes.
            return exactCall(envelope, peer: peer)
        }
        if envelope.epoch < epoch { return exactCall(envelope, peer: peer) ?? index }
        if envelope.epoch == epoch { return index }
        // The callId is used again: the earlier call has ended.
        if isOffer { endedRemotely(index, .replaced, replacedBy: nil, at: now) }
        // The newer epoch may be known already, as an ended call.
        return exactCall(envelope, peer: peer)
    }

    private mutating func locateCallOfEvent(
        _ envelope: ServerMessage.Envelope,
        _ event: ServerMessage.StateEvent,
        peer: UserID?,
        at now: Moment
    ) -> Int? {
        guard let index = newestCall(envelope.callID, peer: peer) else { return nil }
        let isOurFirstOffer =
            event.state == .ringing && calls[index].side == .caller && isFirstOffer(event.offerID, of: index)
        // While this call has no epoch, the event is about another call in two cases:
        // 1. The event is `ringing`, and this call did not begin with the offer that the event names. The server sends
        //    `ringing` only to the device that made the call, so this device made another call with that offer.
        // 2. This call is outgoing, and none of its signals waits for an ack: its offer was not sent yet or was
        //    refused, so the server has given this call no epoch.
        let isAnother =
            event.state == .ringing && !isOurFirstOffer || calls[index].side == .caller && !hasUnacknowledged(index)
        guard let epoch = calls[index].epoch else {
            // A server that crashed may assign an epoch a second time. If the event names our offer, the epoch now
            // belongs to this call.
            let isNamed = isOurFirstOffer && event.offerID != nil
            let isNext = isOurFirstOffer || calls[index].side == .callee && !isAnother
            if isNamed || isNext && !isEpochTaken(envelope.epoch, excluding: index) {
                setEpoch(envelope.epoch, of: index)
                return index
            }
            return exactCall(envelope, peer: peer) ?? (isAnother ? nil : index)
        }
        if envelope.epoch > epoch, isOurFirstOffer {
            setEpoch(envelope.epoch, of: index)
            return index
        }
        if envelope.epoch == epoch { return index }
        return exactCall(envelope, peer: peer) ?? (envelope.epoch < epoch ? index : nil)
    }

    /// Returns whether the offer that begins a call waits for its ack and has this id; `nil` stands for any id.
    private func isFirstOffer(_ offer: SignalID?, of index: Int) -> Bool {
        outbox.contains {
            $0.call == calls[index].number && $0.role == .firstOffer && (offer == nil || $0.signal.id == offer)
        }
    }

    /// Returns the live call with a callId, else the ended call with the latest epoch; `nil` for the peer stands for
    /// any peer.
    private func newestCall(_ callID: CallID, peer: UserID?) -> Int? {
        var best: Int?
        for index in calls.indices
        where calls[index].callID == callID && (peer == nil || calls[index].peer == peer) {
            guard let other = best else {
                best = index
                continue
            }
            if calls[index].isLive != calls[other].isLive {
                if calls[index].isLive { best = index }
            } else if (calls[index].epoch ?? 0) >= (calls[other].epoch ?? 0) {
                best = index
            }
        }
        return best
    }

    private func exactCall(_ envelope: ServerMessage.Envelope, peer: UserID?) -> Int? {
        calls.lastIndex {
            $0.callID == envelope.callID && $0.epoch == envelope.epoch && (peer == nil || $0.peer == peer)
        }
    }

    /// Returns whether another call with the same callId and peer has this epoch or a later one.
    func isEpochTaken(_ epoch: UInt32, excluding index: Int) -> Bool {
        calls.contains {
            $0.number != calls[index].number && $0.callID == calls[index].callID && $0.peer == calls[index].peer
                && ($0.epoch ?? 0) >= epoch
        }
    }

    /// Stores the epoch of a call, which the server has stated.
    mutating func setEpoch(_ epoch: UInt32, of index: Int) {
        guard calls[index].epoch != epoch else { return }
        if calls[index].epoch != nil {
            calls[index].seq = 0
            calls[index].receivedSignals = []
        }
        calls[index].epoch = epoch
        // If an ended call has this epoch, the server lost that call in a crash, and that call's waiting signals must
        // not reach this call.
        for other in calls.indices where other != index && isSameCall(other, of: index) && !calls[other].isLive {
            clearOutbox(other)
        }
    }

    /// Returns whether two calls have the same callId, epoch and peer.
    private func isSameCall(_ other: Int, of index: Int) -> Bool {
        calls[other].callID == calls[index].callID && calls[other].peer == calls[index].peer
            && calls[other].epoch == calls[index].epoch
    }

    /// Remembers the offer that began a call; it may arrive after a push that announced the call.
    private mutating func noteFirstOffer(
        _ content: ServerMessage.Content,
        _ envelope: ServerMessage.Envelope,
        of index: Int
    ) {
        guard content.isOffer, calls[index].side == .callee, Self.isFirst(envelope), let device = envelope.fromDevice,
            let id = envelope.id
        else { return }
        calls[index].firstOffer = Call.SignalKey(device: device, id: id)
    }

    /// Returns whether an offer begins another call under the epoch of a call that has ended here.
    ///
    /// A server that crashed may assign an epoch a second time. An offer with the id and the device of the offer that
    /// began the ended call is a copy of that offer. An offer that is not the first entry of its call is a
    /// renegotiation.
    private func beginsAnew(_ envelope: ServerMessage.Envelope, for index: Int) -> Bool {
        guard case .ended = calls[index].phase, calls[index].side == .callee, envelope.epoch == calls[index].epoch,
            calls[index].answeringDevice != configuration.device, Self.isFirst(envelope),
            let firstOffer = calls[index].firstOffer, let device = envelope.fromDevice, let id = envelope.id
        else { return false }
        if firstOffer.id != id { return true }
        // The server makes a device id for a client without one, and may make a different one after a crash.
        return firstOffer.device != device && !DeviceIdentity.isMadeByServer(firstOffer.device)
            && !DeviceIdentity.isMadeByServer(device)
    }

    /// Returns whether a call rings after all, although its push had seemed late.
    ///
    /// The push seemed late because this device's clock is ahead. Since then, the server's messages have shown by how
    /// much.
    private func ringsAfterAll(
        _ offer: IncomingOffer,
        _ envelope: ServerMessage.Envelope,
        for index: Int,
        at now: Moment
    ) -> Bool {
        guard case .ended = calls[index].phase, calls[index].endedAsLate, envelope.epoch == calls[index].epoch,
            let until = offer.ringUntil, let skew = clockSkew
        else { return false }
        return now < until + skew
    }

    /// Returns whether an offer is the first entry of its call.
    ///
    /// Its `seq` is 1, or for some time after a crash of the server 1 plus a multiple of `Limits.restartGap`.
    static func isFirst(_ envelope: ServerMessage.Envelope) -> Bool { envelope.seq % Limits.restartGap == 1 }

    /// Keeps an end that arrived before the server stated the epoch of our call.
    private mutating func keepEarlyEnd(
        of index: Int,
        _ envelope: ServerMessage.Envelope,
        _ event: ServerMessage.StateEvent
    ) {
        guard calls[index].epoch == nil, calls[index].isLive, event.state == .ended else { return }
        if calls[index].earlyEnds.count >= ClientLimits.earlyEnds { calls[index].earlyEnds.removeFirst() }
        calls[index].earlyEnds.append(
            Call.EarlyEnd(epoch: envelope.epoch, reason: event.reason, replacedBy: event.replacedBy)
        )
    }

    /// Applies an end that was kept, now that the server has stated the epoch of our call.
    mutating func takeEarlyEnd(of index: Int, at now: Moment) {
        let ends = calls[index].earlyEnds
        calls[index].earlyEnds = []
        guard calls[index].isLive, let end = ends.last(where: { $0.epoch == calls[index].epoch }) else { return }
        endedRemotely(index, end.reason, replacedBy: end.replacedBy, at: now)
    }

    /// Returns whether an object of a live call is new, and records that it was received.
    ///
    /// An object is new if it has the call's epoch, a `seq` above that of every object received before, and a signal id
    /// that was not received from the same device before.
    private mutating func isNew(_ envelope: ServerMessage.Envelope, for index: Int) -> Bool {
        guard calls[index].isLive, envelope.epoch == calls[index].epoch, envelope.seq > calls[index].seq else {
            return false
        }
        calls[index].seq = envelope.seq
        guard let device = envelope.fromDevice, let id = envelope.id else { return true }
        let name = Call.SignalKey(device: device, id: id)
        guard !calls[index].receivedSignals.contains(name) else { return false }
        if calls[index].receivedSignals.count >= ClientLimits.signalIDs { calls[index].receivedSignals.removeFirst() }
        calls[index].receivedSignals.append(name)
        return true
    }

    /// Updates the clock skew.
    ///
    /// The time from the server's timestamp until now is the skew plus the delay of the message. So the shortest such
    /// time is the best estimate of the skew.
    private mutating func observe(_ at: Moment?, at now: Moment) {
        guard let at else { return }
        let distance = now - at
        if isSkewStale || clockSkew.map({ distance < $0 }) ?? true { clockSkew = distance }
        isSkewStale = false
    }

    private mutating func apply(_ content: ServerMessage.Content, by device: DeviceID?, to index: Int, at now: Moment) {
        let uuid = calls[index].uuid
        switch content {
        case .offer(var offer):
            offer.device = device
            takeOffer(offer, for: index, at: now)
        case .ringing:
            guard case .calling = calls[index].phase, !calls[index].hasHeardRinging else { return }
            calls[index].hasHeardRinging = true
            out.append(.peerRinging(uuid))
        case .answer(let sdp, let round): takeAnswer(sdp, round: round, by: device, for: index)
        case .ice(let candidate, let round):
            let one = Negotiation.WaitingCandidate(candidate: candidate, round: round, device: device)
            switch calls[index].negotiation.decision(about: one) {
            case .add: out.append(.addRemoteCandidate(uuid, candidate))
            case .keep: calls[index].negotiation.keep(one)
            case .drop: break
            }
        case .connected: break
        case .update(let update):
            let before = calls[index].peerMedia
            calls[index].peerMedia.apply(update)
            if calls[index].peerMedia != before { out.append(.peerMedia(uuid, calls[index].peerMedia)) }
        case .dtmf(let digits): out.append(.receivedDTMF(uuid, digits))
        case .info(let text): out.append(.receivedInfo(uuid, text))
        case .end(let reason): endedRemotely(index, reason, replacedBy: nil, at: now)
        }
    }

    private mutating func apply(_ event: ServerMessage.StateEvent, to index: Int, at now: Moment) {
        switch event.state {
        case .ringing: break
        case .answered, .active:
            guard let answeringDevice = event.answeredBy else { return }
            guard calls[index].side == .callee else {
                answered(index, by: answeringDevice)
                return
            }
            calls[index].answeringDevice = answeringDevice
            if answeringDevice != configuration.device {
                if calls[index].isIncomingUnanswered {
                    endedRemotely(index, .answeredElsewhere, replacedBy: nil, at: now)
                }
            } else if calls[index].isIncomingUnanswered || calls[index].phase.name == .answering {
                // This device answered in an earlier launch of the app. The media of that launch is gone, so the call
                // ends.
                endAsLost(index, at: now)
            }
        case .ended: endedRemotely(index, event.reason, replacedBy: event.replacedBy, at: now)
        }
    }

    /// Handles the server's statement of which device answered our call.
    ///
    /// If the answering device is not the device whose answer arrived here, the server lost that answer in a crash, and
    /// the answering device was the first to answer after the crash. A new offer sets up the media with the answering
    /// device.
    private mutating func answered(_ index: Int, by answeringDevice: DeviceID) {
        let negotiation = calls[index].negotiation
        guard calls[index].isAnswered, let device = negotiation.remoteDevice, device != answeringDevice,
            negotiation.state == .stable, negotiation.nextOffer == nil
        else { return }
        offer(index, Negotiation.PlannedOffer(hasVideo: calls[index].displayedPeer.hasVideo, restartsICE: true))
    }
}

extension ServerMessage.Content {
    var isOffer: Bool {
        if case .offer = self { true } else { false }
    }
}
