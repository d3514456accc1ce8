import CallCore
import CallPorts
import Switchboard

/// A server that has lost the calls to another one and does not know it: none of its commits is kept.
struct DeposedOwner {
    let switchboard: SwitchboardBox
    /// The run of the server that was deposed.
    let run: Int
    /// The commits that were durable when this owner was deposed.
    let durability: Durability
    /// The calls that it knows.
    var names: [CallNumber: CallName]
    /// For each call, the first entry that changes its course and will never be durable.
    var withheld: [CallName: UInt64] = [:]
    /// The pushes whose record will never be durable.
    var refusedPushes: Set<InvariantChecker.PushTarget> = []
    /// Whether it handles the report of a commit that was durable when it lost the calls.
    var isConfirming = false
    var cancelled: Set<PushID> = []

    /// Notes what it gives to the store, which refuses it.
    mutating func refused(_ changes: [Change]) {
        for change in changes {
            switch change {
            case .call(let record):
                names[record.number] = CallName(
                    id: record.id,
                    pair: Pair(record.caller, record.callee),
                    epoch: record.epoch
                )
            case .entry(let number, let record):
                guard Durability.changesCourse(record), let name = names[number] else { continue }
                withheld[name] = min(withheld[name] ?? .max, record.seq)
            case .event(let number, let record):
                guard case .pushSent(let device, _, _) = record.event, let name = names[number] else { continue }
                refusedPushes.insert(InvariantChecker.PushTarget(name: name, device: device))
            default: continue
            }
        }
    }
}
