import CallCore
import CallPorts
import CallWire
import JSON

/// Waking devices: one push for each device without a connection.
extension Switchboard {
    /// The purpose of a push.
    struct Wake {
        /// The call; `nil` for a text's push.
        let call: CallNumber?
        let user: UserID
        let device: DeviceID
        let token: String
        let kind: PushOrder.Kind
        var environment: APNsEnvironment
        /// When the push was handed to the push service.
        var sentAt: Moment
        /// Whether the push reports a missed call.
        var tellsMissed = false
        /// The order of a notice (a text, a missed call): it is sent to the other environment if this one does not know
        /// the token.
        ///
        /// A call's push is built anew for each attempt.
        var notice: PushOrder?

        /// The purpose of the push, as the timeline names it.
        var purpose: TimelineEvent.Push { tellsMissed ? .missed : kind == .alert ? .alert : .voip }
    }

    /// Orders a push for a device that has a token, unless one was ordered for this call before.
    mutating func wake(_ device: DeviceRecord, for call: Call, at now: Moment) {
        guard call.pushes[device.id] == nil, let token = token(of: device, for: kind(for: device)),
            !directory.isUndisturbed(device.user, at: now), !call.isSilenced
        else { return }
        drive(call, .notified(Phone(id: device.id, mark: TokenMark(rawValue: 0))), at: now)
        let id = makePushID()
        let push = DevicePush(
            sent: id,
            kind: kind(for: device),
            token: token,
            environment: environment(of: device),
            at: now
        )
        call.pushes[device.id] = push
        markDirty(call)
        send(id, push, to: device, for: call, at: now)
    }

    /// Schedules pushes after a restart in the middle of a ring: devices have a moment to come back, then they are
    /// pushed as usual.
    func wakeLater(_ call: Call, at now: Moment) {
        guard case .ringing = call.session.phase, call.hidden == nil, !call.isSilenced else { return }
        for device in directory.devices(of: call.session.callee) where call.pushes[device.id] == nil {
            guard let token = token(of: device, for: kind(for: device)) else { continue }
            call.pushes[device.id] = DevicePush(
                waitingUntil: now + policy.probeFor,
                kind: kind(for: device),
                token: token,
                environment: environment(of: device)
            )
        }
    }

    private func kind(for device: DeviceRecord) -> PushOrder.Kind {
        if device.voipToken == nil { return .voip }
        return device.unansweredPushes >= DeviceRecord.pushesUntilAlert && device.alertToken != nil ? .alert : .voip
    }

    func token(of device: DeviceRecord, for kind: PushOrder.Kind) -> String? {
        switch kind {
        case .voip: device.voipToken
        case .alert: device.alertToken
        }
    }

    func environment(of device: DeviceRecord) -> APNsEnvironment {
        device.workingEnvironment ?? device.environment ?? policy.apnsEnvironment ?? .production
    }

    mutating func makePushID() -> PushID {
        lastPush += 1
        return PushID(rawValue: lastPush)
    }

    private mutating func send(
        _ id: PushID,
        _ push: DevicePush,
        to device: DeviceRecord,
        for call: Call,
        at now: Moment
    ) {
        guard let token = token(of: device, for: push.kind) else { return }
        let payload =
            switch push.kind {
            case .voip: PushPayload.incoming(call, to: device, capabilities: capabilities, at: now)
            case .alert: PushPayload.incomingAlert(call, at: now)
            }
        order(
            Wake(
                call: call.number,
                user: device.user,
                device: device.id,
                token: token,
                kind: push.kind,
                environment: push.environment,
                sentAt: now
            ),
            as: id,
            payload: payload,
            name: "",
            to: device,
            for: call,
            giveUpAt: call.session.ringUntil,
            at: now
        )
    }

    /// Orders a push for a call, and records it in the timeline.
    mutating func order(
        _ wake: Wake,
        as id: PushID,
        payload: [UInt8],
        name: String,
        to device: DeviceRecord,
        for call: Call,
        giveUpAt: Moment,
        at now: Moment
    ) {
        let order = PushOrder(
            id: id,
            token: wake.token,
            topic: wake.kind == .voip ? device.bundleID + ".voip" : device.bundleID,
            kind: wake.kind,
            environment: wake.environment,
            apnsID: UUIDv5.url("ringline:\(call.key.id.text)/\(call.session.epoch)/\(device.id.text)\(name)"),
            payload: payload,
            giveUpAt: giveUpAt,
            call: call.key.id,
            device: device.id
        )
        var wake = wake
        if wake.tellsMissed { wake.notice = order }
        send(order, for: wake, in: call, at: now)
    }

    private mutating func send(_ order: PushOrder, for wake: Wake, in call: Call?, at now: Moment) {
        pushes[order.id] = wake
        metrics.pushesSent += 1
        if let call {
            call.openPushes += 1
            note(call, .pushSent(wake.device, wake.purpose, wake.environment), at: now)
        }
        out.append(.push(order))
    }

    /// Sends the notice of a text.
    mutating func send(_ order: PushOrder, to device: DeviceRecord, at now: Moment) {
        let wake = Wake(
            call: nil,
            user: device.user,
            device: device.id,
            token: order.token,
            kind: order.kind,
            environment: order.environment,
            sentAt: now,
            notice: order
        )
        send(order, for: wake, in: nil, at: now)
    }

    /// Sends a notice again, to the other environment: the first push shows which environment a token belongs to.
    mutating func sendByOther(_ wake: Wake, at now: Moment) {
        guard var order = wake.notice, now < order.giveUpAt,
            directory.device(wake.device, of: wake.user)?.alertToken == wake.token
        else { return }
        order.id = makePushID()
        order.environment = wake.environment.other
        var next = wake
        next.environment = order.environment
        next.sentAt = now
        next.notice = nil
        send(order, for: next, in: wake.call.flatMap { calls[$0] }, at: now)
    }

    /// Cancels the pushes under way to a device, or to one of its tokens, because it no longer belongs to its user.
    ///
    /// `onlyNotices`: Leaves out the pushes of ringing calls, which are cancelled when the call no longer rings.
    mutating func takeBackPushes(
        to device: DeviceID,
        of user: UserID,
        token: String? = nil,
        onlyNotices: Bool = false
    ) {
        for (id, wake) in pushes.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where wake.user == user && wake.device == device && token ?? wake.token == wake.token {
            if !onlyNotices || wake.call == nil || wake.tellsMissed { out.append(.cancelPush(id)) }
        }
    }

    /// Cancels a call's pushes that were not sent yet, because it no longer rings, and counts devices that never
    /// reacted.
    mutating func stopWaking(_ call: Call, at now: Moment) {
        for device in call.pushes.keys.sorted(by: { $0.text < $1.text }) {
            takeBack(device, of: call, at: now)
            countUnanswered(call, device)
        }
    }

    /// Cancels a call's pushes because the callee has set do-not-disturb: nothing more is sent to wake a device for it.
    mutating func silence(_ call: Call, at now: Moment) {
        if !call.isSilenced { note(call, .doNotDisturb, at: now) }
        call.isSilenced = true
        markDirty(call)
        for device in call.pushes.keys.sorted(by: { $0.text < $1.text }) { takeBack(device, of: call, at: now) }
    }

    private mutating func takeBack(_ device: DeviceID, of call: Call, at now: Moment) {
        let wasWaiting = call.pushes[device]?.retryAt != nil
        if let id = call.pushes[device]?.cancel() {
            out.append(.cancelPush(id))
        } else if wasWaiting {
            note(call, .pushCancelled(device), at: now)
        }
    }

    /// Counts an accepted VoIP push that no sign of life followed: iOS withholds pushes from an app that does not react
    /// to them.
    private mutating func countUnanswered(_ call: Call, _ id: DeviceID) {
        guard let push = call.pushes[id], push.phase == .accepted, push.kind == .voip, push.sentAt.milliseconds > 0,
            var device = directory.device(id, of: call.session.callee), device.seenAt < push.sentAt
        else { return }
        device.unansweredPushes += 1
        store(device)
    }

    mutating func retryPushes(of call: Call, at now: Moment) {
        guard case .ringing = call.session.phase else { return }
        let sessions = sessionsByUser[call.session.callee] ?? []
        for id in call.pushes.keys.sorted(by: { $0.text < $1.text }) {
            guard var push = call.pushes[id], let at = push.retryAt, now >= at else { continue }
            guard let device = directory.device(id, of: call.session.callee),
                let token = token(of: device, for: push.kind), !directory.isUndisturbed(device.user, at: now)
            else {
                // The device was removed, another device has registered its token, or its user has set do-not-disturb
                // (as restored after a restart). A retry that stays due would wake the loop for ever.
                _ = call.pushes[id]?.cancel()
                note(call, .pushCancelled(id), at: now)
                continue
            }
            guard !isLive(device, among: sessions) else {
                // The device has come by itself. If it goes away again, it is pushed again.
                call.pushes[id] = nil
                continue
            }
            let name = makePushID()
            push.take(token, environment: environment(of: device))
            push.sent(name, at: now)
            call.pushes[id] = push
            markDirty(call)
            send(name, push, to: device, for: call, at: now)
        }
    }
}
