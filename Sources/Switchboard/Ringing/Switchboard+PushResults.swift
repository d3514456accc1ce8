import CallCore
import CallPorts
import CallWire
import JSON

/// The results of pushes, and their consequences for calls, devices and tokens.
extension Switchboard {
    mutating func pushed(_ id: PushID, _ result: PushResult, at now: Moment) {
        guard let wake = pushes.remove(id) else { return }
        metrics.pushResults[result.label, default: 0] += 1
        let call = wake.call.flatMap { calls[$0] }
        call?.openPushes -= 1
        if let call { note(result, of: wake, call, at: now) }
        var verdict = DevicePush.Verdict.ignore
        if let call, !wake.tellsMissed {
            verdict = call.pushes[wake.device]?.take(result, for: id, at: now) ?? .ignore
            commits.markDirty(call)
        }
        if wake.kind == .alert, wake.call == nil || wake.tellsMissed { verdict = noticed(result, wake, at: now) }
        keep(result, verdict, of: wake, at: now)
        if let call {
            complain(result, of: wake, call)
            if verdict == .tryOther, !wake.tellsMissed { retryPushes(of: call, at: now) }
            reschedule(call)
        }
    }

    /// Judges a notice's result; a notice whose token this environment does not know is sent once to the other
    /// environment.
    private mutating func noticed(_ result: PushResult, _ wake: PendingPush, at now: Moment) -> DevicePush.Verdict {
        guard case .answered(400, "BadDeviceToken", _) = result else { return .ignore }
        guard wake.notice != nil else { return .tokenIsBad }
        sendByOther(wake, at: now)
        return .tryOther
    }

    private mutating func complain(_ result: PushResult, of wake: PendingPush, _ call: Call) {
        switch result {
        case .answered(200, _, _), .cancelled, .onlyLogged: break
        case .answered(let status, let reason, _):
            turn.out.append(.note(.pushFailed(call.key.id, wake.device, status: status, reason: reason ?? "")))
        case .unreachable(let why):
            turn.out.append(.note(.pushFailed(call.key.id, wake.device, status: 0, reason: why)))
        }
    }

    private mutating func note(_ result: PushResult, of wake: PendingPush, _ call: Call, at now: Moment) {
        let (status, reason): (Int?, String?) =
            switch result {
            case .answered(let status, let reason, _): (status, reason)
            case .unreachable(let why): (nil, why)
            case .onlyLogged: (nil, PushHint.onlyLogged)
            case .cancelled: (nil, nil)
            }
        let event: TimelineEvent =
            result == .cancelled
            ? .pushCancelled(wake.device)
            : .pushResult(wake.device, status: status, reason: reason, wake.purpose, wake.environment)
        note(call, event, at: now)
    }

    /// Stores the result with the device, and removes a token that APNs reports as dead.
    private mutating func keep(
        _ result: PushResult,
        _ verdict: DevicePush.Verdict,
        of wake: PendingPush,
        at now: Moment
    ) {
        guard result != .cancelled, var device = directory.device(wake.device, of: wake.user) else { return }
        device.lastPush = .init(
            at: now,
            status: result.status,
            reason: result.reason,
            environment: wake.environment,
            hint: PushHint.text(for: result)
        )
        switch result {
        case .answered(200, _, _):
            // The result says nothing about a token that was registered meanwhile.
            if token(of: device, for: wake.kind) == wake.token { device.workingEnvironment = wake.environment }
            pushes.breaker.accepted(at: now)
        case .answered(410, _, let timestamp): dropToken(of: &device, wake, diedAt: timestamp, at: now)
        case .answered where verdict == .tokenIsBad: dropToken(of: &device, wake, diedAt: nil, at: now)
        // A fault of the topic, the key or the network is on the server's side, and no reason to forget a device.
        case .answered, .unreachable, .cancelled, .onlyLogged: break
        }
        metrics.isDeletionStopped = pushes.breaker.isOpen(at: now)
        store(device)
    }

    /// Removes a token, unless the device has registered since the token died, or so many tokens die that the fault
    /// must be on the server's side.
    private mutating func dropToken(of device: inout DeviceRecord, _ wake: PendingPush, diedAt: Moment?, at now: Moment)
    {
        // Without a timestamp of APNs a token counts as dead since the push was sent; a later registration is
        // unaffected.
        let diedAt = diedAt ?? wake.sentAt
        // A device that has registered since is in order, and is no evidence of a fault of the server.
        switch wake.kind {
        case .voip:
            guard device.voipToken == wake.token, isOver(device.voipTokenAt, diedAt), pushes.breaker.mayDelete(at: now)
            else {
                return
            }
            device.voipToken = nil
        case .alert:
            guard device.alertToken == wake.token, isOver(device.alertTokenAt, diedAt),
                pushes.breaker.mayDelete(at: now)
            else {
                return
            }
            device.alertToken = nil
        }
    }

    private func isOver(_ registeredAt: Moment?, _ diedAt: Moment) -> Bool {
        registeredAt.map { diedAt >= $0 } ?? true
    }
}

extension PushResult {
    fileprivate var status: Int { if case .answered(let status, _, _) = self { status } else { 0 } }

    fileprivate var reason: String? {
        switch self {
        case .answered(_, let reason, _): reason
        case .unreachable(let why): why
        case .cancelled: nil
        case .onlyLogged: "no APNs key is configured"
        }
    }

    /// The result in one word, for the metrics.
    fileprivate var label: String {
        switch self {
        case .answered(200, _, _): "accepted"
        // APNs' reasons are a fixed list; any other text would let a third party choose the metric's labels.
        case .answered(_, let reason?, _) where PushHint.knows(reason): reason
        case .answered: "other"
        case .unreachable: "unreachable"
        case .cancelled: "cancelled"
        case .onlyLogged: "only_logged"
        }
    }
}
