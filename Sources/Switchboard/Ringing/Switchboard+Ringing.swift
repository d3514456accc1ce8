import CallCore
import CallWire

/// Deliver or push, never neither (protocol, section 6): whom a call reaches, and how it is known.
extension Switchboard {
    /// Rings a callee: its sessions have the offer already; now they must prove that they live, and the rest is woken.
    func ring(_ call: Call, at now: Moment) {
        let user = call.session.callee
        let sessions = sessionsByUser[user] ?? []
        for session in sessions { probe(session, for: call, at: now) }
        let devices = directory.devices(of: user)
        if sessions.isEmpty, !devices.contains(where: { $0.voipToken != nil }) { note(call, "no_device", at: now) }
        for device in devices where !isLive(device, among: sessions) { wake(device, for: call, at: now) }
        reschedule(call)
    }

    /// Whether one of a user's sessions is a device's: its own, or, for one without a name, any without a name.
    func isLive(_ device: DeviceRecord, among sessions: [Session]) -> Bool {
        sessions.contains { $0.phone.id == device.id || (!device.isNamed && !$0.isNamed) }
    }

    /// The calls that ring a user now.
    func callsRinging(_ user: UserID) -> [Call] {
        calls.live(of: user).filter { call in
            guard case .ringing = call.session.phase else { return false }
            return call.session.callee == user && call.hidden == nil
        }
    }

    /// Asks a session that was sent an offer for a sign of life.
    func probe(_ session: Session, for call: Call, at now: Moment) {
        note(call, "probe", device: session.phone.id, at: now)
        askForLife(session, at: now)
    }

    /// A session that owes a sign of life since a call came was a corpse: it is closed, and its device woken.
    func checkProbe(of session: Session, at now: Moment) {
        guard let probedAt = session.probedAt, now >= probedAt + policy.probeFor else { return }
        close(session.id, code: 1001, "no answer to a ping", isLost: true)
        closed(session.id, at: now)
    }

    /// A session is closed that never gave the sign of life it owed: whether the offer reached it nobody knows.
    func wakeInstead(of session: Session, at now: Moment) {
        guard session.probedAt != nil, !isDraining else { return }
        let left = sessionsByUser[session.user] ?? []
        for call in callsRinging(session.user) {
            note(call, "probe.failed", device: session.phone.id, at: now)
            for device in directory.devices(of: session.user) where !isLive(device, among: left) {
                wake(device, for: call, at: now)
            }
            reschedule(call)
        }
    }
}
