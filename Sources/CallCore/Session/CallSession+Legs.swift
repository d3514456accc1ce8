extension CallSession {
    /// Returns whether a device of the caller's user is the one that makes the call.
    ///
    /// If the caller's device is known by its token alone (`t-…`), it is unknown which of its user's connections are
    /// its own. Then every connection of that user without a device id (`c-…`) counts as the caller's device.
    @inlinable
    public func isCaller(_ device: DeviceIdentity) -> Bool {
        callerDevice.isSame(as: device) || (callerDevice.isUnnamed && device.isOfConnection)
    }

    /// Returns the device that `device` stands for in the call: `device` sees the call, and acts in it, as that device.
    ///
    /// A request may name no device and have a token that no leg of the call has. Such a request stands for the device
    /// of its user that is in the call. There is one exception: if a callee's device without an id has a leg, the
    /// request counts as coming from such a device, which has lost the call.
    public func actingDevice(for device: DeviceIdentity, on side: Side) -> DeviceIdentity {
        guard device.isUnnamed, !legs.contains(where: { $0.side == side && $0.device.isSame(as: device) }) else {
            return device
        }
        switch side {
        case .caller: return callerDevice
        case .callee:
            guard let answeringDevice, !answeringDevice.isUnnamed,
                !legs.contains(where: {
                    $0.side == .callee && ($0.device.isUnnamed || $0.device.isOfUnnamedRegistration)
                })
            else { return device }
            return answeringDevice
        }
    }

    /// Returns the leg of a device.
    ///
    /// Creates one on the side `joining` if the device has none and there is room.
    mutating func legIndex(of device: DeviceIdentity, joining side: Side) -> Int? {
        if let index = legs.firstIndex(where: { $0.device.isSame(as: device) && $0.side == side }) { return index }
        guard legs.count < Limits.legs else { return nil }
        legs.append(Leg(device: device, side: side, phase: .notified))
        return legs.count - 1
    }

    private func isLeg(_ index: Int, of device: DeviceIdentity, _ side: Side) -> Bool {
        guard legs[index].side == side else { return false }
        return side == .caller ? isCaller(device) : legs[index].device.isSame(as: device)
    }

    /// Records that a device of the callee was notified of the ringing call.
    mutating func notified(_ device: DeviceIdentity, into outputs: inout [Output]) {
        guard case .ringing = phase, !isHidden else { return }
        let before = legs
        if let index = legIndex(of: device, joining: .callee) { learnFingerprint(of: device, at: index) }
        if legs != before { outputs.append(.changed) }
    }

    /// Records the token that a device now uses.
    ///
    /// Two kinds of `device` change nothing: a device that was only pushed, because its token is not known yet (0), and
    /// one that has the leg's token but another id.
    private mutating func learnFingerprint(of device: DeviceIdentity, at index: Int) {
        guard legs[index].device.id == device.id, device.fingerprint.rawValue != 0 else { return }
        setDevice(device, at: index)
    }

    /// Records this id and token for the device of a leg.
    ///
    /// If that device is the answering device, the phase of the call gets the new id and token too.
    private mutating func setDevice(_ device: DeviceIdentity, at index: Int) {
        let known = legs[index].device
        legs[index].device = device
        if known.id != device.id {
            // The device may resend its signals under the new id, so they keep their receipts.
            for (name, seq) in receipts where name.side == legs[index].side && name.device == known.id {
                receipts[SignalKey(side: name.side, device: device.id, id: name.id)] = seq
            }
        }
        guard legs[index].side == .callee, answeringDevice?.id == known.id else { return }
        switch phase {
        case .ringing: break
        case .answered: phase = .answered(by: device)
        case .active: phase = .active(with: device)
        case .ended(let ending, _): phase = .ended(ending, answeredBy: device)
        }
    }

    /// Records that a device continues under another token, or that a device known by its token alone got a device id.
    ///
    /// A caller that began over REST and named no device stays known by its token when the new id is that of a
    /// connection (`c-…`). It receives the call on all such connections.
    mutating func renewed(_ old: DeviceIdentity, as new: DeviceIdentity, _ side: Side, into outputs: inout [Output]) {
        guard isLive else { return }
        for index in legs.indices where legs[index].side == side && legs[index].device.isSame(as: old) {
            let known = legs[index].device
            // The leg of another device, with an id of its own, may have the same token: skip it.
            guard known != new, known.id == new.id || (known.isUnnamed && (side == .callee || !new.isOfConnection))
            else { continue }
            setDevice(new, at: index)
            outputs.append(.changed)
        }
    }

    /// Records that a device is gone.
    ///
    /// The grace of an answered call runs from the first such moment, or from the answer if that came later.
    mutating func gone(_ device: DeviceIdentity, _ side: Side, at now: Moment) {
        for index in legs.indices where isLeg(index, of: device, side) {
            if legs[index].goneSince == nil { legs[index].goneSince = now }
        }
    }

    /// Records that a device is no longer gone.
    mutating func seen(_ device: DeviceIdentity, _ side: Side, into outputs: inout [Output]) {
        for index in legs.indices where isLeg(index, of: device, side) {
            let known = legs[index].device
            legs[index].goneSince = nil
            learnFingerprint(of: device, at: index)
            if legs[index].device != known { outputs.append(.changed) }
        }
    }

    /// Records that a callee's device that lost the answered call has sent its own `end`: it knows that it is out.
    mutating func leave(_ device: DeviceIdentity, _ side: Side, into outputs: inout [Output]) {
        guard side == .callee,
            let index = legs.firstIndex(where: { $0.side == side && $0.device.isSame(as: device) }),
            legs[index].phase != .left
        else { return }
        legs[index].phase = .left
        outputs.append(.changed)
    }

    /// Records that a device has received the notice that it is out of the call.
    mutating func endDelivered(_ device: DeviceIdentity, _ side: Side, into outputs: inout [Output]) {
        for index in legs.indices where isLeg(index, of: device, side) {
            guard legs[index].phase == .endNotDelivered else { continue }
            legs[index].phase = .left
            outputs.append(.changed)
        }
    }

    /// Returns whether a device took part, is out of the call, and has not received the notice of that.
    public func hasUndeliveredEnd(to device: DeviceIdentity, side: Side) -> Bool {
        legs.indices.contains { legs[$0].phase == .endNotDelivered && isLeg($0, of: device, side) }
    }
}
