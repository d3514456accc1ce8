import CallCore
import CallWire
import JSON

/// Operations that parse and encode frames, without any decision.
let wireOperations: [Operation] = [
    Operation(name: "parse-candidate", times: 200) {
        let frames = (1...200).map { Inputs.candidateFrame($0, .caller, in: Inputs.callName(1)) }
        guard frames.allSatisfy({ $0.count == Inputs.candidateBytes }) else { throw Broken("a candidate's frame") }
        return { parse(frames) }
    },
    Operation(name: "parse-offer", times: 50) {
        let frames = (1...50).map { Inputs.offer(Inputs.callName($0), to: 1) }
        return { parse(frames) }
    },
    Operation(name: "encode-ack", times: 200) {
        let call = try Inputs.call(1)
        let ids = try (1...200).map { try Inputs.signal(Inputs.signalName($0)) }
        return {
            var done = 0
            for (index, id) in ids.enumerated() {
                let seq = UInt64(index) + 6
                let frame = ServerFrame.ack(id: id, callID: call, epoch: 1, seq: seq, outcome: nil)
                if frame.count > Frame.headroom { done += 1 }
            }
            return done
        }
    },
    Operation(name: "encode-candidate", times: 200) {
        let signals = try (1...200).map { try relayed(candidate: $0) }
        return {
            var done = 0
            for signal in signals where signal.frame.count > signal.members.byteCount {
                done += 1
            }
            return done
        }
    },
    Operation(name: "parse-directory-line", times: 1_000) {
        let lines = (1...1_000).map { "+\(821_000_000_000 + 37 * $0)\tName \($0)\n" }
        let body = Array(lines.joined().utf8)
        return { (try? NumberUpdate(body: body))?.lines.count ?? 0 }
    },
]

private func parse(_ frames: [[UInt8]]) -> Int {
    var done = 0
    for frame in frames {
        // A refused frame is missing in the count.
        guard let message = try? ClientMessage(frame, ringTimeout: Inputs.ringTimeout) else { continue }
        if case .signal = message.takeRequest() { done += 1 }
    }
    return done
}

/// Returns a candidate of the caller as it is relayed to the callee: the server's members, and those of the sender.
func relayed(candidate number: Int) throws -> RelayedCandidate {
    let room = "p2p:\(Inputs.userName(.caller, 1))-\(Inputs.userName(.callee, 1))"
    let log = EncodedLogIdentity(LogIdentity(callID: try Inputs.call(1), room: room, epoch: 1))
    let position = LogPosition(in: log, seq: UInt64(number) + 5, at: Inputs.start)
    let sent = try JSONObject(Inputs.bytes(#"{"candidate":"# + Inputs.candidate(number, .caller) + "}"))
    return RelayedCandidate(
        position: position,
        sender: try EncodedSender(Inputs.user(.caller, 1), Inputs.device(.caller, 1)),
        id: try Inputs.signal(Inputs.signalName(number)),
        members: RelayedMembers(of: sent, but: [])
    )
}

/// A candidate with what the server writes around it.
struct RelayedCandidate {
    let position: LogPosition
    let sender: EncodedSender
    let id: SignalID
    let members: RelayedMembers

    /// The frame, which is written anew each time.
    var frame: [UInt8] { RelayedSignal.frame(.ice, id: id, at: position, from: sender, around: members) }
}
