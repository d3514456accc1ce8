import CallClient

/// The events for the app's screens.
extension Ringline {
    /// The largest number of events that are kept until ``onEvent`` is set; the oldest are dropped first.
    static let maximumPendingEvents = 512

    func emit(_ event: RinglineEvent) {
        if let onEvent { return onEvent(event) }
        pendingEvents.append(event)
        if pendingEvents.count > Self.maximumPendingEvents { pendingEvents.removeFirst() }
    }

    func deliverPending() {
        // The handler may set another handler.
        while let onEvent, !pendingEvents.isEmpty { onEvent(pendingEvents.removeFirst()) }
    }

    /// Emits an event for each call that looks different from before.
    ///
    /// A screen identifies a call by its UUID. A call may take over the UUID of one that lost a glare; the user then goes on
    /// seeing one call.
    func emitChanges() {
        var shown: [CallUUID: CallClient.Call] = [:]
        var order: [CallUUID] = []
        for call in core.calls where call.phase.name != .hiddenByOutgoingCall {
            // The user never saw an ended call that neither the system nor a screen has shown.
            guard call.isLive || call.isReported || emittedCalls[call.uuid] != nil else { continue }
            if shown[call.uuid] == nil { order.append(call.uuid) }
            if shown[call.uuid]?.isLive != true { shown[call.uuid] = call }
        }
        let before = emittedCalls
        emittedCalls = shown
        for uuid in order {
            guard let call = shown[uuid] else { continue }
            if let known = before[uuid] {
                if known.looks(like: call) { continue }
                // The system chooses the audio route by it. The core reports only what the peer changed.
                if call.isLive, known.displayedPeer.hasVideo != call.displayedPeer.hasVideo {
                    ports.system.update(uuid, call.displayedPeer)
                }
            }
            emit(.changed(call))
        }
    }
}

extension CallClient.Call {
    /// Returns whether a screen shows both values in the same way.
    fileprivate func looks(like other: CallClient.Call) -> Bool {
        phase.name == other.phase.name && reason == other.reason && callID == other.callID && peer == other.peer
            && displayedPeer == other.displayedPeer && media == other.media && peerMedia == other.peerMedia
            && isAudioOn == other.isAudioOn && isScheduled == other.isScheduled && schedule == other.schedule
            && data == other.data
    }
}
