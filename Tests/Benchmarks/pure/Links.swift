import CallCore
import CallPorts
import CallWire
import Nodes

/// Operations on the link between two nodes, for one candidate: twenty candidates are written, or read, together.
let linkOperations: [Operation] = [
    // At the edge: the event of a socket is numbered and encoded.
    Operation(name: "link-event-out", times: 200) {
        let link = try LinkBench()
        let frames = candidates()
        return { link.passEvents(frames) }
    },
    // At the owner: the event is decoded.
    Operation(name: "link-event-in", times: 200) {
        let link = try LinkBench()
        _ = link.passEvents(candidates())
        let reads = link.sent
        return {
            var done = 0
            link.read(reads) { frame in
                if case .event(_, .received) = frame { done += 1 }
            }
            return done
        }
    },
    // At the owner: the command to send a relayed candidate is encoded.
    Operation(name: "link-command-out", times: 200) {
        let link = try LinkBench()
        let frames = try relayedCandidates()
        return { link.sendCommands(frames) }
    },
    // At the edge: the command is decoded, and its socket is looked up.
    Operation(name: "link-command-in", times: 200) {
        let link = try LinkBench()
        _ = link.sendCommands(try relayedCandidates())
        let reads = link.sent
        return { link.carryOut(reads) }
    },
]

/// The parts of a link that do no I/O, with 200 sockets.
private final class LinkBench {
    private static let together = 20

    private var attachment = Attachment(at: Inputs.start)
    private var stream = FrameStream()
    private var effects: [Attachment.Effect] = []
    /// The bytes of each write.
    private(set) var sent: [[UInt8]] = []

    init() throws {
        stream.isProven = true
        attachment.handle(.attached(OwnerEpoch(rawValue: 1)), at: Inputs.start, into: &effects)
        for number in 1...200 {
            let (principal, device) = (try Inputs.principal(.caller, number), try Inputs.device(.caller, number))
            let event = SocketEvent.opened(Self.socket(number), principal, device: device)
            attachment.handle(.event(event), at: Inputs.start, into: &effects)
        }
        effects = []
    }

    static func socket(_ number: Int) -> SocketID { SocketID(rawValue: UInt64(number)) }

    /// Passes each frame on as received from a socket of its own; returns how many were encoded.
    func passEvents(_ frames: [[UInt8]]) -> Int {
        write(frames) { index, frame, bytes in
            attachment.handle(.event(.received(Self.socket(index + 1), frame)), at: Inputs.start, into: &effects)
            defer { effects.removeAll(keepingCapacity: true) }
            guard case .pass(let number, let event)? = effects.first else { return false }
            return NodeFrame.event(number, event).encode(into: &bytes)
        }
    }

    /// Sends each frame to a socket of its own; returns how many were encoded.
    func sendCommands(_ frames: [Frame]) -> Int {
        write(frames) { index, frame, bytes in
            NodeFrame.command(.send(frame, Self.socket(index + 1), marks: [])).encode(into: &bytes)
        }
    }

    /// Reads commands; returns how many the edge carries out.
    func carryOut(_ reads: [[UInt8]]) -> Int {
        var done = 0
        read(reads) { frame in
            guard case .command(let command) = frame else { return }
            attachment.handle(.command(OwnerEpoch(rawValue: 1), command), at: Inputs.start, into: &effects)
            if case .carryOut? = effects.first { done += 1 }
            effects.removeAll(keepingCapacity: true)
        }
        return done
    }

    func read(_ reads: [[UInt8]], _ take: (NodeFrame) -> Void) {
        for bytes in reads {
            bytes.withUnsafeBytes { stream.append($0) }
            while let frame = try? stream.next() { take(frame) }
        }
    }

    private func write<Item>(_ items: [Item], _ encode: (Int, Item, inout [UInt8]) -> Bool) -> Int {
        var done = 0
        var bytes: [UInt8] = []
        for (index, item) in items.enumerated() {
            if encode(index, item, &bytes) { done += 1 }
            if (index + 1) % Self.together == 0 {
                sent.append(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        return done
    }
}

private func candidates() -> [[UInt8]] {
    (1...200).map { Inputs.candidateFrame($0, .caller, in: Inputs.callName(1)) }
}

private func relayedCandidates() throws -> [Frame] {
    try (1...200).map { number in
        let signal = try relayed(candidate: number)
        return Frame(withHeadroom: signal.frame)
    }
}
