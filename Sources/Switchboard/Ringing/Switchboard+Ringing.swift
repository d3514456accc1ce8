import CallCore
import CallPorts
import CallWire

/// Deliver or push, never neither (protocol, section 6): which devices a call reaches, and how the server knows.
extension Switchboard {
    /// Rings a callee: probes its connections, which have the offer already, and pushes to its other devices.
    mutating func ring(_ call: Call, at now: Moment) {
        let user = call.session.callee
        let sessions = sessionsByUser[user] ?? []
        for session in sessions { probe(session, for: call, at: now) }
        let devices = directory.devices(of: user)
        if sessions.isEmpty, !devices.contains(where: { $0.voipToken != nil }) { note(call, .noDevice, at: now) }
        for device in devices where !isLive(device, among: sessions) { wake(device, for: call, at: now) }
        reschedule(call)
    }

    /// Whether one of a user's connections belongs to a device: a connection under the device's id or, for a device
    /// without an id, any connection without an id.
    func isLive(_ device: DeviceRecord, among sessions: [Session]) -> Bool {
        sessions.contains { $0.phone.id == device.id || (!device.isNamed && !$0.isNamed) }
    }

    /// Returns the calls that ring a user now.
    func callsRinging(_ user: UserID) -> [Call] {
        calls.live(of: user).filter { call in
            guard case .ringing = call.session.phase else { return false }
            return call.session.callee == user && call.hidden == nil
        }
    }

    /// Probes a connection that was sent an offer.
    mutating func probe(_ session: Session, for call: Call, at now: Moment) {
        note(call, .probe(session.phone.id), at: now)
        askForLife(session, at: now)
    }

    /// Closes a connection that did not answer its probe in time: it was dead, and its device is pushed.
    mutating func checkProbe(of session: Session, at now: Moment) {
        guard let probedAt = session.probedAt, now >= probedAt + policy.probeFor else { return }
        close(session.id, code: 1001, "no answer to a ping", isLost: true)
        closed(session.id, at: now)
    }

    /// Pushes to a user's devices after a connection was closed that had not answered its probe: it is unknown whether
    /// the offer reached it.
    mutating func wakeInstead(of session: Session, at now: Moment) {
        guard session.probedAt != nil, !isDraining else { return }
        let left = sessionsByUser[session.user] ?? []
        for call in callsRinging(session.user) {
            note(call, .probeFailed(session.phone.id), at: now)
            for device in directory.devices(of: session.user) where !isLive(device, among: left) {
                wake(device, for: call, at: now)
            }
            reschedule(call)
        }
    }
}
