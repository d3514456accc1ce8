extension CallSession {
    /// Returns whether an offer under this call's callId begins a new call, of the next epoch, instead of belonging to
    /// this call.
    ///
    /// Existing apps use one callId for every call between two people. A new call may therefore come while the old call
    /// is still live on the server (protocol, section 3.6).
    public func isReplaced(by offer: Offer, from side: Side, _ device: DeviceIdentity) -> Bool {
        guard isLive else { return true }
        guard scheduled == nil else { return false }
        if lastDescription(.offer, from: side)?.digest == offer.digest { return false }
        // An app that was killed while its call rang, and calls again, begins another call.
        guard answeredAt != nil else { return offer.begins && side == .caller && isCaller(device) }
        if offer.begins {
            // The app was killed in the call and could not send its `end`. Its new offer means that the old call is
            // over.
            switch phase {
            case .answered(let answeringDevice), .active(let answeringDevice):
                if side == .callee, answeringDevice.isSame(as: device) { return true }
            case .ringing, .ended: break
            }
            if side == .caller { return true }
        }
        guard side == .caller else { return false }
        return !isCaller(device) || (device.isUnnamed && offer.namesCallee)
    }

    /// Returns the `seq` of the newest offer of this ended call if `offer` is a copy of it from the same device; `nil`
    /// otherwise.
    ///
    /// An app may send its offer on two transports, and the call may be declined before the second copy arrives. No two
    /// calls have the same description, so the digest identifies the copy. Only devices without an id are treated so:
    /// other devices give their offer an `id`, by which the copy is recognised.
    public func seqOfEndedOffer(_ offer: Offer, from device: DeviceIdentity) -> UInt64? {
        guard !isLive, device.isUnnamed, isCaller(device) else { return nil }
        return lastDescription(.offer, from: .caller).flatMap { $0.digest == offer.digest ? $0.seq : nil }
    }

    /// The meaning of an offer for the call that has its callId.
    public enum OfferMeaning: Equatable, Sendable {
        /// The offer was taken before, with this `seq`.
        case repeats(seq: UInt64)
        /// The offer replaces the caller's unanswered description. The ringing devices go on ringing, until the same
        /// moment.
        case replacesDescription
        /// The offer renegotiates the answered call.
        case renegotiates
        /// The offer is refused, and changes nothing.
        case refused(Refusal)
    }

    /// Returns the meaning of an offer that does not replace this call (``isReplaced(by:from:_:)``).
    ///
    /// `id`: The `id` that the device gave the offer.
    /// `epoch`: The epoch that the sender means; `nil` means the current epoch.
    public func meaning(
        of offer: Offer,
        id: SignalID?,
        epoch: UInt32?,
        from side: Side,
        _ device: DeviceIdentity
    ) -> OfferMeaning {
        if let id, let seq = receipt(of: id, .offer, from: side, device) { return .repeats(seq: seq) }
        if let epoch, epoch != self.epoch { return .refused(epoch < self.epoch ? .callEnded : .unknownEpoch) }
        return meaning(of: offer, from: side, device)
    }

    /// Returns the meaning of an offer of this epoch under an `id` that was not taken before.
    private func meaning(of offer: Offer, from side: Side, _ device: DeviceIdentity) -> OfferMeaning {
        if scheduled != nil { return .refused(.forbidden("a scheduled call has no media to negotiate")) }
        switch phase {
        case .ringing where side == .callee: return .refused(.callExists)
        case .ringing:
            if let earlier = lastDescription(.offer, from: .caller), earlier.digest == offer.digest {
                return .repeats(seq: earlier.seq)
            }
            // A second device of the caller may not take over the call: the first device would wait for an answer that
            // only the second device gets.
            guard callerDevice.isUnnamed || device.isUnnamed || isCaller(device) else {
                return .refused(.forbidden("another of your devices is making this call"))
            }
            return .replacesDescription
        case .answered(let answeringDevice), .active(let answeringDevice):
            if let earlier = lastDescription(.offer, from: side), earlier.digest == offer.digest {
                return .repeats(seq: earlier.seq)
            }
            switch side {
            case .callee where !answeringDevice.isSame(as: device): return .refused(.alreadyAnswered)
            case .caller where !isCaller(device):
                return .refused(.forbidden("another of your devices is making this call"))
            case .caller, .callee: return .renegotiates
            }
        case .ended: return .refused(.callEnded)
        }
    }

    mutating func takeOffer(
        _ offer: Offer,
        _ signal: Signal,
        from side: Side,
        _ device: DeviceIdentity,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        switch meaning(of: offer, from: side, device) {
        case .repeats(let seq): acknowledgeAgain(signal, from: side, device, seq: seq, into: &outputs)
        case .refused(let refusal): outputs.append(.refuse(refusal))
        case .replacesDescription:
            guard append(signal, digest: offer.digest, from: side, device, at: now, into: &outputs) else { return }
            legs[0].device = device
            hasVideo = offer.hasVideo
            outputs.append(.changed)
        case .renegotiates:
            guard append(signal, digest: offer.digest, from: side, device, at: now, into: &outputs) else { return }
            unansweredOffers.insert(side)
            if side == .caller {
                hasVideo = offer.hasVideo
                outputs.append(.changed)
            }
        }
    }

    /// Begins the call: appends its first entries and addresses them to the devices that they concern.
    ///
    /// `reachesCallee`: `false` when the callee must not be notified: the call lost a glare immediately, or it is
    /// hidden.
    public mutating func begin(
        with signal: Signal,
        reachesCallee: Bool,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        precondition(log.isEmpty, "a call begins once")
        guard case .offer(let offer) = signal.content else { preconditionFailure("a call begins with an offer") }
        append(
            signal,
            digest: offer.digest,
            from: .caller,
            callerDevice,
            audience: reachesCallee ? .callee : .nobody,
            at: now,
            into: &outputs
        )
        // This entry is for the caller only: the offer itself tells the callee that the call rings.
        append(StateChange(.ringing, offerID: signal.id), to: .caller, at: now, into: &outputs)
        outputs.append(.changed)
    }

    /// Returns the `seq` and the digest of a side's newest description of a kind (offer or answer); `nil` if it has
    /// sent none.
    public func lastDescription(_ kind: SignalKind, from side: Side) -> (seq: UInt64, digest: UInt64)? {
        for entry in log.reversed() {
            if case .signal(kind, side, _, _, let digest) = entry.content { return (entry.seq, digest) }
        }
        return nil
    }

    /// Returns the `seq` of the newest signal of a kind from a device; 0 when there is no such signal.
    func lastSeq(of kind: SignalKind, from device: DeviceIdentity) -> UInt64 {
        for entry in log.reversed() {
            if case .signal(kind, _, let sender, _, _) = entry.content, sender.isSame(as: device) { return entry.seq }
        }
        return 0
    }
}
