import CallCore
import CallPorts
import CallWire

/// Decides what an offer means, and whether a new call rings.
///
/// It reads the call that was found for the offer, and changes nothing. Rates and quotas are checked elsewhere.
enum CallRouter {
    /// An offer with the other values, besides the call, on which its meaning depends.
    struct IncomingOffer {
        let offer: Offer
        /// The `id` that the device gave the offer.
        let id: SignalID?
        let callID: CallID?
        /// The epoch that the sender means.
        let epoch: UInt32?
        /// The user that the sender names by `to` or `room`.
        let named: UserID?
        let source: Source

        /// The peer that a callId `<me>-<peer>` names.
        var peerInCallID: UserID? { callID.flatMap { Room.peer(inCallID: $0, for: source.user) } }

        /// The offer in the form that decides whether it replaces a call.
        ///
        /// A callId `<me>-<peer>` names the callee as `to` does. Otherwise an app that was killed in a call and calls
        /// again under the same token would renegotiate its lost call instead of beginning a new one.
        fileprivate var meant: Offer {
            guard source.device.isUnnamed, peerInCallID != nil else { return offer }
            var offer = offer
            offer.namesCallee = true
            return offer
        }
    }

    /// The meaning of an offer.
    enum Decision {
        /// It concerns the call that was found: a repeat, a new description, a renegotiation, or an offer that the call
        /// refuses.
        case inCall(CallSession.OfferMeaning)
        /// The offer of a call that has just ended has come a second time, by the other transport (request or
        /// connection); `seq` is the number of that offer's entry.
        case lateCopy(seq: UInt64)
        /// It begins a call, and there is no live call under its callId.
        case first(to: UserID)
        /// It begins a call that replaces the live call that was found.
        case replacement(to: UserID)
        /// It is refused with this error.
        case refused(WireError)
    }

    /// Decides what an offer means.
    ///
    /// `found`: The newest call that the offer may concern, live or ended; it may be hidden from the sender.
    static func decide(_ incoming: IncomingOffer, about found: Call?, at now: Moment) -> Decision {
        let source = incoming.source
        let side = found?.session.side(of: source.user)
        if let session = found?.session, let side {
            let isRepeat = incoming.id.map { session.hasAccepted($0, from: source.device, on: side) } ?? false
            if isRepeat || !session.isReplaced(by: incoming.meant, from: side, source.device) {
                let meaning = session.meaning(
                    of: incoming.offer,
                    id: incoming.id,
                    epoch: incoming.epoch,
                    from: side,
                    source.actingDevice(in: session, on: side)
                )
                return .inCall(meaning)
            }
        }
        // An offer that names an epoch means the call of that epoch. Such an offer, a renegotiation, must not ring as a
        // new call if its call ended while the offer was on its way, or if the newest call under the callId is hidden
        // from the sender.
        if let epoch = incoming.epoch {
            // A call that the server does not know was lost in a crash: its caller begins it again.
            guard let found, epoch <= found.session.epoch else { return .refused(Switchboard.unknownCall) }
            guard epoch == found.session.epoch, found.session.isLive, side != nil else {
                return .refused(WireError(.callEnded, "epoch: has ended", field: Field.epoch.name))
            }
        }
        if let found, let endedAt = found.endedAt, now < endedAt + SwitchboardLimits.offerRepeatedFor,
            let seq = found.session.seqOfEndedOffer(incoming.offer, from: source.device),
            found.offerCameOnly(byOtherThan: source.transport)
        {
            return .lateCopy(seq: seq)
        }
        let live = found.flatMap { $0.session.isLive ? $0 : nil }
        // The callId of an ended call does not determine the peer: the callId may be used again with another user.
        guard let callee = incoming.named ?? incoming.peerInCallID ?? live?.key.pair.other(than: source.user) else {
            return .refused(.invalid(.to, "missing; give to or room"))
        }
        guard callee != source.user else { return .refused(.invalid(.to, "must be another user")) }
        return live == nil ? .first(to: callee) : .replacement(to: callee)
    }

    /// How a new call begins.
    enum StartOutcome: Equatable {
        /// It rings its callee; the callee's own ringing calls to the caller give way to it.
        case rings
        /// It is hidden from its callee, who cannot answer it.
        case hidden
        /// It ends at once: the callee is in another call, and such calls are refused.
        case busy
        /// It ends at once: too many other callers ring its callee.
        case tooManyCallers
        /// It ends at once: its callee rings its caller at the same time, and the callee's call continues.
        case lostGlare(to: CallID)
    }

    /// Decides whether a call that begins rings.
    ///
    /// `opposingCalls`: The ringing calls of the callee to the caller.
    static func begin(
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
