import ClientBridge
import Foundation
import Simulation

/// Makes and replays vectors: the inputs of client cores, each with the outputs that a core must return.
///
/// `Tests/Vectors/README.md` describes the form of the lines.
@main
enum Main {
    private static let usage = """
        client-vectors trace SEED CALLS     writes the vectors of the real cores of a simulation of SEED
        client-vectors random SEED STEPS    writes vectors of random inputs
        client-vectors malformed SEED STEPS writes those of random inputs of which every other one was spoilt
        client-vectors select KIND SEED COUNT  writes those of COUNT calls (KIND trace) or cores (random) that show the
                                            most kinds of steps in 190 kB
        client-vectors replay               replays the vectors of standard input on this core

        """

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.count) {
        case ("trace", 3):
            guard let (seed, calls) = numbers(arguments) else { return fail(usage) }
            Simulation.trace(seed: seed, calls: calls) { trace in
                for core in trace.cores { Vector(inputs: core).write() }
            }
        case ("select", 4):
            guard let (seed, count) = numbers(Array(arguments.dropFirst())) else { return fail(usage) }
            select(arguments[1], seed, count)
        case ("random", 3):
            guard let (seed, steps) = numbers(arguments) else { return fail(usage) }
            var left = steps
            var inputs = RandomInputs(seed: seed)
            var connections = RandomConnections(seed: seed)
            while left > 0 {
                connections.vector(steps: min(left, 50)).write()
                left -= 50
                guard left > 0 else { break }
                inputs.vector(steps: min(left, 250)).write()
                left -= 250
            }
        case ("malformed", 3):
            guard let (seed, steps) = numbers(arguments) else { return fail(usage) }
            var left = steps
            var inputs = RandomInputs(seed: seed)
            var connections = RandomConnections(seed: seed)
            var spoiler = Spoiler(seed: seed)
            while left > 0 {
                Vector(inputs: connections.vector(steps: min(left, 50)).inputs.map { spoiler.spoil($0) }).write()
                left -= 50
                guard left > 0 else { break }
                Vector(inputs: inputs.vector(steps: min(left, 250)).inputs.map { spoiler.spoil($0) }).write()
                left -= 250
            }
        case ("replay", 1): replay()
        default: fail(usage)
        }
    }

    private static func numbers(_ arguments: [String]) -> (UInt64, Int)? {
        guard let seed = UInt64(arguments[1]), let count = Int(arguments[2]), count > 0 else { return nil }
        return (seed, count)
    }

    /// Writes the vectors that show the most kinds of steps for their bytes.
    private static func select(_ kind: String, _ seed: UInt64, _ count: Int) {
        var vectors: [Vector] = []
        switch kind {
        case "trace":
            Simulation.trace(seed: seed, calls: count) { trace in vectors += trace.cores.map { Vector(inputs: $0) } }
        case "random":
            var inputs = RandomInputs(seed: seed)
            var connections = RandomConnections(seed: seed)
            for _ in 0..<count { vectors += [inputs.vector(steps: 80), connections.vector(steps: 40)] }
        default: return fail(usage)
        }
        var seen: Set<String> = []
        var left = 190_000
        while true {
            let fitting = vectors.indices.filter { vectors[$0].bytes <= left }
            let gain = { Double(vectors[$0].features.subtracting(seen).count) / Double(vectors[$0].bytes) }
            guard let best = fitting.max(by: { gain($0) < gain($1) }), gain(best) > 0 else { break }
            let vector = vectors.remove(at: best)
            seen.formUnion(vector.features)
            left -= vector.bytes
            vector.write()
        }
        fail("\(190_000 - left) bytes, \(seen.count) kinds of steps\n", status: 0)
    }

    private static func replay() {
        var replay = Replay()
        while let line = readLine() {
            guard let difference = replay.take(line) else { continue }
            return fail("line \(replay.line): \(difference)\n")
        }
        guard replay.steps > 0 else { return fail("there are no vectors\n") }
        print("\(replay.steps) steps of \(replay.cores) cores: no difference")
    }

    private static func fail(_ text: String, status: Int32 = 1) {
        FileHandle.standardError.write(Data(text.utf8))
        if status != 0 { exit(status) }
    }
}
