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
        legs[index].phone = phone
    }

    /// A device is not to be reached any more: from now its grace runs, once the call is answered.
    mutating func gone(_ phone: Phone, _ side: Side, at now: Moment) {
        for index in legs.indices where isLeg(index, of: phone, side) {
            if legs[index].goneSince == nil { legs[index].goneSince = now }
        }
    }

    /// A device is there again.
    mutating func seen(_ phone: Phone, _ side: Side) {
        for index in legs.indices where isLeg(index, of: phone, side) {
            legs[index].goneSince = nil
            learnMark(of: phone, at: index)
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
