import CallCore
import CallPorts

/// Notices that a push service did not take: each is sent again as long as it is useful.
///
/// Otherwise one fault of the service would leave a finished call's alert on the screen.
extension Switchboard {
    /// Returns the consequence of a notice's result, and sends the notice again: once to the other environment if this one
    /// does not know its push token, and after a pause if the fault may pass.
    mutating func judgeNotice(_ result: PushResult, _ pending: PendingPush) -> DevicePush.Consequence {
        if result.condemnsToken(of: pending.kind) { return .tokenIsBad }
        if pending.kind.isThroughAPNs, case .response(400, "BadDeviceToken", _) = result {
            guard !pending.triedOther, let route = pending.route.inOtherEnvironment else { return .tokenIsBad }
            var next = pending
            next.route = route
            next.triedOther = true
            sendAgain(next)
            return .tryOther
        }
        guard let moment = nextAttempt(of: pending, after: result) else { return .ignore }
        let id = pushes.makeID()
        pushes.wait(pending, as: id)
        // The call stays in memory until the notice was sent.
        pending.call.flatMap { calls[$0] }?.openPushes += 1
        schedule(.notice(id), at: moment)
        return .retry
    }

    /// When to retry a notice; `nil` = never.
    private func nextAttempt(of pending: PendingPush, after result: PushResult) -> Moment? {
        var moment = turn.now + DevicePush.pause(after: pending.attempts)
        switch result {
        case .response(429, _, _), .response(500...599, _, _), .notSent: break
        case .deferred(_, _, let until): moment = max(moment, until)
        // The service may have the notice. A call's second notice replaces the first one; a text would be there twice.
        case .unreachable where pending.call != nil: break
        case .unreachable, .response, .impossible, .cancelled, .onlyLogged: return nil
        }
        guard let original = pending.original, moment < original.expiresAt else { return nil }
        return moment
    }

    /// Sends a notice again whose pause is over.
    mutating func noticeIsDue(_ id: PushID) {
        guard var pending = pushes.removeWaiting(id) else { return }
        let call = pending.call.flatMap { calls[$0] }
        call?.openPushes -= 1
        guard !connections.isDraining else { return }
        if let call { reschedule(call) }
        pending.attempts += 1
        sendAgain(pending)
    }

    /// Sends a notice again, if its user still wants it.
    ///
    /// A missed call that its user no longer wants to hear of is only over: its alert must still go off the screen.
    private mutating func sendAgain(_ pending: PendingPush) {
        let call = pending.call.flatMap { calls[$0] }
        guard var push = pending.original, turn.now < push.expiresAt,
            let device = directory.device(pending.device, of: pending.user),
            let route = route(of: pending, to: device)
        else { return }
        guard isWanted(pending, of: call, by: device) else {
            guard let call else { return }
            note(call, .pushCancelled(device.id))
            if mayShow(call, on: device.id) { tellOver(call, to: device.id) }
            return
        }
        push.id = pushes.makeID()
        push.route = route
        var next = pending
        if route.token != pending.token { next.triedOther = false }
        next.route = route
        next.sentAt = turn.now
        next.original = push
        sendPush(push, for: next, in: call)
    }

    /// Returns whether a user still wants a notice: they may have set do-not-disturb or blocked its sender meanwhile.
    private func isWanted(_ notice: PendingPush, of call: Call?, by device: DeviceRecord) -> Bool {
        if let sender = notice.textFrom {
            return directory.reasonToHide(sender, from: notice.user, at: turn.date) == nil
        }
        guard let call, notice.afterRinging == .missed else { return true }
        return mayHearOfMissed(call, device)
    }

    /// Returns the route of a notice's next attempt; `nil` = the device has no push token of its kind any more.
    ///
    /// The device may have registered another token since the last attempt, or a browser other keys for its
    /// subscription.
    private func route(of pending: PendingPush, to device: DeviceRecord) -> PushRoute? {
        if device.token(for: pending.kind) == pending.token, pending.kind.isThroughAPNs { return pending.route }
        return device.route(for: pending.kind, environment(of: device))
    }
}
