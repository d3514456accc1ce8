import CallCore
import CallPorts
import CallWire
import Switchboard

/// Devices whose apps give no device id when they connect.
extension Apps {
    /// Reads the id that the server has given a device.
    func learnID(of device: SimulatedDevice, from welcome: ParsedFrame) {
        guard welcome.type == "welcome", let id = welcome.object?.text(of: .device).flatMap({ DeviceID($0) }) else {
            return fail("I3", "the first frame to \(device.id.text), which has no id, names no device")
        }
        log("\(device.id.text) is \(id.text)")
        device.assign(id)
        (device.core as? ModelClient)?.device = id
    }

    /// Ends an unnamed device that has lost its socket.
    func leave(_ device: SimulatedDevice) {
        log("\(device.id.text) is gone")
        device.isGone = true
        device.power = .killed
        device.core = nil
        device.wakesAt = nil
        device.instance += 1
    }

    /// Gives an unnamed device another token during a call.
    ///
    /// Its socket stays open under the earlier one. The request makes the call identify the device by the new one.
    func changeToken(of device: SimulatedDevice, in name: CallName) {
        guard device.makesRequests,
            device.core?.calls.contains(where: { $0.name == name && $0.phase == .talking }) == true
        else { return }
        log("\(device.id.text) has another token")
        device.renewToken()
        let fetch = Switchboard.Fetch(peer: name.pair.other(than: device.user), device: device.id)
        requests.issue(.other(.fetch(name.id, fetch)), from: device)
    }
}
