import CallCore
import CallPorts
import CallWire

/// "Missed call": an alert push to the devices that had been rung (protocol, section 6.8).
extension Switchboard {
    /// Notifies the callee's devices of a call that was not answered.
    mutating func tellMissed(_ call: Call) {
        let now = turn.now
        guard call.hidden == nil, !call.isSilenced, !directory.hasDoNotDisturb(call.callee, at: now),
            case .ended(let ending, nil) = call.session.phase,
            ending.reason == .unanswered || ending.reason == .cancelled
        else { return }
        for device in directory.devices(of: call.callee) where wasRung(device, in: call) {
            guard let token = device.alertToken, !call.blockingDevices.contains(device.id) else { continue }
            requestPush(
                PendingPush(
                    call: call.number,
                    user: device.user,
                    device: device.id,
                    token: token,
                    kind: .alert,
                    environment: environment(of: device),
                    sentAt: now,
                    tellsMissed: true
                ),
                as: pushes.makeID(),
                payload: PushPayload.missed(call),
                name: "/missed",
                to: device,
                for: call,
                expiresAt: now + SwitchboardLimits.noticeLifetime
            )
        }
    }

    private func wasRung(_ device: DeviceRecord, in call: Call) -> Bool {
        if call.pushes[device.id].map({ $0.attempts > 0 }) ?? false { return true }
        return call.session.legs.contains { leg in
            guard leg.side == .callee else { return false }
            return leg.device.id == device.id
                || (!device.isNamed && (leg.device.isUnnamed || leg.device.isOfConnection))
        }
    }
}
