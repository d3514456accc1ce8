import CallCore
import CallWire

/// Two limits of each user: on `end` signals without effect, and on stored bytes.
extension Switchboard {
    // MARK: Ends

    /// Whether an end is accepted now.
    ///
    /// An end that ends a call is always accepted: there are at most as many such ends as calls. Other ends have a rate
    /// limit.
    mutating func mayEnd(_ message: SignalMessage, by user: UserID, _ device: DeviceIdentity) -> Bool {
        limits.ends.admit(user, at: turn.now) || endsCall(message, by: user, device)
    }

    /// Whether an `end` is for a call that has not ended for the sending device.
    private func endsCall(_ message: SignalMessage, by user: UserID, _ device: DeviceIdentity) -> Bool {
        // A room of other users is refused when the end is handled.
        let peer = try? message.peer(for: user)
        let found =
            message.callID.map { calls.find($0, for: user, with: peer, on: device) }
            ?? peer.flatMap { calls.live(of: user, with: $0) }
        guard let call = found, let side = call.side(of: user) else { return false }
        let visible = call.session.visibleState(side: side, device: call.session.actingDevice(for: device, on: side))
        return visible.state != .ended
    }

    // MARK: Kept bytes

    /// Counts a call's uncounted entries towards the quotas of the users that caused them: every few entries, after a
    /// large one, and after the last.
    @inline(__always)
    mutating func countStoredEntries(of call: Call, newest entry: LogEntry, _ size: Int, isLast: Bool) {
        guard isLast || size > SwitchboardLimits.largeEntry || entry.seq & (SwitchboardLimits.countedEvery - 1) == 0
        else { return }
        countStoredEntries(of: call, at: entry.at)
    }

    private mutating func countStoredEntries(of call: Call, at moment: Moment) {
        var bytes = (caller: call.uncountedBytes, callee: 0)
        call.uncountedBytes = 0
        for index in min(call.countedEntries, call.frames.count)..<call.frames.count {
            let size = call.frames.byteCount(at: index) + SwitchboardLimits.rowBytes
            if case .signal(_, .callee, _, _, _) = call.session.log[index].content {
                bytes.callee += size
            } else {
                bytes.caller += size
            }
        }
        call.countedEntries = call.frames.count
        limits.quotas.spend(bytes.caller, for: call.owner, at: moment)
        limits.quotas.spend(bytes.callee, for: call.callee, at: moment)
    }

    /// Counts an event of a call's timeline towards its caller's quota.
    mutating func countStoredEvent(_ bytes: Int, of call: Call) {
        call.uncountedBytes += bytes + SwitchboardLimits.rowBytes
        if call.uncountedBytes > SwitchboardLimits.largeEntry || !call.isLive {
            countStoredEntries(of: call, at: turn.now)
        }
    }

    /// Returns the refusal for a user whose quota of stored bytes is used up; `nil` = the quota is not used up.
    mutating func quotaRefusal(of user: UserID) -> WireError? {
        guard let seconds = limits.quotas.secondsUntilRefill(of: user, at: turn.now) else { return nil }
        let rule = "at most \(policy.storedBytesPerDay) bytes a day are stored for a user"
        return exceeded(.storedBytes, rule, retryAfterSeconds: seconds)
    }
}
