extension CallSession {
    /// Handles an `end`: a side ends the call, or a device that is not in the answered call confirms that it is out.
    ///
    /// An `end` by a request does not show that the device's connection knows of the end: another process of the app
    /// may have made the request. So the sender is not taken for notified here (``Input/endDelivered(_:_:)``).
    mutating func takeEnd(
        _ wish: EndReason?,
        _ signal: Signal,
        from side: Side,
        _ device: DeviceIdentity,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        switch phase {
        case .ringing:
            let reason = EndReason.fitting(wish, by: side, answered: false)
            append(signal, from: side, device, at: now, into: &outputs)
            // A device that was not notified of the call gets a leg here.
            if side == .callee { _ = legIndex(of: device, joining: .callee) }
            end(reason, by: side == .callee ? device : nil, at: now, into: &outputs)
        case .answered(let answeringDevice), .active(let answeringDevice):
            guard side == .caller ? isCaller(device) : answeringDevice.isSame(as: device) else {
                // The `end` of a device that is not in the answered call only confirms that the device is out. A late
                // decline never ends an answered call.
                outputs.append(.acknowledge(seq: 0, isNew: false))
                return
            }
            append(signal, from: side, device, at: now, into: &outputs)
            end(EndReason.fitting(wish, by: side, answered: true), by: nil, at: now, into: &outputs)
        case .ended:
            if side == .callee, let answeringDevice, !answeringDevice.isSame(as: device) {
                outputs.append(.acknowledge(seq: 0, isNew: false))
            } else {
                outputs.append(.refuse(.callEnded))
            }
        }
    }

    /// Ends the call for all devices, and notifies each device with the reason that applies to the device.
    mutating func end(
        _ reason: EndReason,
        by decliner: DeviceIdentity?,
        replacedBy: CallID? = nil,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        let reason = scheduled?.scheduled(reason) ?? reason
        let answeringDevice = answeringDevice
        let wasRinging = answeringDevice == nil
        phase = .ended(
            Ending(reason: reason, at: now, replacedBy: replacedBy, declinedBy: decliner),
            answeredBy: answeringDevice
        )
        unansweredOffers = []
        if wasRinging { outputs.append(.stopRinging) }
        for index in legs.indices where legs[index].phase != .left { legs[index].phase = .endNotDelivered }
        let change = StateChange(.ended, reason: reason, answeredBy: answeringDevice, replacedBy: replacedBy)
        if let decliner, wasRinging {
            append(change, to: .callerAnd(decliner), at: now, into: &outputs)
            if legs.contains(where: { $0.side == .callee && !$0.device.isSame(as: decliner) }) {
                append(
                    StateChange(.ended, reason: .declinedElsewhere),
                    to: .calleeExcept(decliner),
                    at: now,
                    into: &outputs
                )
            }
        } else {
            append(change, to: isUnknownToCallee ? .caller : .both, at: now, into: &outputs)
        }
        outputs.append(.changed)
    }

    /// Whether the callee was never notified of the call: it is hidden, or it lost a glare immediately.
    private var isUnknownToCallee: Bool {
        isHidden || !legs.contains { $0.side == .callee } && log.first?.audience == .nobody
    }
}
