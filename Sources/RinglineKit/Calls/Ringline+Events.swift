import CallClient

/// The events for the app's screens.
extension Ringline {
    /// The largest number of events that are kept until somebody reads them; the oldest go first.
    static let keptEvents = 512

    func tell(_ event: RinglineEvent) {
        if let onEvent { return onEvent(event) }
        kept.append(event)
        if kept.count > Self.keptEvents { kept.removeFirst(kept.count - Self.keptEvents) }
    }

    func deliverKept() {
        // A reader may set another reader.
        while let onEvent, !kept.isEmpty { onEvent(kept.removeFirst()) }
    }

    /// Tells of each call that looks different than before.
    ///
    /// A screen knows a call by its UUID. When a call takes over the UUID of one that lost a glare, the user goes on seeing
    /// one call.
    func tellChanges() {
        var shown: [CallUUID: CallClient.Call] = [:]
        var order: [CallUUID] = []
        for call in core.calls where call.phase.name != .hiddenByOutgoingCall {
            // An ended call that the system never showed, and that no screen showed, is none for the user.
            guard call.isLive || call.isReported || told[call.uuid] != nil else { continue }
            if shown[call.uuid] == nil { order.append(call.uuid) }
            if shown[call.uuid]?.isLive != true { shown[call.uuid] = call }
        }
        let before = told
        told = shown
        for uuid in order {
            guard let call = shown[uuid] else { continue }
            if let known = before[uuid], known.looks(like: call) { continue }
            tell(.changed(call))
        }
    }
}

extension CallClient.Call {
    /// Whether a screen shows both values in the same way.
    fileprivate func looks(like other: CallClient.Call) -> Bool {
        phase.name == other.phase.name && reason == other.reason && callID == other.callID && peer == other.peer
            && displayedPeer == other.displayedPeer && media == other.media && peerMedia == other.peerMedia
            && isAudioOn == other.isAudioOn
    }
}
