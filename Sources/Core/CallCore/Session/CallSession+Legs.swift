extension CallSession {
    /// Returns whether a device of the caller's user is the one that makes the call.
    ///
    /// If the caller's device is known by its token alone (`t-…`), nothing shows which of the user's connections belong
    /// to that device. Then every connection of the user without a device id (`c-…`) counts as the caller's device.
    @inlinable @inline(__always)
    public func isCaller(_ device: DeviceIdentity) -> Bool {
        callerDevice.isSame(as: device) || (callerDevice.isUnnamed && device.isOfConnection)
    }

    /// Returns the device that `device` stands for in the call: `device` sees the call, and acts in it, as that device.
    ///
    /// A device that is known by its token alone, and has no leg on its side, stands for the caller's device or for the
    /// callee's answering device. On the callee's side it stands for itself in two cases: while no device with an id
    /// has answered, and if a device without an id has a leg on that side. In the second case the sender may be the
    /// device of that leg, which has lost the call.
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

    /// Returns the index of a device's leg on the side `joining`.
    ///
    /// If the device has no leg, one is created; `nil` if the call already has ``Limits/legs`` legs.
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
        let count = legs.count
        guard let index = legIndex(of: device, joining: .callee) else { return }
        let known = legs[index].device
        learnFingerprint(of: device, at: index)
        if legs.count != count || legs[index].device != known { outputs.append(.changed) }
    }

    /// Records the token that a device now uses.
    ///
    /// Nothing is recorded in two cases: the device was only sent a push, so that its token is unknown (fingerprint 0),
    /// or the device has the leg's token but another id.
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
            receipts.copy(from: known.id, to: device.id, on: legs[index].side, in: log)
        }
        guard legs[index].side == .callee, answeringDevice?.id == known.id else { return }
        switch phase {
        case .ringing: break
        case .answered: phase = .answered(by: device)
        case .active: phase = .active(with: device)
        case .ended(let ending, _): phase = .ended(ending, answeredBy: device)
        }
    }

    /// Records that a device continues under another token, or that a device known by its token alone now has a device
    /// id.
    ///
    /// A caller's device that began the call by a request without a device id stays known by its token when the new id
    /// is that of a connection (`c-…`). Such a caller receives the call on all connections that have such an id.
    mutating func renewed(_ old: DeviceIdentity, as new: DeviceIdentity, _ side: Side, into outputs: inout [Output]) {
        guard isLive else { return }
        for index in legs.indices where legs[index].side == side && legs[index].device.isSame(as: old) {
            let known = legs[index].device
            // A leg of another device, with an id of its own, may have the same token: it is skipped.
            guard known != new, known.id == new.id || (known.isUnnamed && (side == .callee || !new.isOfConnection))
            else { continue }
            setDevice(new, at: index)
            outputs.append(.changed)
        }
    }

    /// Records that a device is gone.
    ///
    /// The grace of an answered call begins when a device that is in the call goes away, or at the answer if the answer
    /// comes later.
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

    /// Returns whether the system of a callee's device does not show the ringing call.
    public func isSilenced(_ device: DeviceID) -> Bool {
        legs.contains { $0.phase == .silenced && $0.device.id == device }
    }

    /// Records that a device has received the notice that it is out of the call.
    mutating func endDelivered(_ device: DeviceIdentity, _ side: Side, into outputs: inout [Output]) {
        for index in legs.indices where isLeg(index, of: device, side) {
            guard legs[index].phase == .endNotDelivered else { continue }
            legs[index].phase = .left
            outputs.append(.changed)
        }
    }

    /// Returns whether a device took part, is out of the call, and has not been notified that it is out.
    public func hasUndeliveredEnd(to device: DeviceIdentity, side: Side) -> Bool {
        legs.indices.contains { legs[$0].phase == .endNotDelivered && isLeg($0, of: device, side) }
    }
}
