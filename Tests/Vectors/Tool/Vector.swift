import CallClient
import CallCore
import ClientBridge
import Foundation
import JSON

/// The inputs of one core, or of the machine of a connection, and its outputs, as lines.
struct Vector {
    /// The lines: what makes the core, then an input and its outputs by turns, then the core's last state.
    private(set) var lines: [[UInt8]] = []
    /// The kinds of steps that happened: an input's name with the names of its outputs.
    private(set) var features: Set<String> = []

    /// The lines that are handed in.
    var inputs: [[UInt8]] {
        let names = ["new", "reconnection", "now"].map { Array("{\"\($0)\":".utf8) }
        return lines.filter { line in names.contains { line.starts(with: $0) } }
    }

    /// The number of bytes of the lines.
    var bytes: Int { lines.reduce(0) { $0 + $1.count + 1 } }

    /// Lets a core take the inputs of a trace.
    init(inputs: [[UInt8]]) {
        var step = Step()
        for line in inputs {
            lines.append(line)
            guard let outputs = step.result(of: line) else { continue }
            lines.append(outputs)
            features.insert(Self.feature(line, outputs))
        }
        lines.append(step.state)
    }

    private static func feature(_ input: [UInt8], _ outputs: [UInt8]) -> String {
        let names = [input, outputs].flatMap { line in
            String(decoding: line, as: UTF8.self)
                .matches(of: /"(?:in|out)":"(\w+)"|\\"(?:type|action|code)\\":\\"(\w+)\\"|"(?:urgent|deadline)":(\w)/)
                .map { String($0.1 ?? $0.2 ?? $0.3 ?? "") }
        }
        // A log may hold any number of entries, and all that follows from them.
        return names.prefix(5).joined(separator: " ")
    }

    /// Writes the lines to standard output.
    func write() {
        FileHandle.standardOutput.write(Data(lines.map { $0 + [UInt8(ascii: "\n")] }.joined()))
    }
}

/// One core, or the machine of a connection, that takes the lines of a vector.
struct Step {
    private(set) var core: BridgedClient?
    private(set) var reconnection: BridgedReconnection?

    /// Makes a core or a machine, or takes an input and returns the line with its outputs.
    mutating func take(_ line: [UInt8]) throws(BridgeFault) -> [UInt8]? {
        // Not parsed as JSON: a malformed input is a part of its line as it is.
        let text = String(decoding: line, as: UTF8.self)
        if let configuration = text.wholeMatch(of: /\{"new":(.*)\}/) {
            self = Step()
            core = try BridgedClient(configuration: Array(configuration.1.utf8))
            return nil
        }
        if text.hasPrefix("{\"reconnection\":") {
            self = Step()
            reconnection = BridgedReconnection()
            return nil
        }
        guard let parts = text.wholeMatch(of: /\{"now":(-?\d+),"input":(.*)\}/), let moment = Int64(parts.1) else {
            fatalError("not a line of a vector: \(text)")
        }
        let (input, now) = (Array(parts.2.utf8), Moment(milliseconds: moment))
        // `??` would lose the type of the error.
        var outputs = try core?.handle(input, at: now)
        if outputs == nil { outputs = try reconnection?.handle(input, at: now) }
        let due = core?.client.deadline ?? reconnection?.reconnection.deadline
        let deadline = due.map { String($0.milliseconds) } ?? "null"
        return Array("{\"outputs\":".utf8) + (outputs ?? []) + Array(",\"deadline\":\(deadline)}".utf8)
    }

    /// The same, with the line of the fault if the input is refused.
    mutating func result(of line: [UInt8]) -> [UInt8]? {
        do throws(BridgeFault) { return try take(line) } catch {
            var json = JSONWriter()
            json.beginObject()
            json.name("fault")
            json.value(error.line)
            json.endObject()
            return json.bytes
        }
    }

    /// The line with the state.
    var state: [UInt8] {
        Array("{\"state\":".utf8) + (core?.state ?? reconnection?.state ?? []) + Array("}".utf8)
    }
}

/// Replays lines and compares the outputs.
struct Replay {
    private(set) var line = 0
    private(set) var steps = 0
    private(set) var cores = 0
    private var step = Step()
    private var input = ""
    private var outputs: [UInt8] = []

    /// Takes the next line; returns the difference if the core's outputs or its state are not those of the line.
    mutating func take(_ text: String) -> String? {
        line += 1
        let bytes = Array(text.utf8)
        if text.hasPrefix("{\"outputs\":") || text.hasPrefix("{\"fault\":") { return difference(bytes, outputs) }
        if text.hasPrefix("{\"state\":") { return difference(bytes, step.state) }
        input = text
        outputs = step.result(of: bytes) ?? []
        if outputs.isEmpty { cores += 1 } else { steps += 1 }
        return nil
    }

    private func difference(_ expected: [UInt8], _ actual: [UInt8]) -> String? {
        guard expected != actual else { return nil }
        let texts = [expected, actual].map { String(decoding: $0, as: UTF8.self) }
        return "after \(input)\n  expected \(texts[0])\n  returned \(texts[1])"
    }
}
