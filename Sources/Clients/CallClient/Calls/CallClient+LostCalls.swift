import CallCore

/// Lost calls: the server still counts this device as part of them, but the app was restarted, say.
extension CallClient {
    /// Makes the server end a call that has ended here, if the server still counts this device as part of it.
    ///
    /// The message that should have ended the call on the server was lost or malformed.
    mutating func endOnServer(
        _ index: Int,
        _ envelope: ServerMessage.Envelope,
        _ event: ServerMessage.StateEvent,
        at now: Moment
    ) {
        guard case .ended(let reason, _) = calls[index].phase, envelope.epoch == calls[index].epoch,
            event.state != .ended, !isBeingEnded(index)
        else { return }
        // Only the calling device gets `ringing`, so the server's call is one that this device made. If the call here
        // is incoming, then the server crashed and gave the same epoch to a call that an earlier launch of the app
        // made.
        if event.state == .ringing { calls[index].side = .caller }
        // An incoming call continues if another device of this user answered it.
        let isOurs = calls[index].side == .caller || event.answeredBy == configuration.device
        guard isOurs else { return }
        // The time limit for delivering an end counts from now.
        calls[index].phase = .ended(reason, at: now)
        enqueueEndOfLostCall(index)
    }

    /// Handles an event of a call that is unknown here.
    ///
    /// An ended call is remembered, because a push for it may still be on the way. If the call is live, an earlier
    /// launch of the app took part in it. The media of that launch is gone, so this device ends the call.
    mutating func handleUnknownCall(
        _ envelope: ServerMessage.Envelope,
        _ event: ServerMessage.StateEvent,
        peer: UserID,
        at now: Moment
    ) {
        // A live call's events go to the calling device and, after the answer, to the answering device. So if the event
        // does not name this device as the answering device, this device made the call.
        let answeredHere = event.answeredBy.map { $0 == configuration.device } ?? false
        let isOutgoing = event.state != .ended && !answeredHere
        let index = remember(
            envelope.callID,
            epoch: envelope.epoch,
            with: peer,
            side: isOutgoing ? .caller : .callee,
            endedFor: event.state == .ended ? event.reason ?? .hangup : .disconnected,
            at: now
        )
        if event.state != .ended { enqueueEndOfLostCall(index) }
    }

    /// Ends a call that an earlier launch of the app answered, here and on the server: its media are gone.
    mutating func endAsLost(_ index: Int, at now: Moment) {
        guard calls[index].isLive else { return }
        sendEnd(of: index, .disconnected, answered: true)
        markEnded(index, .disconnected, reports: true, at: now)
    }

    /// Sends the end of a call whose media are gone.
    ///
    /// The event that revealed the call may be older than the call's answer, so the server decides on the reason:
    /// before the answer, the caller's end cancels the call.
    private mutating func enqueueEndOfLostCall(_ index: Int) { enqueue(.end(.disconnected), of: index) }
}
