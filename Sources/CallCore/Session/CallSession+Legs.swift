extension CallSession {
    /// Returns whether a device of the caller's user is the one that makes the call.
    ///
    /// If the caller's device is known by its token alone (`t-…`), it is unknown which of its user's connections are
    /// its own. Then every connection of that user without a device id (`c-…`) counts as the caller's device.
    @inlinable
    public func isCaller(_ phone: Phone) -> Bool {
        callerPhone.isSame(as: phone) || (callerPhone.isUnnamed && phone.isOfConnection)
    }

    /// Returns the device that `phone` stands for in the call: `phone` sees the call, and acts in it, as that device.
    ///
    /// A request may name no device and have a token that no leg of the call has. Such a request stands for the device
    /// of its user that is in the call. There is one exception: if a callee's device without an id has a leg, the
    /// request counts as coming from such a device, which has lost the call.
    public func standIn(for phone: Phone, on side: Side) -> Phone {
        guard phone.isUnnamed, !legs.contains(where: { $0.side == side && $0.phone.isSame(as: phone) }) else {
            return phone
        }
        switch side {
        case .caller: return callerPhone
        case .callee:
            guard let winner, !winner.isUnnamed,
                !legs.contains(where: { $0.side == .callee && ($0.phone.isUnnamed || $0.phone.isOfUnnamedRow) })
            else { return phone }
            return winner
        }
    }

    /// Returns the leg of a device.
    ///
    /// Creates one on the side `joining` if the device has none and there is room.
    mutating func legIndex(of phone: Phone, joining side: Side) -> Int? {
        if let index = legs.firstIndex(where: { $0.phone.isSame(as: phone) && $0.side == side }) { return index }
        guard legs.count < Limits.legs else { return nil }
        legs.append(Leg(phone: phone, side: side, phase: .notified))
        return legs.count - 1
    }

    private func isLeg(_ index: Int, of phone: Phone, _ side: Side) -> Bool {
        guard legs[index].side == side else { return false }
        return side == .caller ? isCaller(phone) : legs[index].phone.isSame(as: phone)
    }

    /// Records that a device of the callee was notified of the ringing call.
    mutating func notified(_ phone: Phone, into outputs: inout [Output]) {
        guard case .ringing = phase, !isHidden else { return }
        let before = legs
        if let index = legIndex(of: phone, joining: .callee) { learnMark(of: phone, at: index) }
        if legs != before { outputs.append(.changed) }
    }

    /// Records the token that a device now uses.
    ///
    /// Two kinds of `phone` change nothing: a device that was only pushed, because its token is not known yet (0), and
    /// one that has the leg's token but another id.
    private mutating func learnMark(of phone: Phone, at index: Int) {
        guard legs[index].phone.id == phone.id, phone.mark.rawValue != 0 else { return }
        know(phone, at: index)
    }

    /// Records this id and token for the device of a leg.
    ///
    /// If that device is the winner, the phase of the call gets the new id and token too.
    private mutating func know(_ phone: Phone, at index: Int) {
        let known = legs[index].phone
        legs[index].phone = phone
        if known.id != phone.id {
            // The device may resend its signals under the new id, so they keep their receipts.
            for (name, seq) in receipts where name.side == legs[index].side && name.device == known.id {
                receipts[SignalName(side: name.side, device: phone.id, id: name.id)] = seq
            }
        }
        guard legs[index].side == .callee, winner?.id == known.id else { return }
        switch phase {
        case .ringing: break
        case .answered: phase = .answered(by: phone)
        case .active: phase = .active(with: phone)
        case .ended(let ending, _): phase = .ended(ending, answeredBy: phone)
        }
    }

    /// Records that a device continues under another token, or that a device known by its token alone got a device id.
    ///
    /// A caller that began over REST and named no device stays known by its token when the new id is that of a
    /// connection (`c-…`). It receives the call on all such connections.
    mutating func renewed(_ old: Phone, as new: Phone, _ side: Side, into outputs: inout [Output]) {
        guard isLive else { return }
        for index in legs.indices where legs[index].side == side && legs[index].phone.isSame(as: old) {
            let known = legs[index].phone
            // The leg of another device, with an id of its own, may have the same token: skip it.
            guard known != new, known.id == new.id || (known.isUnnamed && (side == .callee || !new.isOfConnection))
            else { continue }
            know(new, at: index)
            outputs.append(.changed)
        }
    }

    /// Records that a device is gone.
    ///
    /// The grace of an answered call runs from the first such moment, or from the answer if that came later.
    mutating func gone(_ phone: Phone, _ side: Side, at now: Moment) {
        for index in legs.indices where isLeg(index, of: phone, side) {
            if legs[index].goneSince == nil { legs[index].goneSince = now }
        }
    }

    /// Records that a device is no longer gone.
    mutating func seen(_ phone: Phone, _ side: Side, into outputs: inout [Output]) {
        for index in legs.indices where isLeg(index, of: phone, side) {
            let known = legs[index].phone
            legs[index].goneSince = nil
            learnMark(of: phone, at: index)
            if legs[index].phone != known { outputs.append(.changed) }
        }
    }

    /// Records that a callee's device that lost the answered call has sent its own `end`: it knows that it is out.
    mutating func leave(_ phone: Phone, _ side: Side, into outputs: inout [Output]) {
        guard side == .callee,
            let index = legs.firstIndex(where: { $0.side == side && $0.phone.isSame(as: phone) }),
            legs[index].phase != .left
        else { return }
        legs[index].phase = .left
        outputs.append(.changed)
    }

    /// Records that a device has received the notice that it is out of the call.
    mutating func told(_ phone: Phone, _ side: Side, into outputs: inout [Output]) {
        for index in legs.indices where isLeg(index, of: phone, side) {
            guard legs[index].phase == .untold else { continue }
            legs[index].phase = .left
            outputs.append(.changed)
        }
    }

    /// Returns whether a device took part, is out of the call, and has not received the notice of that.
    public func owesNews(to phone: Phone, side: Side) -> Bool {
        legs.indices.contains { legs[$0].phase == .untold && isLeg($0, of: phone, side) }
    }
}
