import CallCore
import CallPorts

/// The capabilities in the simulated pushes: all their fields in plain text, without a signature.
struct Capabilities: CapabilityIssuer {
    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String {
        [call.text, String(epoch), user.text, peer.text, device.text, String(until.milliseconds)].joined(separator: "|")
    }

    /// Returns the bearer of a capability; `nil` when it is invalid or has expired.
    func principal(_ capability: String, at now: Int64) -> Principal? {
        let words = capability.split(separator: "|").map(String.init)
        guard words.count == 6, let call = CallID(words[0]), let epoch = UInt32(words[1]), let user = UserID(words[2]),
            let peer = UserID(words[3]), let device = DeviceID(words[4]), let until = Int64(words[5]), now <= until
        else { return nil }
        return Principal(user: user, scope: CallScope(call: call, epoch: epoch, peer: peer, device: device))
    }
}
