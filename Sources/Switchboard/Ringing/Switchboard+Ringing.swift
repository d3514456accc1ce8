import CallCore
import CallPorts
import CallWire

/// Each device of the callee is sent the call on its connection or by a push (protocol, section 6).
extension Switchboard {
    /// Rings a callee: probes its connections, which have the offer already, and pushes to its other devices.
    mutating func ring(_ call: Call, at now: Moment) {
        let user = call.session.callee
        let sessions = connections.of(user)
        for session in sessions { probe(session, for: call, at: now) }
        let devices = directory.devices(of: user)
        if sessions.isEmpty, !devices.contains(where: { $0.voipToken != nil }) { note(call, .noDevice, at: now) }
        for device in devices where !device.isLive(among: sessions) { wake(device, for: call, at: now) }
        reschedule(call)
    }

    /// Probes a connection that was sent an offer.
    mutating func probe(_ session: Session, for call: Call, at now: Moment) {
        note(call, .probe(session.phone.id), at: now)
        askForLife(session, at: now)
    }

    /// Pushes to a user's devices after a connection closed without having answered its probe: the offer may not have
    /// reached it.
    mutating func wakeInstead(of session: Session, at now: Moment) {
        guard session.probedAt != nil, !connections.isDraining else { return }
        let left = connections.of(session.user)
        for call in calls.ringing(session.user) {
            note(call, .probeFailed(session.phone.id), at: now)
            for device in directory.devices(of: session.user) where !device.isLive(among: left) {
                wake(device, for: call, at: now)
            }
            reschedule(call)
        }
    }
}
