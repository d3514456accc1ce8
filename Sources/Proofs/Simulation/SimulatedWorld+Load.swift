import CallCore
import SeededRandom

/// Calls that interfere with each other: several under one callId, and more data than a connection takes.
extension SimulatedWorld {
    /// Plans a call between two users under a callId that is in use.
    func planNamesake(
        of id: CallID,
        at moment: Int64,
        among participants: [SimulatedDevice],
        _ generator: inout SeededGenerator
    ) {
        guard generator.percent(40), let caller = generator.pick(participants),
            let callee = generator.pick(participants.filter { $0.user != caller.user })
        else { return }
        let step = Step.call(device: caller.index, peer: callee.user, id, ring: nil)
        after(moment + generator.within(-2_000...12_000), .script(plan(step)))
    }

    /// Makes a device send many messages at once, in its call under a callId.
    func burst(_ device: SimulatedDevice, _ id: CallID) {
        guard let call = device.core?.calls.last(where: { $0.name.id == id && $0.phase != .ended }) else { return }
        let bulk = String(repeating: "x", count: userDraws.pick([10, 500, 2_000]) ?? 10)
        let count = userDraws.within(20...120)
        log("\(device.id.text) says \(count) × \(bulk.utf8.count) bytes at once in \(call.name)")
        for _ in 0..<count {
            sdpCount += 1
            let fields = "\"data\":{\"n\":\(sdpCount),\"bulk\":\"\(bulk)\"}"
            let say = Intent.send(call.name, .info, fields: fields)
            after(0, .intent(device: device.index, instance: device.instance, say))
        }
    }

    /// Makes a connection slow for a while.
    func slowDown(_ index: Int) {
        let bytesPerSecond = faultDraws.within(20_000...80_000)
        links[index].slow = (now + faultDraws.within(1_000...8_000), bytesPerSecond)
        log("socket \(index) of \(devices[links[index].device].id.text) takes \(bytesPerSecond) bytes a second")
    }
}
