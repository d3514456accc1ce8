import CallCore

extension CallBench {
    /// Returns the call as it is restored from its stored state after a restart; `nil` if it cannot be restored.
    func restarted(uncleanStarts: Int = 0, entries: Int? = nil) -> CallSession? {
        let ending: CallSession.Ending? = if case .ended(let ending, _) = session.phase { ending } else { nil }
        var legs = session.legs
        for index in legs.indices {
            legs[index] = Leg(device: legs[index].device, side: legs[index].side, phase: legs[index].phase)
        }
        let kept = CallSession.Snapshot(
            number: session.number,
            key: session.key,
            epoch: session.epoch,
            caller: session.caller,
            startedAt: session.startedAt,
            ringUntil: session.ringUntil,
            answeredAt: session.answeredAt,
            activeAt: session.activeAt,
            ending: ending,
            legs: legs,
            answeringDevice: session.answeringDevice,
            hasVideo: session.hasVideo,
            isHidden: session.isHidden,
            callerMedia: session.callerMedia,
            calleeMedia: session.calleeMedia
        )
        return CallSession(
            restoring: kept,
            log: session.log.prefix(entries ?? session.log.count).map { ($0, 10) },
            grace: session.grace,
            uncleanStarts: uncleanStarts,
            at: now
        )
    }
}
