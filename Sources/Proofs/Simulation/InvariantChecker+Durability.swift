import CallCore
import CallPorts
import CallWire
import JSON
import Switchboard

/// The durable part of each call.
///
/// A server that withholds its decisions shows no change of a call's course that is not durable, and sends no push of
/// which the record is not durable (I12).
struct Durability {
    /// A log entry that the store was given and that is not durable yet.
    private struct Queued {
        let ticket: Ticket
        let call: CallName
        let seq: UInt64
        let changesCourse: Bool
    }

    private var queued: [Queued] = []
    /// The records of pushes that the store was given and that are not durable yet, each with the pushed device.
    private var queuedPushes: [(ticket: Ticket, call: CallName, device: DeviceID)] = []
    /// The newest durable entry of each call.
    private var newest: [CallName: UInt64] = [:]

    /// Records a batch that the server gives to the store.
    mutating func queued(_ changes: [Change], as ticket: Ticket, calls: [CallNumber: InvariantChecker.CommittedCall]) {
        for change in changes {
            switch change {
            case .entry(let number, let record):
                guard let call = calls[number] else { continue }
                queued.append(
                    Queued(ticket: ticket, call: call.name, seq: record.seq, changesCourse: Self.changesCourse(record))
                )
            case .event(let number, let record):
                guard case .pushSent(let device, _, _) = record.event, let call = calls[number] else { continue }
                queuedPushes.append((ticket, call.name, device))
            default: continue
            }
        }
    }

    static func changesCourse(_ record: EntryRecord) -> Bool {
        switch record.entry.content {
        case .state, .signal(.offer, _, _, _, _), .signal(.ringing, _, _, _, _), .signal(.answer, _, _, _, _),
            .signal(.connected, _, _, _, _), .signal(.end, _, _, _, _):
            true
        case .signal: false
        }
    }

    /// Records that everything up to a ticket is durable.
    mutating func durable(upTo ticket: Ticket) {
        for entry in queued where entry.ticket <= ticket {
            newest[entry.call] = max(newest[entry.call] ?? 0, entry.seq)
        }
        queued.removeAll { $0.ticket <= ticket }
        queuedPushes.removeAll { $0.ticket <= ticket }
    }

    /// Records that the server has crashed: what is not durable is lost.
    mutating func crashed() {
        queued = []
        queuedPushes = []
    }

    /// Whether an entry is durable.
    func isDurable(_ seq: UInt64, of call: CallName) -> Bool { seq <= newest[call] ?? 0 }

    /// Whether an entry of a call with this callId and epoch is durable, whoever its users are.
    func isDurable(_ seq: UInt64, of id: CallID, epoch: UInt32) -> Bool {
        newest.contains { $0.key.id == id && $0.key.epoch == epoch && seq <= $0.value }
    }

    /// Whether the record of a push to a device for a call is not durable yet.
    func isRecordPending(to device: DeviceID, for call: CallName) -> Bool {
        queuedPushes.contains { $0.call == call && $0.device == device }
    }

    /// Whether a call has an entry that changes its course, is not durable, and comes before this one.
    func withholds(before seq: UInt64, of call: CallName) -> Bool {
        queued.contains { $0.changesCourse && $0.call == call && $0.seq < seq }
    }
}

/// Checks that nothing of a call's course is shown before it is durable (I12).
extension InvariantChecker {
    /// Records that another server has taken the calls over; `isOpen`: whether a socket has stayed open.
    mutating func tookOver(_ isOpen: (Int) -> Bool) {
        let kept = offers.filter { isOpen($0.key) }
        crashed()
        offers = kept
    }

    /// Checks that the store holds no number of a call twice (I4).
    mutating func checkNumbers(of call: StoredCall) {
        for (one, next) in zip(call.entries, call.entries.dropFirst()) where next.seq <= one.seq {
            fail("I4", "the store holds \(next.seq) behind \(one.seq) in \(call.record.id.text)/\(call.record.epoch)")
        }
    }

    /// The frames and events that change a call's course, by their type.
    static let courseTypes: Set<String> = ["offer", "ringing", "answer", "connected", "end", "call"]

    /// Checks a frame that the server writes to a user's socket.
    mutating func checkDurable(_ frame: ParsedFrame, to user: UserID) {
        guard let seq = frame.seq, let type = frame.type, type != "ack", type != "error",
            case .call(let name) = frame.place(for: user)
        else { return }
        if Self.courseTypes.contains(type)
            ? !durability.isDurable(seq, of: name) : durability.withholds(before: seq, of: name)
        {
            fail("I12", "\(type) \(seq) of \(name) was shown to \(user.text) before it was durable")
        }
    }

    /// Checks the response to a fetch.
    mutating func checkDurable(_ reply: Reply, of id: CallID, to user: UserID) {
        guard reply.status == 200, let object = MessageReader.object(reply.body),
            let epoch = object.number(of: .epoch).map({ UInt32(truncatingIfNeeded: $0) }),
            let room = object.text(of: .room), let peer = MessageReader.peer(inRoom: room, of: user)
        else { return }
        let name = CallName(id: id, pair: Pair(user, peer), epoch: epoch)
        if durability.withholds(before: .max, of: name) {
            fail("I12", "a fetch by \(user.text) shows \(name), of which not everything is durable")
        }
    }

    /// Checks a push that the server sends: the call that it announces and the record of the push are durable.
    mutating func checkDurable(_ push: OutgoingPush) {
        guard let id = push.call, let device = push.device, let object = MessageReader.object(push.payload),
            object.text(of: .type) == "call.incoming",
            let caller = object.text(of: .fromUserId).flatMap({ UserID($0) }),
            let epoch = MessageReader.number(.epoch, in: object).map({ UInt32(truncatingIfNeeded: $0) }),
            let user = devices.first(where: {
                $0.value.contains { $0.id == device && $0.has(push.route.token) }
            })?
            .key
        else { return }
        let name = CallName(id: id, pair: Pair(caller, user), epoch: epoch)
        if !durability.isDurable(1, of: name) {
            fail("I12", "a push to \(device.text) for \(name), which is not durable")
        }
        if durability.isRecordPending(to: device, for: name) {
            fail("I12", "a push to \(device.text) for \(name), although the record of the push is not durable")
        }
    }
}
