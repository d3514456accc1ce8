import CallCore
import CallPorts
import CallWire

/// The results of pushes, and their consequences for calls, devices and push tokens.
extension Switchboard {
    mutating func pushed(_ id: PushID, _ result: PushResult) {
        guard let pending = pushes.remove(id) else { return }
        metrics.pushResults[result.label, default: 0] += 1
        let call = pending.call.flatMap { calls[$0] }
        call?.openPushes -= 1
        if let call { note(result, of: pending, call) }
        var consequence = DevicePush.Consequence.ignore
        if let call, !pending.isNotice {
            consequence = call.pushes[pending.device]?.take(result, for: id, at: turn.now) ?? .ignore
            commits.markDirty(call)
        }
        if pending.isNotice {
            consequence = judgeNotice(result, pending)
        }
        keep(result, consequence, of: pending)
        if let call {
            reportFailure(result, of: pending, call)
            if consequence == .tryOther, !pending.isNotice { retryPushes(of: call) }
            if pending.purpose == .alert, call.pushes[pending.device]?.mayHaveArrived == true {
                tellOver(call, to: pending.device)
            }
            reschedule(call)
        }
    }

    /// Returns the consequence of a notice's result, and sends a notice whose push token this environment does not know
    /// once to the other environment.
    private mutating func judgeNotice(_ result: PushResult, _ pending: PendingPush) -> DevicePush.Consequence {
        guard case .response(400, "BadDeviceToken", _) = result else { return .ignore }
        guard pending.original != nil else { return .tokenIsBad }
        resendToOtherEnvironment(pending)
        return .tryOther
    }

    private mutating func reportFailure(_ result: PushResult, of pending: PendingPush, _ call: Call) {
        switch result {
        case .response(200, _, _), .cancelled, .onlyLogged: break
        case .response(let status, let reason, _):
            turn.out.append(.note(.pushFailed(call.key.id, pending.device, status: status, reason: reason ?? "")))
        case .unreachable(let why):
            turn.out.append(.note(.pushFailed(call.key.id, pending.device, status: 0, reason: why)))
        }
    }

    private mutating func note(_ result: PushResult, of pending: PendingPush, _ call: Call) {
        let (status, reason): (Int?, String?) =
            switch result {
            case .response(let status, let reason, _): (status, reason)
            case .unreachable(let why): (nil, why)
            case .onlyLogged: (nil, PushHint.onlyLogged)
            case .cancelled: (nil, nil)
            }
        let event: TimelineEvent =
            result == .cancelled
            ? .pushCancelled(pending.device)
            : .pushResult(pending.device, status: status, reason: reason, pending.purpose, pending.environment)
        note(call, event)
    }

    /// Stores the result with the device, and removes a push token that APNs reports as dead.
    private mutating func keep(_ result: PushResult, _ consequence: DevicePush.Consequence, of pending: PendingPush) {
        let now = turn.now
        guard result != .cancelled, var device = directory.device(pending.device, of: pending.user) else { return }
        device.lastPush = .init(
            at: now,
            status: result.status,
            reason: result.reason,
            environment: pending.environment,
            hint: PushHint.text(for: result)
        )
        switch result {
        case .response(200, _, _):
            // The result says nothing about another push token that was registered meanwhile.
            if device.token(for: pending.kind) == pending.token { device.workingEnvironment = pending.environment }
            pushes.breaker.accepted(at: now)
        case .response(410, _, let timestamp): dropToken(of: &device, pending, diedAt: timestamp)
        case .response where consequence == .tokenIsBad: dropToken(of: &device, pending, diedAt: nil)
        // A fault of the topic, the key or the network is on the server's side, and no reason to forget a device.
        case .response, .unreachable, .cancelled, .onlyLogged: break
        }
        metrics.isDeletionStopped = pushes.breaker.isOpen(at: now)
        store(device)
    }

    /// Removes a push token, unless the device has registered it again since it died, or so many push tokens die that
    /// the fault must be on the server's side.
    private mutating func dropToken(of device: inout DeviceRecord, _ pending: PendingPush, diedAt: Moment?) {
        // Without a timestamp from APNs, a push token counts as dead since the push was sent. A token that was
        // registered after that moment is not removed.
        let diedAt = diedAt ?? pending.sentAt
        // A device that has registered the push token again since then is in order. Its token is not counted as dead:
        // it is no evidence of a fault of the server.
        switch pending.kind {
        case .voip:
            guard device.voipToken == pending.token, isTokenDead(device.voipTokenAt, diedAt),
                pushes.breaker.mayDelete(at: turn.now)
            else {
                return
            }
            device.voipToken = nil
        case .alert:
            guard device.alertToken == pending.token, isTokenDead(device.alertTokenAt, diedAt),
                pushes.breaker.mayDelete(at: turn.now)
            else {
                return
            }
            device.alertToken = nil
        }
    }

    private func isTokenDead(_ registeredAt: Moment?, _ diedAt: Moment) -> Bool {
        registeredAt.map { diedAt >= $0 } ?? true
    }
}

extension PushResult {
    fileprivate var status: Int { if case .response(let status, _, _) = self { status } else { 0 } }

    fileprivate var reason: String? {
        switch self {
        case .response(_, let reason, _): reason
        case .unreachable(let why): why
        case .cancelled: nil
        case .onlyLogged: "no APNs key is configured"
        }
    }

    /// The result in one word, for the metrics.
    fileprivate var label: String {
        switch self {
        case .response(200, _, _): "accepted"
        // APNs' reasons are a fixed list; any other text would let a third party choose the metric's labels.
        case .response(_, let reason?, _) where PushHint.knows(reason): reason
        case .response: "other"
        case .unreachable: "unreachable"
        case .cancelled: "cancelled"
        case .onlyLogged: "only_logged"
        }
    }
}
