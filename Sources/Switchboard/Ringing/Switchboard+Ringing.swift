import CallCore
import CallWire

/// Deliver or push, never neither (protocol, section 6).
extension Switchboard {
    /// Which device of which call a push is to wake.
    struct Wake {
        let call: CallNumber
        let user: UserID
        let device: DeviceID
        let environment: APNsEnvironment
        /// With which token.
        let token: String
    }

    /// Rings a callee: its sessions have the offer already; now they must prove that they live, and the rest is woken.
    func ring(_ call: Call, at now: Moment) {
        let user = call.session.callee
        let sessions = sessionsByUser[user] ?? []
        for session in sessions { probe(session, at: now) }
        let devices = directory.devices(of: user)
        if sessions.isEmpty, !devices.contains(where: { $0.voipToken != nil }) { note(call, "no_device", at: now) }
        for device in devices where device.voipToken != nil && !isLive(device, among: sessions) {
            wake(device, for: call, at: now)
        }
        reschedule(call)
    }

    /// Whether one of a user's sessions is a device's: its own, or, for one without a name, any without a name.
    private func isLive(_ device: DeviceRecord, among sessions: [Session]) -> Bool {
        sessions.contains { $0.phone.id == device.id || (!device.isNamed && !$0.isNamed) }
    }

    private func probe(_ session: Session, at now: Moment) {
        out.append(.ping(session.id))
        session.pingedAt = now
        guard session.probedAt == nil else { return }
        session.probedAt = now
        schedule(.probe(session.id), at: now + policy.probeFor)
    }

    /// A session that owes a sign of life since a call came was a corpse: its device is woken instead.
    func checkProbe(of session: Session, at now: Moment) {
        guard let probedAt = session.probedAt, now >= probedAt + policy.probeFor else { return }
        close(session.id, code: 1001, "no answer to a ping", isLost: true)
        closed(session.id, at: now)
    }

    /// A session is closed that never gave the sign of life it owed: whether the offer reached it nobody knows.
    func wakeInstead(of session: Session, at now: Moment) {
        guard session.probedAt != nil, !isDraining else { return }
        let left = sessionsByUser[session.user] ?? []
        for call in calls.live(of: session.user) where call.session.callee == session.user && call.hidden == nil {
            guard case .ringing = call.session.phase else { continue }
            note(call, "probe.failed", device: session.phone.id, at: now)
            for device in directory.devices(of: session.user)
            where device.voipToken != nil && call.pushes[device.id] == nil && !isLive(device, among: left) {
                wake(device, for: call, at: now)
            }
            reschedule(call)
        }
    }

    /// Orders a push for a device.
    private func wake(_ device: DeviceRecord, for call: Call, at now: Moment) {
        guard call.pushes[device.id] == nil else { return }
        drive(call, .notified(Phone(id: device.id, mark: TokenMark(rawValue: 0))), at: now)
        let environment = device.workingEnvironment ?? device.environment ?? policy.apnsEnvironment ?? .production
        let id = makePushID()
        call.pushes[device.id] = DevicePush(sent: id, environment: environment)
        send(id, to: device, for: call, by: environment, at: now)
    }

    private func makePushID() -> PushID {
        lastPush += 1
        return PushID(rawValue: lastPush)
    }

    private func send(
        _ id: PushID,
        to device: DeviceRecord,
        for call: Call,
        by environment: APNsEnvironment,
        at now: Moment
    ) {
        guard let token = device.voipToken else { return }
        pushes[id] = Wake(
            call: call.number,
            user: device.user,
            device: device.id,
            environment: environment,
            token: token
        )
        metrics.pushesSent += 1
        note(
            call,
            "push.sent",
            device: device.id,
            { json in
                json.name("environment")
                json.plain(environment.rawValue)
            },
            at: now
        )
        out.append(
            .push(
                PushOrder(
                    id: id,
                    token: token,
                    topic: device.bundleID + ".voip",
                    kind: .voip,
                    environment: environment,
                    apnsID: UUIDv5.url("ringline:\(call.key.id.text)/\(call.session.epoch)/\(device.id.text)"),
                    payload: PushPayload.incoming(call, to: device, capabilities: capabilities, at: now),
                    giveUpAt: call.session.ringUntil
                )
            )
        )
    }

    /// The call no longer rings: what was not yet sent stays unsent.
    func stopWaking(_ call: Call, at now: Moment) {
        for device in call.pushes.keys.sorted(by: { $0.text < $1.text }) {
            let wasWaiting = call.pushes[device]?.retryAt != nil
            if let id = call.pushes[device]?.cancel() {
                out.append(.cancelPush(id))
            } else if wasWaiting {
                note(call, "push.cancelled", device: device, at: now)
            }
        }
    }

    func retryPushes(of call: Call, at now: Moment) {
        guard case .ringing = call.session.phase else { return }
        for device in call.pushes.keys.sorted(by: { $0.text < $1.text }) {
            guard let push = call.pushes[device], let at = push.retryAt, now >= at else { continue }
            guard let record = directory.device(device, of: call.session.callee), record.voipToken != nil else {
                // It was removed, or its token belongs to somebody else by now: a try that is due for ever would
                // wake the loop for ever.
                _ = call.pushes[device]?.cancel()
                note(call, "push.cancelled", device: device, at: now)
                continue
            }
            let id = makePushID()
            call.pushes[device]?.sent(id)
            send(id, to: record, for: call, by: push.environment, at: now)
        }
    }

    func pushed(_ id: PushID, _ result: PushResult, at now: Moment) {
        guard let wake = pushes.removeValue(forKey: id) else { return }
        metrics.pushResults[result.label, default: 0] += 1
        let call = calls[wake.call]
        if let call { note(result, of: wake, call, at: now) }
        let verdict = call?.pushes[wake.device]?.take(result, for: id, at: now) ?? .ignore
        keep(result, of: wake, isFinal: verdict == .refused, at: now)
        if case .answered(let status, let reason, _) = result, status != 200, let call {
            out.append(.note(.pushFailed(call.key.id, wake.device, status: status, reason: reason ?? "")))
        } else if case .unreachable(let why) = result, let call {
            out.append(.note(.pushFailed(call.key.id, wake.device, status: 0, reason: why)))
        }
        if let call {
            if verdict == .tryOther { retryPushes(of: call, at: now) }
            reschedule(call)
        }
    }

    private func note(_ result: PushResult, of wake: Wake, _ call: Call, at now: Moment) {
        if result == .cancelled {
            note(call, "push.cancelled", device: wake.device, at: now)
            return
        }
        note(
            call,
            "push.result",
            device: wake.device,
            { json in
                switch result {
                case .answered(let status, let reason, _):
                    json.name("status")
                    json.value(status)
                    if let reason {
                        json.name("reason")
                        json.value(reason)
                    }
                case .unreachable(let why):
                    json.name("reason")
                    json.value(why)
                case .onlyLogged:
                    json.name("reason")
                    json.value("no APNs key is configured: pushes are only logged")
                case .cancelled: break
                }
                json.name("environment")
                json.plain(wake.environment.rawValue)
            },
            at: now
        )
    }

    /// Keeps the result with the device, and takes a token away that APNs says is dead.
    ///
    /// `isFinal`: Nothing more is tried for this call, the other environment included.
    private func keep(_ result: PushResult, of wake: Wake, isFinal: Bool, at now: Moment) {
        guard result != .cancelled, var device = directory.device(wake.device, of: wake.user) else { return }
        device.lastPush = .init(
            at: now,
            status: result.status,
            reason: result.reason,
            environment: wake.environment,
            hint: PushHint.text(for: result)
        )
        switch result {
        case .answered(200, _, _): device.workingEnvironment = wake.environment
        case .answered(410, _, let timestamp):
            // A phone that registered again after APNs saw the token die has a live one.
            if timestamp.map({ $0 >= device.voipTokenAt ?? $0 }) ?? true { device.voipToken = nil }
        case .answered(400, "BadDeviceToken", _) where isFinal && device.voipToken == wake.token:
            // Neither environment knows it.
            device.voipToken = nil
        case .answered, .unreachable, .cancelled, .onlyLogged: break
        }
        store(device)
    }

    /// Puts a device into the directory and the store; one with no token left is removed.
    func store(_ device: DeviceRecord) {
        if device.voipToken == nil, device.alertToken == nil, device.fcmToken == nil {
            directory.remove(device.id, of: device.user)
            changes.append(.deviceRemoved(device.user, device.id))
        } else {
            directory.put(device)
            changes.append(.device(device))
        }
    }
}

extension PushResult {
    fileprivate var status: Int { if case .answered(let status, _, _) = self { status } else { 0 } }

    fileprivate var reason: String? {
        switch self {
        case .answered(_, let reason, _): reason
        case .unreachable(let why): why
        case .cancelled: nil
        case .onlyLogged: "no APNs key is configured"
        }
    }

    /// The result in one word, for the metrics.
    fileprivate var label: String {
        switch self {
        case .answered(200, _, _): "accepted"
        // APNs' reasons are a fixed list; anything else would let a stranger choose our labels.
        case .answered(_, let reason?, _) where PushHint.knows(reason): reason
        case .answered: "other"
        case .unreachable: "unreachable"
        case .cancelled: "cancelled"
        case .onlyLogged: "only_logged"
        }
    }
}
