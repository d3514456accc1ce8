import CallCore
import CallWire
import JSON

/// The user's actions, as the app and the system hand them in.
extension CallClient {
    /// Returns the index of the live call with a UUID.
    func liveIndex(_ uuid: CallUUID) -> Int? { calls.lastIndex { $0.uuid == uuid && $0.isLive } }

    /// The number of calls that the user sees.
    var shownCount: Int { calls.count { $0.isShown } }

    mutating func start(_ wish: StartCall, at now: Moment) {
        let isInUse = calls.contains { call in
            call.uuid == wish.uuid || call.isLive && call.callID == wish.callID && call.peer == wish.to
        }
        if wish.to == configuration.user {
            out.append(.refused(wish.uuid, .callsOneself))
        } else if let ringing = calls.firstIndex(where: {
            $0.peer == wish.to && $0.phase.name == .ringing && !$0.isScheduled
        }) {
            // The peer is already calling this device. That call is answered, and no second call is needed.
            out.append(.refused(wish.uuid, .answeredInstead(calls[ringing].uuid)))
            answer(calls[ringing].uuid, at: now)
        } else if isInUse {
            out.append(.refused(wish.uuid, .inUse))
        } else if shownCount >= configuration.capacity {
            out.append(.refused(wish.uuid, .tooManyCalls))
        } else {
            holdCalls(except: nil, at: now)
            lastCall += 1
            let until = now + configuration.ringTimeout + ClientLimits.ringGrace
            var call = Call(
                number: lastCall,
                uuid: wish.uuid,
                callID: wish.callID,
                peer: wish.to,
                side: .caller,
                epoch: nil,
                phase: .preparing(until: until),
                caller: DisplayedPeer(
                    handle: wish.to.text,
                    handleType: configuration.userIDType,
                    name: nil,
                    hasVideo: wish.hasVideo
                ),
                isReported: true
            )
            call.usesMedia = true
            calls.append(call)
            offer(calls.count - 1, Negotiation.PlannedOffer(hasVideo: wish.hasVideo, restartsICE: false))
            if !isConnected { out.append(.connect) }
        }
    }

    mutating func answer(_ uuid: CallUUID, at now: Moment) {
        guard let index = liveIndex(uuid) else {
            out.append(.refused(uuid, .unknownCall))
            return
        }
        switch calls[index].phase {
        case .ringing:
            holdCalls(except: index, at: now)
            calls[index].phase = .answering(until: now + ClientLimits.setupTimeout)
            startAnswering(index)
            if !isConnected { out.append(.connect) }
        // This device has answered already: nothing is left to do.
        case .answering, .connecting, .active: break
        case .preparing, .calling, .hiddenByOutgoingCall, .ended: out.append(.refused(uuid, .notPossible))
        }
    }

    /// Ends a call whose answer took too long for the system, which has taken the call's screen away.
    ///
    /// The end is reported as well: the system may have taken only the action back, and a second report of an end does
    /// no harm. A call that is unknown, outgoing, not shown or over has no answer that could time out.
    mutating func answerTimedOut(_ uuid: CallUUID, at now: Moment) {
        guard let index = liveIndex(uuid), calls[index].side == .callee, calls[index].isShown else { return }
        endLocally(index, .failed, at: now)
    }

    mutating func end(_ uuid: CallUUID, _ reason: EndReason?, at now: Moment) {
        guard let index = liveIndex(uuid) else {
            // The call has ended already, which is what the user wants, so nothing is refused.
            if !calls.contains(where: { $0.uuid == uuid }) { out.append(.refused(uuid, .unknownCall)) }
            return
        }
        endForUser(index, reason, at: now)
    }

    mutating func setHeld(_ uuid: CallUUID, _ isHeld: Bool, at now: Moment) {
        guard let index = liveIndex(uuid) else {
            out.append(.refused(uuid, .unknownCall))
            return
        }
        hold(index, isHeld)
    }

    mutating func hold(_ index: Int, _ isHeld: Bool) {
        guard (calls[index].media.hold ?? false) != isHeld else { return }
        calls[index].media.hold = isHeld
        // Nobody hears of the hold of a scheduled call; the app reads it in the call's value.
        guard !calls[index].isScheduled else { return }
        out.append(.holdMedia(calls[index].uuid, isHeld))
        if calls[index].isAnswered { enqueue(.update(MediaUpdate(hold: isHeld)), of: index) }
    }

    /// Puts all answered calls but one on hold, because the user talks in one call at a time; `nil` = all of them.
    mutating func holdCalls(except chosen: Int?, at now: Moment) {
        for index in calls.indices where index != chosen && calls[index].isAnswered { hold(index, true) }
    }

    mutating func setMuted(_ uuid: CallUUID, audio: Bool?, video: Bool?, at now: Moment) {
        guard let index = liveIndex(uuid) else {
            out.append(.refused(uuid, .unknownCall))
            return
        }
        let media = calls[index].media
        let change = MediaUpdate(
            audioMuted: audio == (media.audioMuted ?? false) ? nil : audio,
            videoMuted: video == (media.videoMuted ?? false) ? nil : video
        )
        guard change.audioMuted != nil || change.videoMuted != nil else { return }
        calls[index].media.apply(change)
        guard !calls[index].isScheduled else { return }
        out.append(.muteMedia(uuid, audio: change.audioMuted, video: change.videoMuted))
        if calls[index].isAnswered { enqueue(.update(change), of: index) }
    }

    mutating func playDTMF(_ uuid: CallUUID, _ digits: String, at now: Moment) {
        let allowed = "0123456789*#ABCD,".utf8
        guard let index = liveIndex(uuid) else {
            out.append(.refused(uuid, .unknownCall))
            return
        }
        guard calls[index].isAnswered, !calls[index].isScheduled, (1...ClientLimits.digits).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ allowed.contains($0) }), enqueue(.dtmf(digits), of: index)
        else {
            out.append(.refused(uuid, .notPossible))
            return
        }
    }

    mutating func sendInfo(_ uuid: CallUUID, _ text: String, at now: Moment) {
        guard let index = liveIndex(uuid) else {
            out.append(.refused(uuid, .unknownCall))
            return
        }
        guard calls[index].isAnswered, !calls[index].isScheduled, text.utf8.count <= WireLimits.infoBytes,
            // Text that is not one JSON value would make the frame malformed.
            JSONText.isValue(text), enqueue(.info(text), of: index)
        else {
            out.append(.refused(uuid, .notPossible))
            return
        }
    }

    mutating func renegotiate(_ uuid: CallUUID, hasVideo: Bool?, restartsICE: Bool, at now: Moment) {
        guard let index = liveIndex(uuid), !calls[index].isIncomingUnanswered else {
            out.append(.refused(uuid, .unknownCall))
            return
        }
        guard !calls[index].isScheduled else {
            out.append(.refused(uuid, .notPossible))
            return
        }
        let wish = Negotiation.PlannedOffer(
            hasVideo: hasVideo ?? calls[index].displayedPeer.hasVideo,
            restartsICE: restartsICE
        )
        // An offer waits until the call is answered and no other exchange is under way. Otherwise it would be unclear
        // to which offer an answer belongs.
        if calls[index].isAnswered, calls[index].negotiation.state == .stable {
            offer(index, wish)
        } else {
            let restarts = calls[index].negotiation.nextOffer?.restartsICE ?? false
            calls[index].negotiation.nextOffer = Negotiation.PlannedOffer(
                hasVideo: wish.hasVideo,
                restartsICE: wish.restartsICE || restarts
            )
        }
    }
}
