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

    /// Returns the best route that rings a device, without the kinds of push that cannot; `nil` = there is none.
    private func ringingRoute(of device: DeviceRecord, excluding kinds: Set<PushKind> = []) -> PushRoute? {
        device.ringingPush(excluding: kinds).flatMap { device.route(for: $0, environment(of: device)) }
    }

    private func mayWake(_ device: DeviceRecord, for call: Call) -> Bool {
        !isSilencedByDoNotDisturb(call) && !call.wasSilencedByDoNotDisturb
            && !call.session.isSilenced(device.id)
    }

    /// Whether the callee's do-not-disturb silences a call: any call but one of the callee's own schedules.
    ///
    /// A user who sets a time and do-not-disturb wants to be woken at that time.
    func isSilencedByDoNotDisturb(_ call: Call) -> Bool {
        directory.hasDoNotDisturb(call.callee, at: turn.now)
            && call.scheduled.flatMap { directory.schedules[call.callee, $0.schedule] }?.isOwn != true
    }

    private mutating func push(
        to device: DeviceRecord,
        by route: PushRoute,
        after refusedKinds: Set<PushKind> = [],
        for call: Call
    ) {
        let id = pushes.makeID()
        let push = DevicePush(sent: id, by: route, after: refusedKinds, at: turn.now)
        call.pushes[device.id] = push
        commits.markDirty(call)
        send(id, push, to: device, for: call)
    }

    /// Pushes to a device by the next route after its push was refused for good, if the call still rings.
    mutating func ringByNextRoute(_ refused: PendingPush, _ result: PushResult, for call: Call) {
        guard case .ringing = call.session.phase, call.hidden == nil,
            let push = call.pushes[refused.device], push.phase == .refused,
            let device = directory.device(refused.device, of: refused.user), mayWake(device, for: call)
        else { return }
        guard !device.isLive(among: connections.of(call.callee)) else {
            // The device has connected by itself. If its connection turns out to be dead, it is pushed anew.
            call.pushes[device.id] = nil
            return
        }
        // The device may have registered another token since the push was sent, which is not refused yet.
        let hasNewToken = device.token(for: refused.kind).map { $0 != refused.token } ?? false
        // A service that is not configured sends no push of any of its kinds.
        let useless =
            result == .onlyLogged
            ? PushKind.allCases.filter { $0.service == refused.kind.service } : hasNewToken ? [] : [refused.kind]
        let refusedKinds = push.refusedKinds.union(useless)
        guard let route = ringingRoute(of: device, excluding: refusedKinds) else { return }
        self.push(to: device, by: route, after: refusedKinds, for: call)
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
    func wakeAfterRestart(_ call: Call) {
        guard case .ringing = call.session.phase, call.hidden == nil, !call.wasSilencedByDoNotDisturb else { return }
        for device in directory.devices(of: call.callee)
        where call.pushes[device.id] == nil && !call.session.isSilenced(device.id) {
            guard let route = ringingRoute(of: device) else { continue }
            call.pushes[device.id] = DevicePush(waitingUntil: turn.now + policy.probeTimeout, for: route)
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
            guard !device.isLive(among: own) else {
                // The device has connected by itself. If its connection turns out to be dead, it is pushed anew.
                call.pushes[id] = nil
                continue
            }
            guard route.kind == push.kind else {
                self.push(to: device, by: route, after: refusedKinds, for: call)
                continue
            }
            let name = pushes.makeID()
            push.take(route)
            push.sent(name, at: now)
            call.pushes[id] = push
            commits.markDirty(call)
            send(name, push, to: device, for: call)
        }
    }
}
