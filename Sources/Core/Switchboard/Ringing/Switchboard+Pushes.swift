import CallCore
import CallPorts
import CallWire

/// Pushes: how they are requested, and how they are cancelled.
extension Switchboard {
    mutating func sendPush(_ id: PushID, _ push: DevicePush, to device: DeviceRecord, for call: Call) {
        let now = turn.now
        guard let route = push.route else { return }
        let payload = PushPayload.incoming(
            call,
            to: device,
            as: route.kind,
            capabilities: ports.capabilities,
            aliases: policy.aliases(for: device),
            omitsOffer: push.omitsOffer,
            at: now
        )
        requestPush(
            id,
            by: route,
            to: device,
            for: call,
            payload: payload,
            expiresAt: call.session.ringUntil,
            hasOtherRoute: otherRoute(of: device, than: route.kind, push) != nil
        )
    }

    /// Requests a push for a call from the push service, and records it in the timeline.
    ///
    /// `news`: What the push says of a call that no longer rings; `nil` = the push rings the device.
    mutating func requestPush(
        _ id: PushID,
        by route: PushRoute,
        to device: DeviceRecord,
        for call: Call,
        _ news: PendingPush.AfterRinging? = nil,
        payload: [UInt8],
        expiresAt: Moment,
        hasOtherRoute: Bool = false
    ) {
        var pending = PendingPush(
            call: call.number,
            user: device.user,
            device: device.id,
            route: route,
            sentAt: turn.now,
            afterRinging: news
        )
        let name = news.map { "/\($0.rawValue)" } ?? ""
        var push = OutgoingPush(
            id: id,
            route: route,
            uuid: UUIDv5.url("ringline:\(call.key.id.folded)/\(call.epoch)/\(device.id.text)\(name)"),
            payload: payload,
            kept: pending.isNotice ? .aDay : pending.kind == .voip ? .never : .untilExpiry,
            collapseID: pending.kind == .alert || pending.kind == .web ? PushPayload.collapseID(of: call) : nil,
            expiresAt: expiresAt,
            call: call.key.id,
            device: device.id,
            user: device.user
        )
        push.hasOtherRoute = hasOtherRoute
        if pending.isNotice { pending.original = push }
        sendPush(push, for: pending, in: call)
    }

    mutating func sendPush(_ push: OutgoingPush, for pending: PendingPush, in call: Call?) {
        pushes.insert(pending, as: push.id)
        metrics.pushesSent += 1
        if let call {
            call.openPushes += 1
            note(call, .pushSent(pending.device, pending.purpose, pending.route.environment))
        }
        sendPush(push)
    }

    /// Sends the notice of a user's text.
    mutating func sendNotice(_ push: OutgoingPush, from sender: UserID, to device: DeviceRecord) {
        let pending = PendingPush(
            call: nil,
            textFrom: sender,
            user: device.user,
            device: device.id,
            route: push.route,
            sentAt: turn.now,
            original: push
        )
        sendPush(push, for: pending, in: nil)
    }

    /// Cancels the pushes under way to a device or, if `token` is not `nil`, to this push token of the device, because
    /// the device or the push token no longer belongs to the user.
    ///
    /// `onlyNotices`: Leaves out the pushes of ringing calls, which are cancelled when the call no longer rings.
    mutating func cancelPushes(
        to device: DeviceID,
        of user: UserID,
        token: String? = nil,
        onlyNotices: Bool = false
    ) {
        for id in pushes.underWay(to: device, of: user, token: token, onlyNotices: onlyNotices) {
            cancelPush(id)
        }
        for id in pushes.waiting(for: device, of: user, token: token) { dropWaitingNotice(id) }
    }

    /// Drops a notice that waits, because its device or push token no longer belongs to the user.
    mutating func dropWaitingNotice(_ id: PushID) {
        guard let pending = pushes.removeWaiting(id), let call = pending.call.flatMap({ calls[$0] }) else { return }
        call.openPushes -= 1
        note(call, .pushCancelled(pending.device))
        reschedule(call)
    }

    /// Cancels a call's pushes because the callee has set do-not-disturb: nothing more is sent to wake a device for it.
    mutating func cancelPushesForDoNotDisturb(_ call: Call) {
        if !call.wasSilencedByDoNotDisturb { note(call, .doNotDisturb) }
        call.wasSilencedByDoNotDisturb = true
        commits.markDirty(call)
        for device in call.pushes.keys.sorted(by: { $0.text < $1.text }) { cancelPush(to: device, of: call) }
    }

    /// Records that the system of a device does not show a call: a push could not change that, so none is sent any more.
    mutating func silenced(_ device: DeviceID, _ why: Silence, in call: Call) {
        note(call, .silenced(device, why))
        metrics.silenced[why, default: 0] += 1
        if why == .blockList || why == .otherUser { call.unnoticedDevices.insert(device) }
        cancelPush(to: device, of: call)
        reschedule(call)
    }

    /// Cancels the push of a call to a device, unless it was accepted or refused.
    mutating func cancelPush(to device: DeviceID, of call: Call) {
        let wasWaiting = call.pushes[device]?.retryAt != nil
        if let id = call.pushes[device]?.cancel() {
            cancelPush(id)
        } else if wasWaiting {
            note(call, .pushCancelled(device))
        }
    }
}
