package import CallCore
import JSON

/// The body of a request that changes the call directory (protocol, section 5.10).
package struct NumberUpdate: Equatable, Sendable {
    /// A line of the body.
    package struct Line: Equatable, Sendable {
        /// The number.
        package var number: PhoneNumber
        /// The name that callers with this number are shown by; `nil` = the number is removed.
        package var label: String?

        /// A line with the given members.
        package init(number: PhoneNumber, label: String?) {
            self.number = number
            self.label = label
        }
    }

    /// The lines, in ascending order of their numbers, each number once.
    package var lines: [Line]

    /// The largest number of lines.
    package static let mostLines = 10_000
    /// The largest size of the body, in bytes: 10,000 lines with names of usual length.
    package static let mostBytes = 512 * 1_024
    /// The longest name, in characters as people count them.
    package static let labelCharacters = 64
    /// The longest name, in bytes.
    package static let labelBytes = 256

    /// An update with these lines.
    package init(lines: [Line]) { self.lines = lines }

    /// Reads a body of lines `+DIGITS<TAB>label` and `-DIGITS`, in any order.
    ///
    /// - Throws: A refusal that names the first line that is wrong.
    package init(body: [UInt8]) throws(WireError) {
        var found: [(line: Line, place: Int)] = []
        var rest = body[...]
        if rest.last == UInt8(ascii: "\n") { rest.removeLast() }
        let texts = rest.isEmpty ? [] : rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard texts.count <= Self.mostLines else {
            throw WireError(.tooLarge, "at most \(Self.mostLines) lines", field: "body")
        }
        found.reserveCapacity(texts.count)
        for (index, text) in texts.enumerated() {
            do throws(Fault) { found.append((try Self.line(text), index + 1)) } catch {
                throw .invalid(named: "line \(index + 1)", error.problem)
            }
        }
        found.sort { ($0.line.number, $0.place) < ($1.line.number, $1.place) }
        for (first, second) in zip(found, found.dropFirst()) where first.line.number == second.line.number {
            throw .invalid(named: "line \(second.place)", "the number is on line \(first.place) already")
        }
        lines = found.map { $0.line }
    }

    /// The reason why a line is refused.
    private struct Fault: Error {
        let problem: String
    }

    private static func line(_ text: ArraySlice<UInt8>) throws(Fault) -> Line {
        guard text.last != UInt8(ascii: "\r") else {
            throw Fault(problem: "ends with a carriage return; a line ends with a line feed alone")
        }
        switch text.first {
        case UInt8(ascii: "-"): return Line(number: try number(text.dropFirst()), label: nil)
        case UInt8(ascii: "+"):
            guard let tab = text.firstIndex(of: UInt8(ascii: "\t")) else {
                throw Fault(problem: "must have a tab and a name after the number")
            }
            let number = try number(text[text.index(after: text.startIndex)..<tab])
            return Line(number: number, label: try label(text[text.index(after: tab)...]))
        default: throw Fault(problem: "must begin with + or -")
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) throws(Fault) -> PhoneNumber {
        if let number = PhoneNumber(digits: digits) { return number }
        // Most lines have digits alone.
        guard let number = PhoneNumber(normalizing: "+" + String(decoding: digits, as: UTF8.self)) else {
            throw Fault(problem: "the number must be 1 to 18 digits, the first of them not 0")
        }
        return number
    }

    private static func label(_ bytes: ArraySlice<UInt8>) throws(Fault) -> String {
        guard (1...labelBytes).contains(bytes.count) else {
            throw Fault(problem: "the name must have 1 to \(labelCharacters) characters, at most \(labelBytes) bytes")
        }
        let label = String(decoding: bytes, as: UTF8.self)
        // Most names need no further checks, which cost more than all the rest of a line.
        if bytes.count <= labelCharacters, bytes.first != UInt8(ascii: " "),
            bytes.allSatisfy({ (0x20..<0x7F).contains($0) })
        {
            return label
        }
        // Invalid bytes have become U+FFFD.
        guard label.utf8.elementsEqual(bytes) else { throw Fault(problem: "the name must be valid UTF-8") }
        guard !label.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) else {
            throw Fault(problem: "the name must have no control characters")
        }
        guard let shown = label.shown() else { throw Fault(problem: "the name must have a visible character") }
        guard shown.utf8.elementsEqual(bytes) else {
            throw Fault(
                problem: "the name must have no line breaks, overrides of the direction of writing and open isolates"
            )
        }
        guard bytes.count <= labelCharacters || label.count <= labelCharacters else {
            throw Fault(problem: "the name must have 1 to \(labelCharacters) characters, at most \(labelBytes) bytes")
        }
        return label
    }

    /// Returns the response to an update: how many numbers it changed, and how many the list has now.
    package static func response(changed: Int, numbers: Int) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("changed")
        json.value(changed)
        json.name("numbers")
        json.value(numbers)
        json.endObject()
        return json.bytes
    }
}
