import CallCore
import CallPorts

/// Checks devices whose system does not show a call (I19).
extension InvariantChecker {
    /// Checks that a device which does not show a call does not end it for the callee's other devices.
    ///
    /// `id`: The id of the `end`. Broken clients, which end anything, use ids of another form than the client core.
    mutating func checkSilenced(_ id: String, of device: DeviceID, in call: CommittedCall) {
        guard !call.wasAnswered, !call.hasAnswer, id.contains("-"), silenced.contains(target(call.name, device)) else {
            return
        }
        fail("I19", "\(device.text) declined \(call.name), which its system did not show")
    }

    /// Checks that no device is pushed for a call that its system does not show.
    mutating func checkSilenced(_ name: CallName, pushedTo device: DeviceID) {
        guard let call = newest[name.key].flatMap({ calls[$0] }), call.name == name,
            call.record.legs.contains(where: { $0.phase == .silenced && $0.device.id == device })
        else { return }
        fail("I19", "\(device.text) is pushed for \(name), which its system does not show")
    }

    /// Checks that nobody is sent the report of a device which does not show a call.
    mutating func checkSilenced(_ frame: ParsedFrame, to device: SimulatedDevice) {
        guard frame.type == "ringing", frame.object?.raw(of: .shown) == "false" else { return }
        fail("I19", "\(device.id.text) was sent the report of a device that does not show the call")
    }
}
