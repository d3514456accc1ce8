import CallCore

/// Scheduled calls, which the server itself begins: nobody is on the other side, and the media engine has no part in them.
extension CallClient {
    /// Records what an offer or a push says about the schedule of a call.
    ///
    /// The schedule of a push lacks some parts, and the push may come after the offer.
    mutating func note(_ schedule: IncomingSchedule, of index: Int) {
        calls[index].isScheduled = true
        calls[index].schedule = schedule.id ?? calls[index].schedule
        calls[index].data = schedule.data ?? calls[index].data
    }

    /// Returns whether a call is a scheduled one, or not known to be an ordinary one.
    func mayBeScheduled(_ call: Call) -> Bool {
        let isOrdinary = call.usesMedia || call.negotiation.remoteSDP != nil || call.negotiation.remoteOffer != nil
        return call.isLive && call.side == .callee && (call.isScheduled || !isOrdinary)
    }

    /// Handles an offer of a known call if the offer or the call is a scheduled one.
    mutating func takeScheduledOffer(_ offer: IncomingOffer, for index: Int) {
        let call = calls[index]
        guard let schedule = offer.schedule, mayBeScheduled(call) else { return }
        note(schedule, of: index)
        calls[index].negotiation.keep(offer)
        updateDisplay(offer, of: index)
        let isNews =
            !call.isScheduled || call.schedule != calls[index].schedule || call.data != calls[index].data
        // `updateDisplay` has reported the call already if its name has changed as well.
        if isNews, call.displayedPeer == calls[index].displayedPeer, call.isReported, call.isShown {
            out.append(.update(call.uuid, call.displayedPeer))
        }
        if case .answering = call.phase { answerScheduled(index) }
    }

    /// Answers a scheduled call: nobody has to be connected, so the call is active at once.
    mutating func answerScheduled(_ index: Int) {
        calls[index].phase = .active
        enqueue(.scheduledAnswer, of: index, as: .firstAnswer)
        enqueue(.connected, of: index)
        out.append(.reportConnecting(calls[index].uuid))
        out.append(.reportConnected(calls[index].uuid))
    }

    mutating func confirm(_ uuid: CallUUID) {
        guard let index = liveIndex(uuid) else {
            out.append(.refused(uuid, .unknownCall))
            return
        }
        // A second confirmation, while the first one is on its way, would change nothing.
        guard !isBeingConfirmed(index) else { return }
        guard calls[index].isScheduled, enqueue(.confirm, of: index) else {
            out.append(.refused(uuid, .notPossible))
            return
        }
        if !isConnected { out.append(.connect) }
    }

    /// Returns whether a confirmation of a call waits for its ack.
    func isBeingConfirmed(_ index: Int) -> Bool {
        outbox.contains { $0.call == calls[index].number && $0.signal.content == .confirm }
    }
}
