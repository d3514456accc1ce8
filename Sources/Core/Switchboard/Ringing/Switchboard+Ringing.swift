import CallCore
import CallPorts
import CallWire

/// Each device of the callee is sent the call on its connection or by a push (protocol, section 6).
extension Switchboard {
    /// Rings a callee: probes the callee's connections, which were sent the offer already, and pushes to the callee's
    /// other devices.
    mutating func ring(_ call: Call) {
        let user = call.callee
        let own = connections.of(user)
        for connection in own { probe(connection, for: call) }
        let devices = directory.devices(of: user)
        if own.isEmpty, !devices.contains(where: { $0.ringingPush != nil }) { note(call, .noDevice) }
        for device in devices where !device.isLive(among: own) { wake(device, for: call) }
        // A call that was withheld rings only now, and nothing else of it may change.
        checkReach(of: call)
        reschedule(call)
    }

    /// Probes a connection that was sent an offer.
    mutating func probe(_ connection: Connection, for call: Call) {
        note(call, .probe(connection.device.id))
        sendProbe(connection)
    }

    /// Pushes to a user's devices after a connection closed: at once if it had not answered its probe, because the offer may
    /// not have reached it; otherwise after a while.
    mutating func pushAfterClose(of connection: Connection) {
        guard connection.probedAt != nil, !connections.isDraining else { return wakeAfterAbsence(of: connection) }
        let left = connections.of(connection.user)
        for call in calls.ringing(connection.user) {
            note(call, .probeFailed(connection.device.id))
            for device in directory.devices(of: connection.user) where !device.isLive(among: left) {
                wake(device, for: call)
            }
            reschedule(call)
        }
    }
}
