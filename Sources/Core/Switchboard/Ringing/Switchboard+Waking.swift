import CallCore
import CallPorts
import CallWire

/// Waking devices: one push for each device without a connection.
extension Switchboard {
    /// Requests a push to a device that has a push token, unless a push to the device was requested for this call
    /// before or its user has set do-not-disturb.
    mutating func wake(_ device: DeviceRecord, for call: Call) {
        guard call.pushes[device.id] == nil, let route = ringingRoute(of: device), mayWake(device, for: call) else {
            return
        }
        process(call, .notified(DeviceIdentity(id: device.id, fingerprint: TokenFingerprint(rawValue: 0))))
        push(to: device, by: route, for: call)
    }

    private func mayWake(_ device: DeviceRecord, for call: Call) -> Bool {
        !isSilencedByDoNotDisturb(call) && !call.wasSilencedByDoNotDisturb
            && !call.session.isSilenced(device.id)
    }

    private mutating func push(
        to device: DeviceRecord,
        by route: PushRoute,
        after refusedKinds: Set<PushKind> = [],
        unsentKinds: Set<PushKind> = [],
        for call: Call
    ) {
        let id = pushes.makeID()
        let push = DevicePush(sent: id, by: route, after: refusedKinds, unsentKinds: unsentKinds, at: turn.now)
        call.pushes[device.id] = push
        commits.markDirty(call)
        sendPush(id, push, to: device, for: call)
    }

    /// Pushes to a device by the next route after its push was refused for good, if the call still rings.
    mutating func ringByNextRoute(_ refused: PendingPush, _ result: PushResult, for call: Call) {
        guard case .ringing = call.session.phase, call.hidden == nil,
            let push = call.pushes[refused.device], push.phase == .refused,
            let device = directory.device(refused.device, of: refused.user), mayWake(device, for: call)
        else { return }
        guard !device.isLive(among: connections.of(call.callee)) else {
            // The device has connected by itself. If its connection turns out to be dead, it is pushed again.
            call.pushes[device.id] = nil
            return
        }
        // The device may have registered another token since the push was sent, which is not refused yet.
        let hasNewToken = device.token(for: refused.kind).map { $0 != refused.token } ?? false
        // A service that is not configured sends no push of any of its kinds.
        let useless =
            result == .onlyLogged
            ? PushKind.allCases.filter { $0 == refused.kind || $0.isThroughAPNs && refused.kind.isThroughAPNs }
            : hasNewToken ? [] : [refused.kind]
        let refusedKinds = push.refusedKinds.union(useless)
        // What could not be sent before comes last.
        guard
            let route = ringingRoute(of: device, excluding: refusedKinds.union(push.unsentKinds))
                ?? ringingRoute(of: device, excluding: refusedKinds)
        else { return }
        let unsentKinds = push.unsentKinds.subtracting([route.kind])
        self.push(to: device, by: route, after: refusedKinds, unsentKinds: unsentKinds, for: call)
    }

    /// Pushes to a device by another route at once, after a push could not be sent: without an access token, for
    /// instance.
    ///
    /// Without another route the push is tried again later.
    mutating func ringByOtherRoute(_ unsent: PendingPush, for call: Call) {
        guard case .ringing = call.session.phase, call.hidden == nil, var push = call.pushes[unsent.device],
            let device = directory.device(unsent.device, of: unsent.user), mayWake(device, for: call),
            !device.isLive(among: connections.of(call.callee)),
            let route = otherRoute(of: device, than: unsent.kind, push), push.leaveRoute()
        else { return }
        self.push(
            to: device,
            by: route,
            after: push.refusedKinds,
            unsentKinds: push.unsentKinds.union([unsent.kind]),
            for: call
        )
    }

    /// Lets the pushes for other calls that wait for an attempt with a push token that was just removed go on by the
    /// next route.
    mutating func moveWaitingPushes(from dead: PendingPush, _ result: PushResult) {
        for call in calls.ringing(dead.user) where call.pushes[dead.device]?.refuse(dead.token) == true {
            ringByNextRoute(dead, result, for: call)
            reschedule(call)
        }
    }

    /// Schedules pushes after a restart in the middle of a ring: devices have a moment to reconnect before they are
    /// pushed as usual.
    ///
    /// A device that has said that it rings shows the call, and is not pushed.
    func wakeAfterRestart(_ call: Call) {
        guard case .ringing = call.session.phase, call.hidden == nil, !call.wasSilencedByDoNotDisturb else { return }
        for device in directory.devices(of: call.callee)
        where call.pushes[device.id] == nil && !call.session.isSilenced(device.id) {
            guard !hasSaidRinging(device, in: call), let route = ringingRoute(of: device) else { continue }
            call.pushes[device.id] = DevicePush(waitingUntil: turn.now + policy.probeTimeout, for: route)
        }
    }

    /// Schedules a push to a device whose connection answered its probe and then ended: its app was suspended, or the
    /// node of its connection died.
    ///
    /// The push is dropped if the device has said that it rings, or comes back in time.
    mutating func wakeAfterAbsence(of connection: Connection) {
        guard connection.probedAt == nil, !connections.isDraining else { return }
        let left = connections.of(connection.user)
        for call in calls.ringing(connection.user) {
            for device in directory.devices(of: connection.user)
            where device.isLive(among: [connection]) && !device.isLive(among: left) && call.pushes[device.id] == nil {
                guard mayWake(device, for: call), !isRingingOrPresent(device, in: call),
                    let route = ringingRoute(of: device)
                else {
                    continue
                }
                let moment = turn.now + SwitchboardLimits.pushedAfterAbsence
                call.pushes[device.id] = DevicePush(waitingUntil: moment, for: route, isForAbsence: true)
            }
            reschedule(call)
        }
    }

    /// Returns the route of a push's next attempt, and the kinds of push that cannot ring the device; `nil` = none can.
    ///
    /// The attempt stays on its route, unless the push token was removed or registered by another device meanwhile.
    private func nextAttempt(_ push: DevicePush, _ device: DeviceRecord) -> (PushRoute, Set<PushKind>)? {
        if let route = push.kind.flatMap({ device.route(for: $0, environment(of: device)) }) {
            return (route, push.refusedKinds)
        }
        let refusedKinds = push.refusedKinds.union(push.kind.map { [$0] } ?? [])
        return ringingRoute(of: device, excluding: refusedKinds).map { ($0, refusedKinds) }
    }

    /// Returns whether a push that has waited for its device is needless, because the device shows the call.
    private func isNeedless(_ push: DevicePush, to device: DeviceRecord, for call: Call) -> Bool {
        if push.isForAbsence { return isRingingOrPresent(device, in: call) }
        return push.attempts == 0 && hasSaidRinging(device, in: call)
    }

    mutating func retryPushes(of call: Call) {
        let now = turn.now
        guard case .ringing = call.session.phase else { return }
        let own = connections.of(call.callee)
        for id in call.pushes.keys.sorted(by: { $0.text < $1.text }) {
            guard var push = call.pushes[id], let at = push.retryAt, now >= at else { continue }
            guard let device = directory.device(id, of: call.callee),
                let (route, refusedKinds) = nextAttempt(push, device),
                !isSilencedByDoNotDisturb(call)
            else {
                // The device was removed, or it has no other route left, or its user's do-not-disturb was restored after a
                // restart. A retry that stays due would wake the loop for ever.
                _ = call.pushes[id]?.cancel()
                note(call, .pushCancelled(id))
                continue
            }
            guard !device.isLive(among: own), !isNeedless(push, to: device, for: call) else {
                // The device has connected by itself. If its connection turns out to be dead, it is pushed again.
                call.pushes[id] = nil
                continue
            }
            guard route.kind == push.kind else {
                self.push(to: device, by: route, after: refusedKinds, unsentKinds: push.unsentKinds, for: call)
                continue
            }
            let name = pushes.makeID()
            push.routeChosen(route)
            push.sent(name, at: now)
            call.pushes[id] = push
            commits.markDirty(call)
            sendPush(name, push, to: device, for: call)
        }
    }
}
