import CallCore
import CallPorts
import CallWire
import JSON

/// Checks that a deposed owner acknowledges nothing that was not durable, and shows no decision (I12, I13).
extension InvariantChecker {
    /// The refusals that tell of a call's course.
    private static let tellingCodes: Set<String> = ["not_found", "call_ended", "already_answered"]

    /// Checks a push that a deposed owner orders: its record was durable when the owner lost the calls.
    mutating func checkDeposed(_ push: OutgoingPush, by owner: DeposedOwner) {
        guard let (name, device) = ring(push) else { return }
        checkAPNsID(push, of: target(name, device.id))
        if owner.refusedPushes.contains(target(name, device.id)) {
            fail("I13", "a deposed owner pushes \(device.id.text) for \(name)")
        }
    }

    mutating func checkDeposed(_ frame: ParsedFrame, to user: UserID, by owner: DeposedOwner) {
        guard let object = frame.object, let type = frame.type else { return }
        if type == "error" {
            guard object.text(of: .callId) != nil, let code = object.text(of: .code), Self.tellingCodes.contains(code)
            else { return }
            // A refusal that waited for this commit was decided before another server owned the calls.
            if owner.isConfirming { return }
            fail("I13", "a deposed owner tells \(user.text) \(code)")
            return
        }
        guard let seq = frame.seq, seq > 0 else { return }
        if type == "ack" {
            guard let id = object.text(of: .callId).flatMap({ CallID($0) }),
                let epoch = object.number(of: .epoch).map({ UInt32(truncatingIfNeeded: $0) }),
                !owner.durability.isDurable(seq, of: id, epoch: epoch)
            else { return }
            fail("I13", "a deposed owner acknowledges \(object.text(of: .id) ?? "?") of \(id.text) as \(seq)")
            return
        }
        guard case .call(let name) = frame.place(for: user) else { return }
        if Self.courseTypes.contains(type)
            ? !owner.durability.isDurable(seq, of: name) : seq > owner.withheld[name] ?? .max
        {
            fail("I12", "\(type) \(seq) of \(name) was shown to \(user.text) by a deposed owner")
        }
    }
}
