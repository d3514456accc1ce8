import CallCore
import CallPorts
import CallWire
import Switchboard

/// Operations on calls in the switchboard: from the received frame to the outputs that send, commit and acknowledge.
let switchboardOperations: [Operation] = [
    // One message a turn, as with little traffic; each has a commit of its own.
    Operation(name: "relay-candidate", times: 200) { try relay(turnsOf: 1) },
    // Twenty messages a turn, as under load.
    Operation(name: "relay-candidate-of-20", times: 200) { try relay(turnsOf: 20) },
    // Like the first operation, but with UUIDs as the ids of the call, the signals and the devices.
    Operation(name: "relay-candidate-uuids", times: 200) {
        let devices = ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b811-9dad-11d1-80b4-00c04fd430c8"]
        return try relay(turnsOf: 1, in: Inputs.callUUID, by: try devices.map { try made(DeviceID($0), "a device") }) {
            Inputs.candidateFrameWithUUIDs($0, $1)
        }
    },
    // An offer to a callee with a connected device.
    Operation(name: "offer", times: 50) { try offer(SwitchboardBench()) },
    // The same with an event for the app's backend.
    Operation(name: "offer-events", times: 50) { try offer(SwitchboardBench(reports: true)) },
    Operation(name: "offer-decided", times: 50) { try offer(SwitchboardBench(decides: true)) },
    // An offer to a callee with a device that must be pushed.
    Operation(name: "offer-push", times: 50) {
        var bench = SwitchboardBench()
        let callers = try (1...50).map { try bench.open(.caller, $0) }
        for number in 1...50 { try register(number, on: &bench) }
        bench.turn()
        return begin(bench, callers) { $0.pushes }
    },
    // Offer, answer, ten candidates of each side, and end: 23 messages.
    Operation(name: "whole-call", times: 20) { try wholeCall(SwitchboardBench()) },
    // The same with its three events for the app's backend.
    Operation(name: "whole-call-events", times: 20) { try wholeCall(SwitchboardBench(reports: true)) },
    Operation(name: "whole-call-decided", times: 20) { try wholeCall(SwitchboardBench(decides: true)) },
]

private struct CallFrames {
    let offer, answer: [UInt8]
    let candidates: [[UInt8]]
    let end: [UInt8]
}

/// Prepares offers to callees with a connected device.
private func offer(_ bench: consuming SwitchboardBench) throws -> () -> Int {
    var bench = bench
    let callers = try (1...50).map { try bench.open(.caller, $0) }
    for number in 1...50 { _ = try bench.open(.callee, number) }
    // Two deliveries per offer: the offer to the callee, and the ringing state to the caller.
    return begin(bench, callers) { Int($0.switchboard.metrics.delivered) / 2 }
}

/// Prepares calls from the offer to the end.
private func wholeCall(_ bench: consuming SwitchboardBench) throws -> () -> Int {
    var bench = bench
    let (caller, callee) = (try bench.open(.caller, 1), try bench.open(.callee, 1))
    let calls = (1...20).map { number in
        let call = Inputs.callName(number)
        return CallFrames(
            offer: Inputs.offer(call, to: 1),
            answer: Inputs.answer(call),
            candidates: (1...20).map { Inputs.candidateFrame($0, $0 % 2 == 1 ? .caller : .callee, in: call) },
            end: Inputs.end(call)
        )
    }
    let kept = KeptBench(bench)
    return {
        kept.use { bench in
            for call in calls {
                // The limit on rings for each pair of users allows one in 10 s.
                bench.wait(.seconds(10))
                bench.step(call.offer, by: caller)
                // The callee's device confirms the offer with a pong.
                bench.give(.ponged(callee, .max))
                bench.step(call.answer, by: callee)
                for (index, frame) in call.candidates.enumerated() {
                    bench.step(frame, by: index % 2 == 0 ? caller : callee)
                }
                bench.step(call.end, by: caller)
            }
            return Int(bench.switchboard.metrics.callsEnded[.hangup] ?? 0)
        }
    }
}

/// Prepares an answered call in which both sides alternately send 200 candidates in total.
private func relay(
    turnsOf count: Int,
    in call: String = Inputs.callName(1),
    by devices: [DeviceID]? = nil,
    _ candidate: (Int, Side) -> [UInt8] = { Inputs.candidateFrame($0, $1, in: Inputs.callName(1)) }
) throws -> () -> Int {
    var bench = SwitchboardBench()
    let sides = [
        try bench.open(.caller, 1, device: devices?.first), try bench.open(.callee, 1, device: devices?.last),
    ]
    bench.step(Inputs.offer(call, to: 1), by: sides[0])
    bench.give(.ponged(sides[1], .max))
    bench.step(Inputs.answer(call), by: sides[1])
    let frames = (1...200).map { candidate($0, $0 % 2 == 1 ? .caller : .callee) }
    let before = bench.switchboard.metrics.delivered
    let kept = KeptBench(bench)
    return {
        kept.use { bench in
            for (index, frame) in frames.enumerated() {
                // Stay within the limit of 50 signals a second for each connection.
                bench.wait(.milliseconds(10))
                bench.send(frame, by: sides[index % 2])
                if index % count == count - 1 { bench.turn() }
            }
            return Int(bench.switchboard.metrics.delivered - before)
        }
    }
}

/// Prepares offers of all callers, each to the callee with the same number.
private func begin(
    _ bench: consuming SwitchboardBench,
    _ callers: [SocketID],
    done: @escaping (borrowing SwitchboardBench) -> Int
) -> () -> Int {
    let offers = callers.indices.map { Inputs.offer(Inputs.callName($0 + 1), to: $0 + 1) }
    let kept = KeptBench(bench)
    return {
        kept.use { bench in
            for (caller, offer) in zip(callers, offers) { bench.step(offer, by: caller) }
            return done(bench)
        }
    }
}

private func register(_ number: Int, on bench: inout SwitchboardBench) throws {
    let token = String(repeating: "ab", count: 30) + String(1_000 + number)
    let registration = DeviceRegistration(
        tokens: [.voip: .plain(token)],
        bundleID: "com.example.app",
        platform: "ios",
        device: try Inputs.device(.callee, number),
        environment: .production
    )
    bench.give(
        .requested(
            RequestID(rawValue: UInt64(number)),
            try Inputs.principal(.callee, number),
            .devices(.register(registration))
        )
    )
}
