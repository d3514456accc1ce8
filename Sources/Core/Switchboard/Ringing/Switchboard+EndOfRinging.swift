import CallCore
import CallPorts
import CallWire

/// The end of ringing: pushes are cancelled, rung devices are notified of a missed call, and an alert on the screen is
/// replaced (protocol, section 6.8).
///
/// A device that Firebase has woken gets a second message instead: its app removes what it shows.
extension Switchboard {
    /// Cancels a call's pushes that no push service has accepted or refused yet, because the call no longer rings,
    /// replaces its alerts, and counts the VoIP pushes without a reaction.
    mutating func stopWaking(_ call: Call) {
        call.parsedOffer = nil
        for device in call.pushes.keys.sorted(by: { $0.text < $1.text }) {
            let mightShow = mayShow(call, on: device)
            cancelPush(to: device, of: call)
            countUnanswered(call, device)
            if mightShow { tellOver(call, to: device) }
        }
    }

    /// Counts an accepted VoIP push that no sign of life followed: iOS withholds pushes from an app that does not react
    /// to them.
    private mutating func countUnanswered(_ call: Call, _ id: DeviceID) {
        guard let push = call.pushes[id], push.phase == .accepted, push.kind == .voip,
            var device = directory.device(id, of: call.callee), device.seenAt < push.sentAt
        else { return }
        device.unansweredPushes += 1
        reportDegraded(device)
        store(device)
    }

    /// Notifies the callee's devices of a call that was not answered.
    mutating func tellMissed(_ call: Call) {
        guard case .ended(let ending, nil) = call.session.phase, isMissed(call, ending.reason) else { return }
        for device in directory.devices(of: call.callee)
        where wasRung(device, in: call) && mayHearOfMissed(call, device) {
            sendNotice(.missed, to: device, for: call) { PushPayload.missed(call, to: device, as: $0) }
        }
    }

    /// Returns whether a call that nobody answered is a missed one: not if its schedule was removed, or rings again.
    private func isMissed(_ call: Call, _ reason: EndReason) -> Bool {
        switch reason {
        case .unanswered: call.scheduled == nil || isLastRing(call)
        case .cancelled: call.scheduled == nil
        case .missed: true
        // The user has declined the last ring, and knows of it.
        case .givenUp:
            if case .ended(let ending, _) = call.session.phase { ending.declinedBy == nil } else { false }
        case .hangup, .declined, .busy, .answeredElsewhere, .declinedElsewhere, .glare, .failed, .disconnected,
            .replaced, .confirmed:
            false
        }
    }

    /// Sends a device a notice about a call that no longer rings, if the device has a token for notices.
    private mutating func sendNotice(
        _ news: PendingPush.AfterRinging,
        to device: DeviceRecord,
        for call: Call,
        payload: (PushKind) -> [UInt8]
    ) {
        // A notice goes the way of the push that it follows.
        let rung = call.pushes[device.id]?.kind.flatMap { $0 != .voip && device.routes.has($0) ? $0 : nil }
        let rungBy = rung.flatMap { device.route(for: $0, environment(of: device)) }
        guard let route = rungBy ?? noticeRoute(to: device) else { return }
        requestPush(
            pushes.makeID(),
            by: route,
            to: device,
            for: call,
            news,
            payload: payload(route.kind),
            expiresAt: turn.now + SwitchboardLimits.noticeTimeout
        )
    }

    /// Returns whether a device may be notified that it has missed a call.
    func mayHearOfMissed(_ call: Call, _ device: DeviceRecord) -> Bool {
        call.hidden == nil && !call.wasSilencedByDoNotDisturb && !isSilencedByDoNotDisturb(call)
            && !call.unnoticedDevices.contains(device.id) && !isCallerBlocked(call)
    }

    /// Returns whether the callee blocks the caller now, by their id or by the number that the offer shows.
    ///
    /// A call that rang may have been the reason for the block.
    private func isCallerBlocked(_ call: Call) -> Bool {
        if directory.isBlocked(call.caller, by: call.callee) { return true }
        guard directory.numbers.hasBlocked(call.callee), let offer = call.newestOffer() else { return false }
        return isAnyBlocked(offer.phoneNumbers(of: call.caller), by: call.callee)
    }

    /// Returns whether a device shows, or may show, the call by an alert or after a Firebase message.
    ///
    /// After a restart the kind of an earlier push is not known: a device without a VoIP token counts as alerted, any
    /// other one does not, even if its VoIP pushes are withheld.
    func mayShow(_ call: Call, on id: DeviceID) -> Bool {
        guard let push = call.pushes[id], push.mayHaveArrived else { return false }
        if let kind = push.kind { return kind != .voip }
        return directory.device(id, of: call.callee).map { !$0.routes.has(.voip) } ?? false
    }

    /// Replaces the alert of a call that no longer rings on a device, unless the device itself has answered or declined,
    /// or gets the notice of a missed call, which replaces the alert too.
    ///
    /// This is the only push during do-not-disturb: it makes no sound, and takes an alert off the screen.
    ///
    /// If the alert is under way, its result is waited for, so that it does not come last.
    mutating func tellOver(_ call: Call, to id: DeviceID) {
        guard let device = directory.device(id, of: call.callee), let reason = reasonOver(call, on: device) else {
            return
        }
        sendNotice(.over, to: device, for: call) { PushPayload.over(call, reason, to: device, as: $0) }
    }

    /// Returns why a call no longer rings on a device that was sent an alert; `nil` = nothing has to be said.
    private func reasonOver(_ call: Call, on device: DeviceRecord) -> EndReason? {
        switch call.session.phase {
        case .ringing: return nil
        case .answered(let by), .active(let by), .ended(_, let by?): return mayBe(device, by) ? nil : .answeredElsewhere
        case .ended(let ending, nil):
            if isMissed(call, ending.reason) {
                return mayHearOfMissed(call, device) ? nil : ending.reason
            }
            guard let decliner = ending.declinedBy else { return ending.reason }
            return mayBe(device, decliner) ? nil : .declinedElsewhere
        }
    }

    /// Returns whether a device of the callee may be the registered one.
    ///
    /// A device that was registered without an id joins calls under an id that the server makes.
    private func mayBe(_ device: DeviceRecord, _ identity: DeviceIdentity) -> Bool {
        identity.id == device.id || (!device.isNamed && (identity.isUnnamed || identity.isOfConnection))
    }

    /// Returns whether a device has said that it rings.
    ///
    /// A leg without a device id may be any of the devices that were registered without one. If there are fewer such
    /// legs than such devices, none of them counts: a device that rings twice does less harm than one that does not.
    func hasSaidRinging(_ device: DeviceRecord, in call: Call) -> Bool {
        let ringing = call.session.legs.filter { $0.side == .callee && $0.phase == .ringing }
        if ringing.contains(where: { $0.device.id == device.id }) { return true }
        guard !device.isNamed else { return false }
        let unnamedDevices = directory.devices(of: device.user).count { !$0.isNamed }
        return ringing.count { mayBe(device, $0.device) } >= unnamedDevices
    }

    /// Returns whether a device has said that it rings, or has a connection or a request under way.
    func isRingingOrPresent(_ device: DeviceRecord, in call: Call) -> Bool {
        call.session.legs.contains { leg in
            leg.side == .callee && mayBe(device, leg.device) && (leg.phase == .ringing || leg.goneSince == nil)
        }
    }

    /// Returns whether a device was pushed for a call, or was shown the call on a connection.
    private func wasRung(_ device: DeviceRecord, in call: Call) -> Bool {
        if call.pushes[device.id].map({ $0.attempts > 0 }) ?? false { return true }
        return call.session.legs.contains { $0.side == .callee && mayBe(device, $0.device) }
    }
}
