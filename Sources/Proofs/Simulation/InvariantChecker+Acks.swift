import CallCore
import CallPorts
import CallWire
import JSON
import Switchboard

/// The order of acks and commits: an ack may leave the server only when the commit with its signal is durable (I4).
struct AckOrder {
    /// One signal in the log of one call.
    struct Signal: Hashable {
        let call: CallID
        let epoch: UInt32
        let seq: UInt64
        let device: DeviceID
        let id: String

        init?(_ entry: EntryRecord, of call: CallName) {
            guard case .signal(_, _, let identity, let id?, _) = entry.entry.content else { return nil }
            (self.call, epoch, seq, device, self.id) = (call.id, call.epoch, entry.seq, identity.id, id.text)
        }

        /// Creates the signal that an ack, or the response to a POST, confirms.
        init?(ack: JSONObject, of id: String, from device: DeviceID) {
            guard let seq = ack.number(of: .seq), let epoch = ack.number(of: .epoch),
                let call = ack.text(of: .callId).flatMap({ CallID($0) })
            else { return nil }
            (self.call, self.epoch, self.seq) = (call, UInt32(truncatingIfNeeded: epoch), UInt64(seq))
            (self.device, self.id) = (device, id)
        }
    }

    /// The signals that the store was given and that are not durable yet.
    var writing: [Signal: Ticket] = [:]
    /// The signals that were acknowledged since the store was given the last batch.
    ///
    /// The next batch must not contain any of them.
    var acknowledged: Set<Signal> = []
}

/// One signal of a device.
struct DeviceSignal {
    let kind: SignalKind
    let device: DeviceID
    let id: String

    /// The device and the id, which identify the signal in the checker's tables.
    var key: String { "\(device.text) \(id)" }
}

/// Checks that an ack waits for its commit.
extension InvariantChecker {
    struct Transition {
        var begun: (key: CallKey, epoch: UInt32, number: CallNumber)?
        var ended: EndReason?
    }

    struct Acknowledged {
        let seq: UInt64
        let id: String
        let kind: SignalKind
        let device: DeviceID
        let user: UserID
        let at: Int64
    }

    /// Checks a batch that the server gives to the store.
    ///
    /// Call this after `apply(_:at:)` has handled the same changes: an entry contains only its call's number, and the
    /// checker knows the call's name from there.
    mutating func queued(_ changes: [Change], as ticket: Ticket) {
        for change in changes {
            guard case .entry(let number, let entry) = change, let call = calls[number],
                let signal = AckOrder.Signal(entry, of: call.name)
            else { continue }
            acks.writing[signal] = ticket
            if acks.acknowledged.contains(signal) { isEarly(signal) }
        }
        acks.acknowledged.removeAll(keepingCapacity: true)
    }

    mutating func durable(upTo ticket: Ticket) {
        acks.writing = acks.writing.filter { $0.value > ticket }
        durability.durable(upTo: ticket)
    }

    /// Checks a frame that the server writes to a device's socket.
    mutating func checkAck(_ frame: ParsedFrame, to device: SimulatedDevice) {
        guard frame.type == "ack", let object = frame.object, let id = object.text(of: .id) else { return }
        checkAck(object, of: id, to: device)
    }

    /// Checks the response to a POST of a signal.
    mutating func checkAck(_ reply: Reply, of id: String, to device: SimulatedDevice) {
        guard reply.status == 200, let object = MessageReader.object(reply.body) else { return }
        checkAck(object, of: id, to: device)
    }

    private mutating func checkAck(_ object: JSONObject, of id: String, to device: SimulatedDevice) {
        guard let signal = AckOrder.Signal(ack: object, of: id, from: device.id) else { return }
        acks.acknowledged.insert(signal)
        if acks.writing[signal] != nil { isEarly(signal) }
    }

    private mutating func isEarly(_ signal: AckOrder.Signal) {
        fail("I4", "\(signal.id) of \(signal.device.text) was acknowledged as \(signal.seq) and is not durable")
    }
}
