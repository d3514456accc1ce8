import CallCore
import CallPorts
import CallWire

/// The results of pushes, and their consequences for calls, devices and push tokens.
extension Switchboard {
    mutating func pushed(_ id: PushID, _ result: PushResult) {
        guard let pending = pushes.remove(id) else { return }
        metrics.pushResults[label(of: result), default: 0] += 1
        let call = pending.call.flatMap { calls[$0] }
        call?.openPushes -= 1
        if let call { note(result, of: pending, call) }
        var consequence = DevicePush.Consequence.ignore
        if let call, !pending.isNotice {
            consequence =
                call.pushes[pending.device]?.attemptEnded(
                    result,
                    for: id,
                    at: turn.now,
                    until: call.session.ringUntil
                )
                ?? .ignore
            commits.markDirty(call)
        }
        if pending.isNotice {
            consequence = judgeNotice(result, pending)
        }
        keep(result, consequence, of: pending)
        if let call {
            reportFailure(result, consequence, of: pending, call)
            if consequence == .tryOther || consequence == .tryShorter, !pending.isNotice { retryPushes(of: call) }
            if consequence == .refused || consequence == .tokenIsBad, !pending.isNotice {
                ringByNextRoute(pending, result, for: call)
            }
            if consequence == .useOther { ringByOtherRoute(pending, for: call) }
            if !pending.isNotice, pending.kind != .voip,
                call.pushes[pending.device]?.mayHaveArrived == true
            {
                tellOver(call, to: pending.device)
            }
            reschedule(call)
        }
    }

    /// Reports the first failure of a push for the log, even if the push is tried again.
    private mutating func reportFailure(
        _ result: PushResult,
        _ consequence: DevicePush.Consequence,
        of pending: PendingPush,
        _ call: Call
    ) {
        guard !result.isAccepted, result != .cancelled, result != .onlyLogged,
            consequence != .tryOther, consequence != .tryShorter,
            pending.isNotice ? pending.attempts == 1 : call.pushes[pending.device]?.noteFailure() != false
        else { return }
        let failure = PushFailure(
            call: call.key.id,
            user: pending.user,
            device: pending.device,
            status: result.status ?? 0,
            reason: reason(of: result, pending.kind) ?? ""
        )
        turn.out.append(.note(.pushFailed(failure)))
    }

    private mutating func note(_ result: PushResult, of pending: PendingPush, _ call: Call) {
        let reason =
            result == .onlyLogged ? policy.service(of: pending.kind)?.onlyLogged : reason(of: result, pending.kind)
        let event: TimelineEvent =
            result == .cancelled
            ? .pushCancelled(pending.device)
            : .pushResult(
                pending.device,
                status: result.status,
                reason: reason,
                pending.purpose,
                pending.route.environment
            )
        note(call, event)
    }

    /// Stores the result with the device, and removes a push token that its service reports as dead.
    private mutating func keep(_ result: PushResult, _ consequence: DevicePush.Consequence, of pending: PendingPush) {
        let now = turn.now
        guard result != .cancelled, var device = directory.device(pending.device, of: pending.user) else { return }
        device.lastPush = .init(
            at: now,
            status: result.status ?? 0,
            reason: reason(of: result, pending.kind),
            environment: pending.route.environment,
            hint: policy.service(of: pending.kind)?.hint(for: result)
        )
        var isRemoved = false
        switch result {
        case .response where result.isAccepted:
            // The result says nothing about another push token that was registered meanwhile.
            if let environment = pending.route.environment, device.token(for: pending.kind) == pending.token {
                device.workingEnvironment = environment
            }
            pushes.breaker.accepted(at: now)
        case .response(410, _, let timestamp) where pending.kind.isThroughAPNs:
            isRemoved = dropToken(of: &device, pending, diedAt: timestamp)
        case .response where consequence == .tokenIsBad: isRemoved = dropToken(of: &device, pending, diedAt: nil)
        // A fault of the topic, the key or the network is on the server's side, and no reason to forget a device.
        case .response, .deferred, .unreachable, .notSent, .impossible, .cancelled, .onlyLogged: break
        }
        metrics.isDeletionStopped = pushes.breaker.isOpen(at: now)
        if isRemoved { reportRemoved(device, result.removedWhy, kind: pending.kind) }
        reportRefused(result, pending.kind)
        store(device)
        guard isRemoved else { return }
        moveWaitingPushes(from: pending, result)
        dropToken(ofOtherUsers: pending, result)
    }

    /// Removes a dead push token from the other users' devices that share it, except those that have registered it again.
    private mutating func dropToken(ofOtherUsers pending: PendingPush, _ result: PushResult) {
        let timestamp: Moment? = if case .response(410, _, let moment) = result { moment } else { nil }
        for owner in directory.owners(ofToken: pending.token) {
            guard var device = directory.device(owner.device, of: owner.user),
                device.token(for: pending.kind) == pending.token,
                isTokenDead(device.routes[pending.kind]?.at, timestamp ?? pending.sentAt)
            else { continue }
            device.routes[pending.kind] = nil
            reportRemoved(device, result.removedWhy, kind: pending.kind)
            store(device)
            var dead = pending
            (dead.user, dead.device) = (owner.user, owner.device)
            moveWaitingPushes(from: dead, result)
        }
    }

    /// Removes a push token, unless the device has registered it again since it died, or so many push tokens die that
    /// the fault must be on the server's side; returns whether it did.
    private mutating func dropToken(of device: inout DeviceRecord, _ pending: PendingPush, diedAt: Moment?) -> Bool {
        // Without a timestamp from APNs, a push token counts as dead since the push was sent. A token that was
        // registered after that moment is not removed.
        let diedAt = diedAt ?? pending.sentAt
        // A device that has registered the push token again since then is in order. Its token is not counted as dead:
        // it is no evidence of a fault of the server.
        let kind = pending.kind
        guard device.token(for: kind) == pending.token, isTokenDead(device.routes[kind]?.at, diedAt),
            pushes.breaker.mayDelete(of: device.user, at: turn.now)
        else { return false }
        device.routes[kind] = nil
        return true
    }

    private func isTokenDead(_ registeredAt: Moment?, _ diedAt: Moment) -> Bool {
        registeredAt.map { diedAt >= $0 } ?? true
    }

    /// Returns the reason of a result: the push service's, or the server's own.
    private func reason(of result: PushResult, _ kind: PushKind) -> String? {
        switch result {
        case .response(_, let reason, _), .deferred(_, let reason, _): reason
        case .unreachable(let why), .notSent(let why): why
        case .impossible(let fault): fault.rawValue
        case .cancelled: nil
        case .onlyLogged: policy.service(of: kind)?.notConfigured
        }
    }

    /// Returns a result in one word, for the metrics.
    private func label(of result: PushResult) -> String {
        switch result {
        case .response where result.isAccepted: "accepted"
        // The reasons are a fixed list; any other text would let a third party choose the metric's labels.
        case .response(_, let reason?, _) where isKnown(reason): reason
        case .deferred(_, let reason?, _) where isKnown(reason): reason
        case .response, .deferred: "other"
        case .unreachable: "unreachable"
        case .notSent: "not_sent"
        case .impossible: "impossible"
        case .cancelled: "cancelled"
        case .onlyLogged: "only_logged"
        }
    }

    /// Returns whether a reason is one that a push service is known to give.
    private func isKnown(_ reason: String) -> Bool { policy.pushServices.contains { $0.reasons[reason] != nil } }
}

extension PushResult {
    /// Why a push token is removed after the result.
    fileprivate var removedWhy: Switchboard.RemovedWhy { status == 410 || status == 404 ? .unregistered : .badToken }

    /// The status of the response; `nil` = there was none.
    fileprivate var status: Int? {
        switch self {
        case .response(let status, _, _), .deferred(let status, _, _): status
        case .unreachable, .notSent, .impossible, .cancelled, .onlyLogged: nil
        }
    }
}
