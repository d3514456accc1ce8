import Glibc

extension StringProtocol {
    /// Returns whether the text holds one of these parts.
    ///
    /// This is much faster than a pattern, so it decides which texts a pattern is tried on.
    func holds(anyOf parts: [String]) -> Bool {
        withCString { text in parts.contains { strstr(text, $0) != nil } }
    }
}

/// A Swift file: its lines, and the same lines with the code only.
struct SwiftFile: Sendable {
    /// The path from the root of the repository.
    let path: String
    /// The unchanged lines.
    let lines: [Substring]
    /// The same lines with spaces in place of comments and of the contents of string literals, so that no word in a
    /// sentence is a finding.
    let code: [Substring]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        code = String(decoding: CodeScanner.blank(Array(text.utf8)), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        imports = zip(1..., code).compactMap { number, line in
            // Imports are never indented. Most lines are, and skipping them saves the slow pattern.
            guard let first = line.utf8.first, first != UInt8(ascii: " "),
                let match = line.wholeMatch(of: Self.importLine)
            else { return nil }
            return (String(match.2), String(match.1), "\(path):\(number)")
        }
    }

    private static var importLine: Regex<(Substring, Substring, Substring)> {
        /((?:[@\w()]+\s+)*)import\s+(?:(?:struct|class|enum|func|protocol|var|let|typealias)\s+)?(\w+).*/
    }

    /// The wing that the file belongs to: its folder in `Sources` or `Tests`.
    var wing: String { folder(1) }

    /// The module that the file belongs to, or that it tests: its folder in a wing.
    var module: String { folder(2) }

    /// The target that the file belongs to.
    var target: String { path.hasPrefix("Sources/") ? module : "\(module)Tests" }

    private func folder(_ depth: Int) -> String {
        path.split(separator: "/").dropFirst(depth).first.map(String.init) ?? ""
    }

    /// The imports of the file, each with its modifiers and its place.
    let imports: [(module: String, modifiers: String, place: String)]

    /// Returns the places in the code that match a pattern.
    ///
    /// The word boundaries are the simple ones: by Unicode's, the default, `Clock.now` is one word. The pattern is tried on
    /// the lines that hold one of the `parts`, so each match must contain one.
    func places(of pattern: Regex<some Any>, inLinesWith parts: [String]) -> [String] {
        let pattern = pattern.wordBoundaryKind(.simple)
        return numbered.filter { $0.1.holds(anyOf: parts) && $0.1.contains(pattern) }
            .map { "\(path):\($0.0)" }
    }

    private var numbered: [(Int, Substring)] { zip(1..., code).map { ($0, $1) } }
}

/// Replaces everything but code by spaces: comments, and the contents of string literals with their interpolations.
private struct CodeScanner {
    private var bytes: [UInt8]
    private var at = 0

    static func blank(_ bytes: [UInt8]) -> [UInt8] {
        var scanner = CodeScanner(bytes: bytes)
        while scanner.at < bytes.count { scanner.step() }
        return scanner.bytes
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private func starts(_ text: StaticString, at place: Int) -> Bool {
        text.withUTF8Buffer { bytes.dropFirst(place).starts(with: $0) }
    }

    private mutating func erase(_ count: Int = 1) {
        for _ in 0..<count where at < bytes.count {
            if bytes[at] != UInt8(ascii: "\n") { bytes[at] = UInt8(ascii: " ") }
            at += 1
        }
    }

    private mutating func step() {
        // Comparing single bytes first is fast: these tests run without optimization over every line of the project.
        let byte = bytes[at]
        if byte == UInt8(ascii: "/"), starts("//", at: at) {
            while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { erase() }
        } else if byte == UInt8(ascii: "/"), starts("/*", at: at) {
            comment()
        } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "#") {
            literal()
        } else {
            at += 1
        }
    }

    private mutating func comment() {
        var depth = 0
        repeat {
            if starts("/*", at: at) {
                depth += 1
                erase(2)
            } else if starts("*/", at: at) {
                depth -= 1
                erase(2)
            } else {
                erase()
            }
        } while depth > 0 && at < bytes.count
    }

    /// Steps over a string literal: `"…"` or `"""…"""`, with any number of `#` around it.
    private mutating func literal() {
        let hashes = bytes[at...].prefix { $0 == UInt8(ascii: "#") }.count
        guard bytes.dropFirst(at + hashes).first == UInt8(ascii: "\"") else {
            at += max(hashes, 1)
            return
        }
        at += hashes
        let quotes = starts("\"\"\"", at: at) ? 3 : 1
        at += quotes
        let closing =
            [UInt8](repeating: UInt8(ascii: "\""), count: quotes) + Array(repeating: UInt8(ascii: "#"), count: hashes)
        let escape = [UInt8(ascii: "\\")] + Array(repeating: UInt8(ascii: "#"), count: hashes)
        var parentheses = 0
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\""), parentheses == 0, bytes[at...].starts(with: closing) {
                at += closing.count
                return
            }
            if byte == UInt8(ascii: "\\"), bytes[at...].starts(with: escape) {
                erase(escape.count)
                if at < bytes.count, bytes[at] == UInt8(ascii: "(") { parentheses += 1 }
                erase()
            } else {
                if parentheses > 0, byte == UInt8(ascii: "(") { parentheses += 1 }
                if parentheses > 0, byte == UInt8(ascii: ")") { parentheses -= 1 }
                erase()
            }
        }
    }
}
