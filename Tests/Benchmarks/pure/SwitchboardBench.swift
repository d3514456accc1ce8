import CallCore
import CallPorts
import Switchboard

/// A switchboard with the gateway's work around it: it passes inputs in, performs outputs, and commits once a turn.
///
/// It is a value, so that the accesses to its own properties, which Swift checks in a class, are not counted.
struct SwitchboardBench: ~Copyable {
    private(set) var switchboard: Switchboard
    private(set) var now = Inputs.start
    private(set) var pushes = 0
    private var outputs: [Switchboard.Output] = []
    private var ticket: Ticket?
    /// The pings that were sent and are not answered.
    private var pings: [(SocketID, UInt64)] = []

    /// The events that were posted to the app's backend and have no response.
    private var deliveries: [DeliveryID] = []

    /// The questions to the app's backend that have no response.
    private var questions: [DecisionID] = []

    /// Creates a switchboard without calls.
    ///
    /// `reports`: whether events are reported to an endpoint, which accepts each of them at once.
    /// `decides`: whether the app's backend decides about each call, and allows it at once.
    init(reports: Bool = false, decides: Bool = false) {
        var policy = Policy()
        if decides { policy.decisions = DecisionPolicy() }
        if reports { policy.events = EventPolicy(endpoints: ["https://app.example/ringline"]) }
        switchboard = Switchboard(
            policy: policy,
            stored: StoredState(),
            ports: .init(capabilities: Capabilities(), random: Chance()),
            at: Inputs.start
        )
    }

    /// Passes an input to the switchboard and performs the outputs.
    mutating func give(_ input: Switchboard.Input) {
        switchboard.handle(input, at: now, into: &outputs)
        perform()
    }

    mutating func send(_ frame: [UInt8], by connection: SocketID) { give(.received(connection, frame)) }

    /// Ends a turn: commits, and reports that the commit is durable.
    mutating func turn() {
        while let id = questions.popLast() { give(.decided(id, .response(status: 200, body: Self.allowed))) }
        switchboard.flush(at: now, into: &outputs)
        perform()
        guard let ticket else { return }
        self.ticket = nil
        give(.stored(.committed(upTo: ticket)))
        while let id = deliveries.popLast() { give(.delivered(id, .response(status: 204, retryAfter: nil))) }
    }

    private static let allowed = Array(#"{"allow":true}"#.utf8)

    /// Sends a message and ends the turn.
    mutating func step(_ frame: [UInt8], by connection: SocketID) {
        send(frame, by: connection)
        turn()
    }

    mutating func wait(_ duration: Moment.Duration) { now = now + duration }

    /// Moves the clock, and handles the deadline if one has passed.
    mutating func wait(until moment: Moment) {
        now = moment
        guard let deadline = switchboard.deadline, deadline <= now else { return }
        give(.deadlineReached)
        turn()
    }

    mutating func answerPings() { while let (id, number) = pings.popLast() { give(.ponged(id, number)) } }

    /// Returns the id of a user's connection; the callees' have odd numbers.
    static func connection(_ side: Side, _ number: Int) -> SocketID {
        SocketID(rawValue: UInt64(2 * number + (side == .caller ? 0 : 1)))
    }

    /// Opens the connection of a user's device.
    mutating func open(_ side: Side, _ number: Int, device: DeviceID? = nil) throws -> SocketID {
        let id = Self.connection(side, number)
        give(.opened(id, try Inputs.principal(side, number), device: try device ?? Inputs.device(side, number)))
        turn()
        return id
    }

    private mutating func perform() {
        // Performing an output may lead to more outputs, so swap the buffers as the gateway does.
        var batch: [Switchboard.Output] = []
        swap(&batch, &outputs)
        for output in batch {
            switch output {
            case .commit(_, let ticket): self.ticket = ticket
            case .push: pushes += 1
            case .deliver(let request): deliveries.append(request.id)
            case .ask(let question): questions.append(question.id)
            case .ping(let id, let number): pings.append((id, number))
            case .send, .marked, .bound, .close, .reply, .verify, .submit, .cancelPush, .revoked, .done, .audit,
                .note, .trace:
                break
            }
        }
        batch.removeAll(keepingCapacity: true)
        if outputs.isEmpty { swap(&batch, &outputs) }
    }
}

/// A bench that a closure keeps.
final class KeptBench {
    private var bench: SwitchboardBench

    init(_ bench: consuming SwitchboardBench) { self.bench = bench }

    /// Uses the bench; all of `body` is one access to it.
    func use<Result>(_ body: (inout SwitchboardBench) -> Result) -> Result { body(&bench) }
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
