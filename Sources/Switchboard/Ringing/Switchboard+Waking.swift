import CallCore
import CallPorts
import CallWire

/// Waking devices: one push for each device without a connection.
extension Switchboard {
    /// Requests a push to a device that has a push token, unless a push to the device was requested for this call
    /// before or its user has set do-not-disturb.
    mutating func wake(_ device: DeviceRecord, for call: Call) {
        guard call.pushes[device.id] == nil, let token = device.token(for: device.ringingPush),
            !directory.hasDoNotDisturb(device.user, at: turn.now), !call.isSilenced,
            !call.session.isSilenced(device.id)
        else { return }
        process(call, .notified(DeviceIdentity(id: device.id, fingerprint: TokenFingerprint(rawValue: 0))))
        let id = pushes.makeID()
        let push = DevicePush(
            sent: id,
            kind: device.ringingPush,
            token: token,
            environment: environment(of: device),
            at: turn.now
        )
        call.pushes[device.id] = push
        commits.markDirty(call)
        send(id, push, to: device, for: call)
    }

    /// Schedules pushes after a restart in the middle of a ring: devices have a moment to reconnect before they are
    /// pushed as usual.
    func wakeAfterRestart(_ call: Call) {
        guard case .ringing = call.session.phase, call.hidden == nil, !call.isSilenced else { return }
        for device in directory.devices(of: call.callee)
        where call.pushes[device.id] == nil && !call.session.isSilenced(device.id) {
            guard let token = device.token(for: device.ringingPush) else { continue }
            call.pushes[device.id] = DevicePush(
                waitingUntil: turn.now + policy.probeTimeout,
                kind: device.ringingPush,
                token: token,
                environment: environment(of: device)
            )
        }
    }

    mutating func retryPushes(of call: Call) {
        let now = turn.now
        guard case .ringing = call.session.phase else { return }
        let own = connections.of(call.callee)
        for id in call.pushes.keys.sorted(by: { $0.text < $1.text }) {
            guard var push = call.pushes[id], let at = push.retryAt, now >= at else { continue }
            guard let device = directory.device(id, of: call.callee),
                let token = device.token(for: push.kind), !directory.hasDoNotDisturb(device.user, at: now)
            else {
                // The device was removed, another device has registered its push token, or its user's do-not-disturb
                // was restored after a restart. A retry that stays due would wake the loop for ever.
                _ = call.pushes[id]?.cancel()
                note(call, .pushCancelled(id))
                continue
            }
            guard !device.isLive(among: own) else {
                // The device has connected by itself. If its connection turns out to be dead, it is pushed anew.
                call.pushes[id] = nil
                continue
            }
            let name = pushes.makeID()
            push.take(token, environment: environment(of: device))
            push.sent(name, at: now)
            call.pushes[id] = push
            commits.markDirty(call)
            send(name, push, to: device, for: call)
        }
    }
}
