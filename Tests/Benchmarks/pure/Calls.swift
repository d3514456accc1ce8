import CallCore
import CallPorts
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
    Operation(name: "offer", times: 50) {
        let board = Board()
        let callers = try (1...50).map { try board.open(.caller, $0) }
        for number in 1...50 { _ = try board.open(.callee, number) }
        // Two deliveries per offer: the offer to the callee, and the ringing state to the caller.
        return begin(board, callers) { Int(board.switchboard.metrics.delivered) / 2 }
    },
    // An offer to a callee with a device that must be pushed.
    Operation(name: "offer-push", times: 50) {
        let board = Board()
        let callers = try (1...50).map { try board.open(.caller, $0) }
        for number in 1...50 { try register(number, on: board) }
        board.turn()
        return begin(board, callers) { board.pushes }
    },
    // Offer, answer, ten candidates of each side, and end: 23 messages.
    Operation(name: "whole-call", times: 20) {
        let board = Board()
        let (caller, callee) = (try board.open(.caller, 1), try board.open(.callee, 1))
        let calls = (1...20).map { number in
            let call = Inputs.callName(number)
            return Course(
                offer: Inputs.offer(call, to: 1),
                answer: Inputs.answer(call),
                candidates: (1...20).map { Inputs.candidateFrame($0, $0 % 2 == 1 ? .caller : .callee, in: call) },
                end: Inputs.end(call)
            )
        }
        return {
            for call in calls {
                // The limit on rings for each pair of users allows one in 10 s.
                board.wait(.seconds(10))
                board.step(call.offer, by: caller)
                // The callee's device confirms the offer with a pong.
                board.give(.ponged(callee, .max))
                board.step(call.answer, by: callee)
                for (index, frame) in call.candidates.enumerated() {
                    board.step(frame, by: index % 2 == 0 ? caller : callee)
                }
                board.step(call.end, by: caller)
            }
            return Int(board.switchboard.metrics.callsEnded[.hangup] ?? 0)
        }
    },
]

private struct Course {
    let offer, answer: [UInt8]
    let candidates: [[UInt8]]
    let end: [UInt8]
}

extension Board {
    /// Sends a message and ends the turn.
    fileprivate func step(_ frame: [UInt8], by session: SessionID) {
        send(frame, by: session)
        turn()
    }
}

/// Prepares an answered call in which both sides alternately send 200 candidates in total.
private func relay(
    turnsOf count: Int,
    in call: String = Inputs.callName(1),
    by devices: [DeviceID]? = nil,
    _ candidate: (Int, Side) -> [UInt8] = { Inputs.candidateFrame($0, $1, in: Inputs.callName(1)) }
) throws -> () -> Int {
    let board = Board()
    let sides = [
        try board.open(.caller, 1, device: devices?.first), try board.open(.callee, 1, device: devices?.last),
    ]
    board.step(Inputs.offer(call, to: 1), by: sides[0])
    board.give(.ponged(sides[1], .max))
    board.step(Inputs.answer(call), by: sides[1])
    let frames = (1...200).map { candidate($0, $0 % 2 == 1 ? .caller : .callee) }
    let before = board.switchboard.metrics.delivered
    return {
        for (index, frame) in frames.enumerated() {
            // Stay within the limit of 50 signals a second for each connection.
            board.wait(.milliseconds(10))
            board.send(frame, by: sides[index % 2])
            if index % count == count - 1 { board.turn() }
        }
        return Int(board.switchboard.metrics.delivered - before)
    }
}

/// Prepares offers of all callers, each to the callee with the same number.
private func begin(_ board: Board, _ callers: [SessionID], done: @escaping () -> Int) -> () -> Int {
    let offers = callers.indices.map { Inputs.offer(Inputs.callName($0 + 1), to: $0 + 1) }
    return {
        for (caller, offer) in zip(callers, offers) { board.step(offer, by: caller) }
        return done()
    }
}

private func register(_ number: Int, on board: Board) throws {
    let token = String(repeating: "ab", count: 30) + String(1_000 + number)
    let registration = Switchboard.Registration(
        voipToken: token,
        bundleID: "com.example.app",
        platform: "ios",
        device: try Inputs.device(.callee, number),
        environment: .production
    )
    board.give(
        .requested(RequestID(rawValue: UInt64(number)), try Inputs.who(.callee, number), .register(registration))
    )
}
