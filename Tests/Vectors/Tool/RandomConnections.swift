import CallClient
import CallCore
import ClientBridge
import SeededRandom

/// Random inputs for the machine of a connection, most of which concern the attempt that it makes at that moment.
struct RandomConnections {
    private var generator: SeededGenerator
    private var step = Step()
    private var now: Int64 = 0

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// Returns the vector of a new machine.
    mutating func vector(steps: Int) -> Vector {
        step = Step()
        now = 1_700_000_000_000
        var lines = [Array(#"{"reconnection":{}}"#.utf8)]
        // The inputs depend on the state of a machine that takes them as well.
        for line in lines { take(line) }
        for _ in 0..<steps {
            let input = input()
            let line = Array("{\"now\":\(now),\"input\":{\(input),\"chance\":\(generator.below(1_000_000))}}".utf8)
            take(line)
            lines.append(line)
        }
        return Vector(inputs: lines)
    }

    private mutating func take(_ line: [UInt8]) {
        do throws(BridgeFault) { _ = try step.take(line) } catch {
            fatalError("\(error.line) in \(String(decoding: line, as: UTF8.self))")
        }
    }

    private mutating func percent(_ chance: Int) -> Bool { generator.below(100) < chance }

    /// Returns the number of the present attempt, and that of an earlier one now and then.
    private mutating func number() -> UInt64 {
        let current = step.reconnection?.reconnection.current?.rawValue
        return percent(85) ? current ?? 1 : 1 + UInt64(generator.below(8))
    }

    private mutating func input() -> String {
        // The clock of a device may be set back.
        now += Int64(percent(2) ? -generator.below(100_000) : generator.below(percent(10) ? 15_000 : 300))
        switch generator.below(12) {
        case 0, 1: return #""in":"wanted","urgent":\#(percent(30))"#
        case 2 where percent(30): return #""in":"unwanted""#
        case 3 where percent(50): return #""in":"pathChanged""#
        case 4, 5: return #""in":"opened","number":\#(number())"#
        case 6, 7:
            let reasons = [#","reason":"""#, #","reason":"reconnectAfterMs=\#(generator.below(70_000))""#]
            return #""in":"closed","number":\#(number())"# + (percent(20) ? reasons[generator.below(2)] : "")
        case 8 where percent(30): return #""in":"draining","reconnectAfterMs":\#(generator.below(70_000))"#
        default:
            // A timer comes in time, late, or although the machine waits for nothing.
            if percent(80), let deadline = step.reconnection?.reconnection.deadline {
                now = max(now, deadline.milliseconds + Int64(percent(20) ? generator.below(20_000) : 0))
            }
            return #""in":"deadlineReached""#
        }
    }
}
