import CallCore

/// The peer's offers and answers after the offer that began the call.
extension CallClient {
    mutating func takeOffer(_ offer: IncomingOffer, for index: Int, at now: Moment) {
        if calls[index].isScheduled || offer.schedule != nil { return takeScheduledOffer(offer, for: index) }
        if calls[index].negotiation.isUnconfirmed, calls[index].isLive {
            // The engine already has the offer that came with the push. The log is read from the beginning, so a
            // different offer in the log may be older than the push's. The different offer is set aside until the log
            // has been read to the end.
            guard offer.sdp == calls[index].negotiation.remoteSDP else {
                calls[index].negotiation.deferredOffer = offer
                return
            }
            for candidate in calls[index].negotiation.confirm(round: offer.round, by: offer.device) {
                out.append(.addRemoteCandidate(calls[index].uuid, candidate))
            }
            updateDisplay(offer, of: index)
            return
        }
        switch calls[index].phase {
        case .ringing, .hiddenByOutgoingCall:
            calls[index].negotiation.keep(offer)
            updateDisplay(offer, of: index)
        case .answering:
            guard offer.sdp != calls[index].negotiation.remoteSDP else { return }
            calls[index].negotiation.keep(offer)
            updateDisplay(offer, of: index)
            startAnswering(index)
        case .connecting, .active: renegotiate(offer, for: index)
        // The server does not let a callee make an offer while the call rings.
        case .preparing, .calling, .ended: break
        }
    }

    /// Applies the offer that was set aside, now that the log has been read to the end.
    ///
    /// Entries are applied in the order of `seq`. If the log contained the push's copy after this offer, the copy's
    /// entry would have removed this offer (`confirm`). So an offer that is still set aside is newer than the copy.
    mutating func applyDeferredOffer(of index: Int, at now: Moment) {
        guard let offer = calls[index].negotiation.deferredOffer else { return }
        calls[index].negotiation.deferredOffer = nil
        calls[index].negotiation.isUnconfirmed = false
        takeOffer(offer, for: index, at: now)
    }

    /// Handles a new offer of the peer in an answered call.
    ///
    /// When both sides make an offer at the same time, the callee is the polite side: it withdraws its own offer and
    /// answers. The caller ignores the peer's offer.
    private mutating func renegotiate(_ offer: IncomingOffer, for index: Int) {
        guard offer.sdp != calls[index].negotiation.remoteSDP else { return }
        switch calls[index].negotiation.state {
        case .stable, .makingAnswer: break
        case .makingOffer, .offered:
            guard calls[index].negotiation.isPolite else {
                calls[index].negotiation.isIgnoring = true
                return
            }
            let hadVideo = calls[index].displayedPeer.hasVideo
            calls[index].negotiation.nextOffer =
                calls[index].negotiation.nextOffer ?? Negotiation.PlannedOffer(hasVideo: hadVideo, restartsICE: false)
            withdrawOffer(index)
        }
        calls[index].negotiation.keep(offer)
        updateDisplay(offer, of: index)
        startAnswering(index)
    }

    /// Withdraws this device's offer: from the engine, and from the outbox if the offer was not sent yet.
    mutating func withdrawOffer(_ index: Int) {
        out.append(.rollback(calls[index].uuid))
        let number = calls[index].number
        let round = calls[index].negotiation.lastRound
        outbox.removeAll { entry in
            guard entry.call == number, !entry.wasSent else { return false }
            switch entry.signal.content {
            case .offer(_, round, _, _), .ice(_, round): return true
            case .offer, .ice, .ringing, .silenced, .answer, .scheduledAnswer, .connected, .update, .dtmf, .info,
                .confirm, .end:
                return false
            }
        }
        calls[index].negotiation.state = .stable
        calls[index].negotiation.waitingLocalCandidates = []
        calls[index].negotiation.sentRound = 0
    }

    mutating func takeAnswer(_ sdp: String, round: UInt32?, by device: DeviceID?, for index: Int) {
        guard case .offered = calls[index].negotiation.state else { return }
        calls[index].negotiation.state = .stable
        setRemote(index, .answer, sdp, round: round, by: device)
        if case .calling = calls[index].phase { connecting(index) }
        makeNextOffer(index)
    }

    /// Returns what the system displays about the peer.
    ///
    /// Name and video come from the newest offer; a value that the offer does not contain stays as it was.
    func displayedPeer(_ offer: IncomingOffer, peer: UserID, before: DisplayedPeer?) -> DisplayedPeer {
        DisplayedPeer(
            handle: offer.handle ?? before?.handle ?? offer.schedule?.handle ?? peer.text,
            handleType: offer.handleType ?? (offer.handle == nil ? before?.handleType : nil) ?? .generic,
            name: offer.displayName ?? before?.name,
            hasVideo: offer.hasVideo ?? before?.hasVideo ?? SDP.offersVideo(Array(offer.sdp.utf8))
        )
    }

    mutating func updateDisplay(_ offer: IncomingOffer, of index: Int) {
        if let ringUntil = offer.ringUntil { calls[index].ringUntil = ringUntil }
        let caller = displayedPeer(offer, peer: calls[index].peer, before: calls[index].displayedPeer)
        guard caller != calls[index].displayedPeer else { return }
        calls[index].displayedPeer = caller
        if calls[index].isReported, calls[index].isShown { out.append(.update(calls[index].uuid, caller)) }
    }
}
