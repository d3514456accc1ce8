import CallCore
import CallPorts
import Switchboard

/// A switchboard with the gateway's work around it: it passes inputs in, performs outputs, and commits once a turn.
final class SwitchboardBench {
    private(set) var switchboard: Switchboard
    private(set) var now = Inputs.start
    private(set) var pushes = 0
    private var outputs: [Switchboard.Output] = []
    private var ticket: Ticket?

    init() {
        switchboard = Switchboard(
            policy: Policy(),
            stored: StoredState(),
            capabilities: Capabilities(),
            random: Chance(),
            at: Inputs.start
        )
    }

    /// Passes an input to the switchboard and performs the outputs.
    func give(_ input: Switchboard.Input) {
        switchboard.handle(input, at: now, into: &outputs)
        perform()
    }

    func send(_ frame: [UInt8], by connection: ConnectionID) { give(.received(connection, frame)) }

    /// Ends a turn: commits, and reports that the commit is durable.
    func turn() {
        switchboard.flush(at: now, into: &outputs)
        perform()
        guard let ticket else { return }
        self.ticket = nil
        give(.stored(.committed(upTo: ticket)))
    }

    func wait(_ duration: Moment.Duration) { now = now + duration }

    /// Opens the connection of a user's device; the callees' connections have odd numbers.
    func open(_ side: Side, _ number: Int, device: DeviceID? = nil) throws -> ConnectionID {
        let id = ConnectionID(rawValue: UInt64(2 * number + (side == .caller ? 0 : 1)))
        give(.opened(id, try Inputs.principal(side, number), device: try device ?? Inputs.device(side, number)))
        turn()
        return id
    }

    private func perform() {
        // Performing an output may lead to more outputs, so swap the buffers as the gateway does.
        var batch: [Switchboard.Output] = []
        swap(&batch, &outputs)
        for output in batch {
            switch output {
            case .commit(_, let ticket): self.ticket = ticket
            case .push: pushes += 1
            case .send, .marked, .bound, .ping, .close, .reply, .verify, .submit, .cancelPush, .revoked, .done, .audit,
                .note, .trace:
                break
            }
        }
        batch.removeAll(keepingCapacity: true)
        if outputs.isEmpty { swap(&batch, &outputs) }
    }
}

/// Issues a constant text of 127 characters, as long as a real capability for the ids of `Inputs`.
struct Capabilities: CapabilityIssuer {
    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String { Self.text }

    private static let text = String(repeating: "x", count: 127)
}

/// A generator of the same numbers in every run (Knuth's MMIX generator).
struct Chance: RandomNumberGenerator {
    private var state: UInt64 = 7

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}
