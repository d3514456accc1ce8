import CallCore
import CallPorts
import CallWire

/// Decides what an offer means, and whether a new call rings.
///
/// The router reads the call that was found for the offer, and changes nothing. Rates and quotas are checked elsewhere.
enum CallRouter {
    /// An offer, and the other values on which its meaning depends, except the call that was found.
    struct IncomingOffer {
        let offer: Offer
        /// The `id` that the device gave the offer.
        let id: SignalID?
        let callID: CallID?
        /// The epoch that the sender names; `nil` = none.
        let epoch: UInt32?
        /// The user that the sender names by `to` or `room`; `nil` = none.
        let named: UserID?
        let source: Source

        /// The peer that a callId `<me>-<peer>` names.
        var peerInCallID: UserID? { callID.flatMap { Room.peer(inCallID: $0, for: source.user) } }

        /// The offer in the form that decides whether it replaces a call.
        ///
        /// For a device without an id, a callId `<me>-<peer>` names the callee as `to` does. Without this rule, an app
        /// that was killed in a call and calls again under the same token would renegotiate its lost call instead of
        /// beginning a new one.
        fileprivate var meant: Offer {
            guard source.device.isUnnamed, peerInCallID != nil else { return offer }
            var offer = offer
            offer.namesCallee = true
            return offer
        }
    }

    /// The meaning of an offer.
    enum Decision {
        /// The offer concerns the call that was found: it is a repeat, a new description, a renegotiation, or an offer
        /// that the call refuses.
        case inCall(CallSession.OfferMeaning)
        /// The offer of a call that has just ended has come a second time, by the other transport (request or
        /// connection); `seq` is the number of the entry that the offer's first arrival has in the log.
        case lateCopy(seq: UInt64)
        /// The offer begins a call, and there is no live call under its callId.
        case first(to: UserID)
        /// The offer begins a call that replaces the live call that was found.
        case replacement(to: UserID)
        /// The offer is refused with this error.
        case refused(WireError)
    }

    /// Decides what an offer means.
    ///
    /// `found`: The newest call that the offer may concern, live or ended; it may be hidden from the sender.
    static func decide(_ incoming: IncomingOffer, about found: Call?, at now: Moment) -> Decision {
        let source = incoming.source
        let side = found?.side(of: source.user)
        if let found, let side {
            let session = found.session
            let isRepeat = incoming.id.map { session.hasAccepted($0, .offer, from: source.device, on: side) } ?? false
            if isRepeat || !session.isReplaced(by: incoming.meant, from: side, source.device) {
                let meaning = session.meaning(
                    of: incoming.offer,
                    id: incoming.id,
                    epoch: incoming.epoch,
                    from: side,
                    source.actingDevice(in: found, on: side)
                )
                return .inCall(meaning)
            }
        }
        // An offer that names an epoch means the call of that epoch. Such an offer, a renegotiation, must not ring as a
        // new call if its call ended while the offer was on its way, or if the newest call under the callId is hidden
        // from the sender.
        if let epoch = incoming.epoch {
            // A call of an epoch that the server does not know was lost in a crash. After this refusal, the caller
            // begins the call again.
            guard let found, epoch <= found.epoch else { return .refused(Switchboard.unknownCall) }
            guard epoch == found.epoch, found.isLive, side != nil else {
                return .refused(WireError(.callEnded, "epoch: has ended", field: Field.epoch.name))
            }
        }
        if let found, let endedAt = found.endedAt, now < endedAt + SwitchboardLimits.offerRepeatedFor,
            let seq = found.session.seqOfEndedOffer(incoming.offer, from: source.device),
            found.offerCameOnly(byOtherThan: source.transport)
        {
            return .lateCopy(seq: seq)
        }
        let live = found.flatMap { $0.isLive ? $0 : nil }
        // The user in whose name the server calls must not put a call of their own in its place.
        if let live, live.scheduled != nil { return .refused(.init(.callExists, "the callId is in use")) }
        // The callId of an ended call does not determine the peer: the callId may be used again with another user.
        guard let callee = incoming.named ?? incoming.peerInCallID ?? live?.key.pair.other(than: source.user) else {
            return .refused(.invalid(.to, "missing; give to or room"))
        }
        guard callee != source.user else { return .refused(.invalid(.to, "must be another user")) }
        return live == nil ? .first(to: callee) : .replacement(to: callee)
    }

    /// The outcome of the start of a new call.
    enum StartOutcome: Equatable {
        /// The call rings its callee; the callee's own ringing calls to the caller give way to it.
        case rings
        /// The call is hidden from its callee, who cannot answer it.
        case hidden
        /// The call ends at once: the callee is in another call, and the policy reports busy.
        case busy
        /// The call ends at once: too many other callers ring its callee.
        case tooManyCallers
        /// The call ends at once: its callee rings its caller at the same time, and the callee's call continues.
        case lostGlare(to: CallID)
    }

    /// Decides whether a call that begins rings.
    ///
    /// `opposingCalls`: The callIds of the calls by which the callee is ringing the caller.
    static func startOutcome(
        _ id: CallID,
        hidden: CallRecord.Hidden?,
        isBusy: Bool,
        hasTooManyCallers: Bool,
        opposingCalls: [CallID]
    ) -> StartOutcome {
        if hasTooManyCallers { return .tooManyCallers }
        if isBusy { return .busy }
        if let winner = opposingCalls.first(where: { Glare.winner($0, id) != id }) { return .lostGlare(to: winner) }
        return hidden == nil ? .rings : .hidden
    }
}
