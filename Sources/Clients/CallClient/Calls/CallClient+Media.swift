import CallCore

/// The media engine's events, and the requests to it.
extension CallClient {
    /// Asks the engine for an offer.
    mutating func offer(_ index: Int, _ wish: Negotiation.PlannedOffer) {
        let round = calls[index].negotiation.nextRound()
        calls[index].negotiation.hadVideo = calls[index].displayedPeer.hasVideo
        calls[index].negotiation.state = .makingOffer(round: round)
        calls[index].negotiation.nextOffer = nil
        calls[index].negotiation.waitingLocalCandidates = []
        calls[index].displayedPeer.hasVideo = wish.hasVideo
        out.append(
            .makeOffer(calls[index].uuid, round: round, hasVideo: wish.hasVideo, restartsICE: wish.restartsICE)
        )
    }

    /// Sets the peer's offer and asks the engine for an answer; fetches the log if the offer is missing.
    ///
    /// A scheduled call has no description: its answer is sent at once.
    mutating func startAnswering(_ index: Int) {
        if calls[index].isScheduled { return answerScheduled(index) }
        guard let offer = calls[index].negotiation.remoteOffer else {
            requestLog(of: index)
            return
        }
        setRemote(index, .offer, offer.sdp, round: offer.round, by: offer.device, isCopy: offer.isCopy)
        let round = calls[index].negotiation.nextRound()
        calls[index].negotiation.state = .makingAnswer(round: round)
        calls[index].negotiation.waitingLocalCandidates = []
        out.append(.makeAnswer(calls[index].uuid, round: round))
    }

    /// Hands a description of the peer to the engine, then the candidates that waited for it (invariant I5).
    mutating func setRemote(
        _ index: Int,
        _ kind: DescriptionKind,
        _ sdp: String,
        round: UInt32?,
        by device: DeviceID?,
        isCopy: Bool = false
    ) {
        calls[index].usesMedia = true
        out.append(.setRemoteDescription(calls[index].uuid, kind, sdp: sdp))
        for candidate in calls[index].negotiation.set(remote: sdp, round: round, by: device, isCopy: isCopy) {
            out.append(.addRemoteCandidate(calls[index].uuid, candidate))
        }
    }

    mutating func localDescription(
        _ uuid: CallUUID,
        _ round: UInt32,
        _ kind: DescriptionKind,
        _ sdp: String,
        at now: Moment
    ) {
        // A description is ignored if the call has ended or the description was withdrawn while the engine made it.
        guard let index = liveIndex(uuid) else { return }
        switch (calls[index].negotiation.state, kind) {
        case (.makingOffer(round), .offer): offerMade(index, round, sdp, at: now)
        case (.makingAnswer(round), .answer): answerMade(index, round, sdp)
        case (.stable, _), (.offered, _), (.makingOffer, _), (.makingAnswer, _): return
        }
        calls[index].negotiation.sentRound = round
        let early = calls[index].negotiation.waitingLocalCandidates
        calls[index].negotiation.waitingLocalCandidates = []
        for one in early where one.round == round { enqueue(.ice(one.candidate, round: round), of: index) }
        makeNextOffer(index)
    }

    /// Asks the engine for the pending offer, unless an exchange of descriptions is still under way.
    mutating func makeNextOffer(_ index: Int) {
        guard calls[index].isAnswered, calls[index].negotiation.state == .stable,
            let wish = calls[index].negotiation.nextOffer
        else { return }
        offer(index, wish)
    }

    private mutating func offerMade(_ index: Int, _ round: UInt32, _ sdp: String, at now: Moment) {
        let hasVideo = calls[index].displayedPeer.hasVideo
        calls[index].negotiation.state = .offered(round: round)
        guard case .preparing = calls[index].phase else {
            enqueue(.offer(sdp: sdp, round: round, hasVideo: hasVideo, begin: nil), of: index)
            calls[index].negotiation.answerBy = now + ClientLimits.renegotiationTimeout
            return
        }
        calls[index].phase = .calling(until: now + configuration.ringTimeout + ClientLimits.ringGrace)
        let firstOffer = OutgoingSignal.FirstOfferFields(
            displayName: configuration.displayName,
            ringTimeout: configuration.ringTimeout
        )
        enqueue(.offer(sdp: sdp, round: round, hasVideo: hasVideo, begin: firstOffer), of: index, as: .firstOffer)
    }

    private mutating func answerMade(_ index: Int, _ round: UInt32, _ sdp: String) {
        calls[index].negotiation.state = .stable
        if case .answering = calls[index].phase {
            enqueue(.answer(sdp: sdp, round: round), of: index, as: .firstAnswer)
            connecting(index)
        } else {
            enqueue(.answer(sdp: sdp, round: round), of: index)
        }
    }

    /// Enters the phase `connecting`: both descriptions are there.
    mutating func connecting(_ index: Int) {
        calls[index].phase = .connecting
        out.append(.reportConnecting(calls[index].uuid))
        // Notifies the peer of what this user held or muted before the answer.
        let media = calls[index].media
        let change = MediaUpdate(
            hold: media.hold == true ? true : nil,
            audioMuted: media.audioMuted == true ? true : nil,
            videoMuted: media.videoMuted == true ? true : nil
        )
        if change != MediaUpdate() { enqueue(.update(change), of: index) }
    }

    mutating func localCandidate(_ uuid: CallUUID, _ round: UInt32, _ candidate: String?, at now: Moment) {
        guard let index = liveIndex(uuid) else { return }
        let negotiation = calls[index].negotiation
        let isBeingMade =
            negotiation.state == .makingOffer(round: round) || negotiation.state == .makingAnswer(round: round)
        if isBeingMade {
            guard negotiation.waitingLocalCandidates.count < ClientLimits.candidates else { return }
            calls[index].negotiation.waitingLocalCandidates.append(
                Negotiation.WaitingCandidate(candidate: candidate, round: round)
            )
        } else if round == negotiation.sentRound, round > 0 {
            // If too many signals wait, this candidate is dropped: ICE can work with the other candidates.
            enqueue(.ice(candidate, round: round), of: index)
        }
    }

    mutating func mediaConnected(_ uuid: CallUUID, at now: Moment) {
        guard let index = liveIndex(uuid), case .connecting = calls[index].phase else { return }
        calls[index].phase = .active
        enqueue(.connected, of: index)
        out.append(.reportConnected(uuid))
    }

    mutating func mediaFailed(_ uuid: CallUUID, at now: Moment) {
        guard let index = liveIndex(uuid), !calls[index].isIncomingUnanswered, !calls[index].isScheduled else { return }
        endLocally(index, .failed, at: now)
    }

    /// Ends an exchange that the engine could not carry out; an answered call keeps its previous descriptions.
    mutating func negotiationFailed(_ uuid: CallUUID, _ round: UInt32, at now: Moment) {
        guard let index = liveIndex(uuid), !calls[index].isIncomingUnanswered, !calls[index].isScheduled else { return }
        guard calls[index].isAnswered else { return endLocally(index, .failed, at: now) }
        switch calls[index].negotiation.state {
        case .makingOffer(round), .offered(round): abandonOffer(index)
        case .makingAnswer(round):
            calls[index].negotiation.state = .stable
            calls[index].negotiation.waitingLocalCandidates = []
            makeNextOffer(index)
        // The answer that could not be set has ended its exchange here, and a later exchange has a round of its own.
        case .stable, .offered, .makingOffer, .makingAnswer: break
        }
    }

    /// Withdraws an offer that failed or got no answer, and makes the pending one.
    private mutating func abandonOffer(_ index: Int) {
        calls[index].displayedPeer.hasVideo = calls[index].negotiation.hadVideo
        withdrawOffer(index)
        makeNextOffer(index)
    }

    /// Withdraws an answered call's offer that got no answer in time: the peer's engine may have refused it.
    ///
    /// An offer that has not reached the server yet keeps waiting.
    mutating func abandonUnansweredOffer(_ index: Int, at now: Moment) {
        guard calls[index].isAnswered, let until = calls[index].negotiation.answerDue, now >= until else { return }
        guard outbox.contains(where: { $0.call == calls[index].number && $0.signal.kind == .offer }) else {
            return abandonOffer(index)
        }
        calls[index].negotiation.answerBy = now + ClientLimits.renegotiationTimeout
    }
}
