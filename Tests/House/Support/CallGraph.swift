/// The calls between the files of a target: which file calls functions of one type that another file defines, as far as
/// the text shows.
///
/// A call counts if its receiver is absent, `self`, `Self` or the type's name, and if its argument labels fit a
/// function of the type. Properties do not count.
struct CallGraph {
    /// The number of functions in each file.
    private(set) var functions: [String: Int] = [:]
    /// For each file, the other files whose functions it calls.
    private(set) var calls: [String: Set<String>] = [:]

    private struct Function {
        let file: String
        let isPrivate: Bool
        let parameters: [(label: String, isOptional: Bool)]

        /// Returns whether a call with these argument labels may be a call of this function.
        func fits(_ labels: [String]) -> Bool {
            var rest = parameters[...]
            for label in labels {
                while let next = rest.first, next.label != label {
                    guard next.isOptional else { return false }
                    rest.removeFirst()
                }
                guard rest.popFirst() != nil else { return false }
            }
            return rest.allSatisfy { $0.isOptional }
        }
    }

    init(of type: String, in files: [SwiftFile]) {
        let texts = files.map { (path: $0.path, tokens: Self.tokens(of: $0, in: type)) }
        var known: [String: [Function]] = [:]
        for (path, tokens) in texts {
            for place in tokens.indices.dropFirst().dropLast() where tokens[place - 1].text == "func" {
                guard let list = Self.list(in: tokens, from: place + 1) else { continue }
                let function = Function(
                    file: path,
                    isPrivate: tokens[..<place].reversed().prefix { $0.line == tokens[place].line }
                        .contains { $0.text == "private" },
                    parameters: list.map { part in
                        let label = part.first?.text ?? ""
                        return (label == "_" ? "" : label, part.contains { $0.text == "=" })
                    }
                )
                known[tokens[place].text, default: []].append(function)
                functions[path, default: 0] += 1
            }
        }
        for (path, tokens) in texts {
            for place in tokens.indices.dropLast() {
                guard let candidates = known[tokens[place].text], Self.isCall(tokens, at: place, of: type),
                    let list = Self.list(in: tokens, from: place + 1)
                else { continue }
                let labels = list.map { $0.count > 1 && $0[1].text == ":" ? $0[0].text : "" }
                let fitting = candidates.filter { ($0.file == path || !$0.isPrivate) && $0.fits(labels) }
                if fitting.contains(where: { $0.file == path }) { continue }
                for function in fitting { calls[path, default: []].insert(function.file) }
            }
        }
    }

    /// The largest set of files in which each file calls each other file, directly or through others.
    var largestCycle: [String] {
        let reached: [String: Set<String>] = functions.keys.reduce(into: [:]) { $0[$1] = reach(from: $1) }
        let cycles = reached.map { file, files in files.filter { reached[$0]?.contains(file) == true } }
        return (cycles.max { $0.count < $1.count } ?? []).sorted()
    }

    private func reach(from file: String) -> Set<String> {
        var found: Set<String> = []
        var open = [file]
        while let next = open.popLast() {
            for callee in calls[next] ?? [] where found.insert(callee).inserted { open.append(callee) }
        }
        return found
    }

    // MARK: Tokens

    private struct Token {
        let text: String
        let line: Int
        /// Whether nothing is between the previous token and this one.
        let isAdjacent: Bool
    }

    /// Returns the tokens (words and signs) in the declaration of a type and in its extensions.
    private static func tokens(of file: SwiftFile, in type: String) -> [Token] {
        var tokens: [Token] = []
        var isInside = false
        for (number, line) in file.code.enumerated() {
            if let first = line.first, first != " " {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                isInside =
                    words.contains { ["struct", "class", "extension"].contains($0) } && words.contains(type[...])
            }
            guard isInside else { continue }
            var word = ""
            var isAdjacent = false
            func end() {
                if !word.isEmpty { tokens.append(Token(text: word, line: number, isAdjacent: isAdjacent)) }
                if !word.isEmpty { isAdjacent = true }
                word = ""
            }
            for character in line {
                if character.isLetter || character.isNumber || character == "_" {
                    word.append(character)
                    continue
                }
                end()
                if character == " " {
                    isAdjacent = false
                } else if character != "`" {
                    tokens.append(Token(text: String(character), line: number, isAdjacent: isAdjacent))
                    isAdjacent = true
                }
            }
            end()
        }
        return tokens
    }

    private static func isCall(_ tokens: [Token], at place: Int, of type: String) -> Bool {
        guard tokens[place + 1].text == "(", tokens[place + 1].isAdjacent else { return false }
        guard place > 0 else { return true }
        switch tokens[place - 1].text {
        case "func", "case", "let", "var": return false
        case ".": return place > 1 && ["self", "Self", type].contains(tokens[place - 2].text)
        default: return true
        }
    }

    /// Returns the parts, between commas, of the parenthesized list that begins at a token; `nil` if there is none.
    private static func list(in tokens: [Token], from place: Int) -> [[Token]]? {
        guard place < tokens.count, tokens[place].text == "(" else { return nil }
        var parts: [[Token]] = []
        var part: [Token] = []
        var depth = 0
        for token in tokens[place...] {
            switch token.text {
            case "(", "[", "{":
                depth += 1
                if depth == 1 { continue }
            case ")", "]", "}":
                depth -= 1
                if depth == 0 { return part.isEmpty ? parts : parts + [part] }
            case "," where depth == 1:
                parts.append(part)
                part = []
                continue
            default: break
            }
            part.append(token)
        }
        return nil
    }
}
