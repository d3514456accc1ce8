extension CallSession {
    /// Whether a device of the caller's user is the one that calls.
    ///
    /// A caller that asks over REST and names no device has no socket that could be told from its user's others: those
    /// without a name count as its own.
    @inlinable
    public func isCaller(_ phone: Phone) -> Bool {
        callerPhone.isSame(as: phone) || (callerPhone.isUnnamed && phone.isOfConnection)
    }

    /// Through whose eyes a device looks at the call, and in whose name it acts.
    ///
    /// A request that names no device and whose token took no part in the call speaks for its user, and so for the
    /// device of that user that is in the call - unless the user has other phones without a name, for then it is one of
    /// those, and has lost the call.
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

    /// The leg of a device; makes one on the side `joining` when it has none and there is room.
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

    /// A device of the callee is told of the ringing call.
    mutating func notified(_ phone: Phone, into outputs: inout [Output]) {
        guard case .ringing = phase, !isHidden else { return }
        let before = legs
        if let index = legIndex(of: phone, joining: .callee) { learnMark(of: phone, at: index) }
        if legs != before { outputs.append(.changed) }
    }

    /// Takes note of the token that a device comes with now.
    ///
    /// A device that a push is to wake has none yet, and a request that names no device is known by its token alone.
    private mutating func learnMark(of phone: Phone, at index: Int) {
        guard legs[index].phone.id == phone.id, phone.mark.rawValue != 0 else { return }
        know(phone, at: index)
    }

    /// Knows the device of a leg by this name and token from now on; if it has the call, it has it under these.
    private mutating func know(_ phone: Phone, at index: Int) {
        let known = legs[index].phone
        legs[index].phone = phone
        if known.id != phone.id {
            // The device may resend its signals under the new name: they keep their receipts.
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

    /// A device goes on under another token, or the name is learnt of one that was known by its token alone.
    ///
    /// A caller that began over REST and named no device stays known by its token where the new name is a connection's:
    /// it hears the call on all of these.
    mutating func renewed(_ old: Phone, as new: Phone, _ side: Side, into outputs: inout [Output]) {
        guard isLive else { return }
        for index in legs.indices where legs[index].side == side && legs[index].phone.isSame(as: old) {
            let known = legs[index].phone
            // Another device that has a name of its own may have come with the same token.
            guard known != new, known.id == new.id || (known.isUnnamed && (side == .callee || !new.isOfConnection))
            else { continue }
            know(new, at: index)
            outputs.append(.changed)
        }
    }

    /// A device is not to be reached any more: from now its grace runs, once the call is answered.
    mutating func gone(_ phone: Phone, _ side: Side, at now: Moment) {
        for index in legs.indices where isLeg(index, of: phone, side) {
            if legs[index].goneSince == nil { legs[index].goneSince = now }
        }
    }

    /// A device is there again.
    mutating func seen(_ phone: Phone, _ side: Side, into outputs: inout [Output]) {
        for index in legs.indices where isLeg(index, of: phone, side) {
            let known = legs[index].phone
            legs[index].goneSince = nil
            learnMark(of: phone, at: index)
            if legs[index].phone != known { outputs.append(.changed) }
        }
    }

    /// A device that is not in the answered call is done with it, and says so itself.
    mutating func leave(_ phone: Phone, _ side: Side, into outputs: inout [Output]) {
        guard side == .callee,
            let index = legs.firstIndex(where: { $0.side == side && $0.phone.isSame(as: phone) }),
            legs[index].phase != .left
        else { return }
        legs[index].phase = .left
        outputs.append(.changed)
    }

    /// A device has learnt that it is out of the call.
    mutating func told(_ phone: Phone, _ side: Side, into outputs: inout [Output]) {
        for index in legs.indices where isLeg(index, of: phone, side) {
            guard legs[index].phase == .untold else { continue }
            legs[index].phase = .left
            outputs.append(.changed)
        }
    }

    /// Whether a device took part, is out of the call, and has not been told so.
    public func owesNews(to phone: Phone, side: Side) -> Bool {
        legs.indices.contains { legs[$0].phase == .untold && isLeg($0, of: phone, side) }
    }
}
