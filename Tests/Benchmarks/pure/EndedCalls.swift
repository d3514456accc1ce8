import CallCore
import CallPorts
import Glibc
import Switchboard

/// A switchboard that ends calls for ten minutes of a simulated clock: the time for which ended calls can be fetched.
///
/// The devices of 20,000 pairs stay connected and answer pings. The pairs call in turn; each call has an answer and ten
/// candidates of each side. The store is not part of this: its rows are on the disk.
struct EndedCalls: ~Copyable {
    private static let pairs = 20_000
    private var switchboard: Switchboard
    private var now = Inputs.start
    private var outputs: [Switchboard.Output] = []
    private var ticket: Ticket?
    private var pings: [(ConnectionID, UInt64)] = []

    /// The largest resident memory of the process so far, in bytes.
    private static var peak: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1_024
    }

    init() {
        switchboard = Switchboard(
            policy: Policy(),
            stored: StoredState(),
            capabilities: Capabilities(),
            random: Chance(),
            at: Inputs.start
        )
    }

    /// Ends so many calls; prints the memory before and after.
    mutating func run(_ count: Int) throws {
        for pair in 0..<Self.pairs {
            for side in [Side.caller, .callee] {
                let principal = try Inputs.principal(side, pair)
                give(.opened(Self.connection(side, pair), principal, device: try Inputs.device(side, pair)))
            }
            turn()
        }
        let before = Self.peak
        for number in 0..<count {
            now = Inputs.start + .milliseconds(Int64(number) * 600_000 / Int64(count))
            if let deadline = switchboard.deadline, deadline <= now {
                give(.deadlineReached)
                turn()
            }
            call(number)
        }
        let ended = switchboard.metrics.callsEnded[.hangup] ?? 0
        guard ended == UInt64(count) else { throw Broken("\(ended) of \(count) calls ended") }
        let after = Self.peak
        print("\(2 * Self.pairs) connections: \(before / 1_048_576) MiB")
        print("\(count) ended calls: \(after / 1_048_576) MiB, \((after - before) / count) bytes a call")
    }

    private static func connection(_ side: Side, _ pair: Int) -> ConnectionID {
        ConnectionID(rawValue: UInt64(2 * pair + (side == .caller ? 2 : 3)))
    }

    private mutating func call(_ number: Int) {
        let pair = number % Self.pairs
        let (caller, callee) = (Self.connection(.caller, pair), Self.connection(.callee, pair))
        let name = Inputs.callName(number)
        send(Inputs.offer(name, to: pair), by: caller)
        give(.ponged(callee, .max))
        send(Inputs.answer(name), by: callee)
        for index in 1...20 {
            let side: Side = index % 2 == 1 ? .caller : .callee
            send(Inputs.candidateFrame(index, side, in: name), by: side == .caller ? caller : callee)
        }
        send(Inputs.end(name), by: caller)
    }

    private mutating func send(_ frame: [UInt8], by connection: ConnectionID) {
        give(.received(connection, frame))
        turn()
    }

    private mutating func give(_ input: Switchboard.Input) {
        switchboard.handle(input, at: now, into: &outputs)
        perform()
    }

    private mutating func turn() {
        switchboard.flush(at: now, into: &outputs)
        perform()
        if let ticket {
            self.ticket = nil
            give(.stored(.committed(upTo: ticket)))
        }
        while let (id, number) = pings.popLast() { give(.ponged(id, number)) }
    }

    private mutating func perform() {
        for output in outputs {
            switch output {
            case .commit(_, let ticket): self.ticket = ticket
            case .ping(let id, let number): pings.append((id, number))
            default: break
            }
        }
        outputs.removeAll(keepingCapacity: true)
    }
}
