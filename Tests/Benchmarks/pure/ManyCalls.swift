import CallCore
import CallPorts
import Glibc
import Switchboard

/// Many calls in one switchboard, to measure the memory that they need.
///
/// The devices of all pairs are connected before the first measurement, stay connected and answer pings. The store is
/// not part of this: its rows are on the disk.
struct ManyCalls: ~Copyable {
    private var bench = SwitchboardBench()

    /// The largest resident memory of the process so far, in bytes.
    private static var peak: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1_024
    }

    /// Ends so many calls in ten minutes of a simulated clock, the time for which ended calls can be fetched.
    ///
    /// Prints the memory before and after. 20,000 pairs call in turn; each call has an answer and ten candidates of
    /// each side.
    mutating func end(_ count: Int) throws {
        let pairs = 20_000
        try connect(pairs)
        let before = Self.peak
        for number in 0..<count {
            bench.wait(until: Inputs.start + .milliseconds(Int64(number) * 600_000 / Int64(count)))
            talk(number, pair: number % pairs, candidates: 20)
            step(Inputs.end(Inputs.callName(number)), by: SwitchboardBench.connection(.caller, number % pairs))
        }
        let ended = bench.switchboard.metrics.callsEnded[.hangup] ?? 0
        guard ended == UInt64(count) else { throw Broken("\(ended) of \(count) calls ended") }
        let after = Self.peak
        print("\(2 * pairs) connections: \(before / 1_048_576) MiB")
        print("\(count) ended calls: \(after / 1_048_576) MiB, \((after - before) / count) bytes a call")
    }

    /// Keeps so many answered calls with a log of 24 signals each; prints the bytes that each of them needs.
    mutating func keepLive(_ count: Int) throws {
        try connect(count)
        let before = Self.peak
        for number in 0..<count { talk(number, pair: number, candidates: 22) }
        guard bench.switchboard.countCalls()[.answered] == count else { throw Broken("not all calls are live") }
        let each = (Self.peak - before) / count
        let descriptions = 2 * Inputs.description.utf8.count
        print("\(count) live calls of 24 signals: \(each) bytes a call, \(descriptions) of them for two descriptions")
    }

    private mutating func connect(_ pairs: Int) throws {
        for pair in 0..<pairs {
            for side in [Side.caller, .callee] { _ = try bench.open(side, pair) }
        }
    }

    /// Begins and answers a call, and sends candidates, half of them from each side.
    private mutating func talk(_ number: Int, pair: Int, candidates: Int) {
        let caller = SwitchboardBench.connection(.caller, pair)
        let callee = SwitchboardBench.connection(.callee, pair)
        let name = Inputs.callName(number)
        step(Inputs.offer(name, to: pair), by: caller)
        bench.give(.ponged(callee, .max))
        step(Inputs.answer(name), by: callee)
        for index in 1...candidates {
            let side: Side = index % 2 == 1 ? .caller : .callee
            step(Inputs.candidateFrame(index, side, in: name), by: side == .caller ? caller : callee)
        }
    }

    /// Sends a message, ends the turn, and answers the pings that it has caused.
    private mutating func step(_ frame: [UInt8], by connection: SocketID) {
        bench.step(frame, by: connection)
        bench.answerPings()
    }
}
