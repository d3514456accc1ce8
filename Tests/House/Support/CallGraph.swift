/// The calls between the files of a target: which file calls functions of some types that another file defines, as far
/// as the text shows.
///
/// A call counts if its argument labels fit a function of the receiver's type. A receiver that is absent, `self` or
/// `Self` is the type around the call; a type's name is that type; and a name that one of the types gives to a property
/// of another one, as in `let network: Network`, is that other type. Properties do not count as calls.
struct CallGraph {
    /// The number of functions in each file.
    private(set) var functions: [String: Int] = [:]
    /// For each file, the other files whose functions it calls.
    private(set) var calls: [String: Set<String>] = [:]

    private struct Function {
        let file: String
        let type: String
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

    init(of type: String, in files: [SwiftFile]) { self.init(of: [type], in: files) }

    /// The calls between the files of several types.
    ///
    /// `protocols`: the types behind a property whose type is a protocol.
    init(of types: Set<String>, behind protocols: [String: [String]] = [:], in files: [SwiftFile]) {
        let texts = files.flatMap { file in Self.parts(of: file, in: types).map { (file.path, $0.type, $0.tokens) } }
        var known: [String: [Function]] = [:]
        var properties: [String: Set<String>] = [:]
        for (path, type, tokens) in texts {
            for place in tokens.indices.dropFirst().dropLast() where tokens[place - 1].text == "func" {
                guard let list = Self.list(in: tokens, from: place + 1) else { continue }
                let function = Function(
                    file: path,
                    type: type,
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
            for place in tokens.indices.dropFirst().dropLast(2)
            where ["let", "var"].contains(tokens[place - 1].text) && tokens[place + 1].text == ":" {
                let named = tokens[(place + 2)...].lazy.map(\.text).first { $0 != "(" && $0 != "any" } ?? ""
                properties[tokens[place].text, default: []].formUnion(
                    protocols[named] ?? (types.contains(named) ? [named] : [])
                )
            }
        }
        for (path, type, tokens) in texts {
            for place in tokens.indices.dropLast() {
                guard let candidates = known[tokens[place].text],
                    let receivers = Self.receivers(of: tokens, at: place, in: type, types, properties),
                    let list = Self.list(in: tokens, from: place + 1)
                else { continue }
                let labels = list.map { $0.count > 1 && $0[1].text == ":" ? $0[0].text : "" }
                let fitting = candidates.filter {
                    receivers.contains($0.type) && ($0.file == path || !$0.isPrivate) && $0.fits(labels)
                }
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

    /// Returns the tokens (words and signs) in the declarations and extensions of some types.
    private static func parts(of file: SwiftFile, in types: Set<String>) -> [(type: String, tokens: [Token])] {
        var parts: [(type: String, tokens: [Token])] = []
        var isInside = false
        for (number, line) in file.code.enumerated() {
            if let first = line.first, first != " " {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
                let keyword = words.firstIndex { ["struct", "class", "extension"].contains($0) }
                let type = keyword.flatMap { words.dropFirst($0 + 1).first }
                isInside = type.map(types.contains) ?? false
                if isInside, let type { parts.append((type, [])) }
            }
            guard isInside else { continue }
            var tokens: [Token] = []
            defer { parts[parts.count - 1].tokens += tokens }
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
        return parts
    }

    /// Returns the types to which the receiver of a call may belong; `nil` = there is no call.
    private static func receivers(
        of tokens: [Token],
        at place: Int,
        in type: String,
        _ types: Set<String>,
        _ properties: [String: Set<String>]
    ) -> Set<String>? {
        guard tokens[place + 1].text == "(", tokens[place + 1].isAdjacent else { return nil }
        guard place > 0 else { return [type] }
        switch tokens[place - 1].text {
        case "func", "case", "let", "var": return nil
        case "." where place > 1:
            let isOptional = place > 2 && ["?", "!"].contains(tokens[place - 2].text)
            let receiver = tokens[place - (isOptional ? 3 : 2)].text
            if ["self", "Self"].contains(receiver) { return [type] }
            return types.contains(receiver) ? [receiver] : properties[receiver]
        case ".": return nil
        default: return [type]
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
