extension SwiftFile {
    /// Returns the declarations of the stored properties of a type, whose declaration begins with these words.
    func storedProperties(of declaration: String) -> [String] {
        code.drop { !$0.hasPrefix(declaration) }.prefix { $0 != "}" }
            .filter {
                $0.contains(/^    (\S+ )*(let|var) \w+(: [^{]+)?( = .*)?$/)
                    && !$0.contains("func ") && !$0.contains("static ")
            }
            .map { String($0.trimmingPrefix(while: \.isWhitespace)) }
    }

    /// A function, an initializer or a subscript with a body.
    struct Function {
        let name: String
        /// The path of its file.
        let path: String
        /// The number of the line that declares it.
        let line: Int
        /// The number of lines from the declaration to the closing brace.
        let length: Int
    }

    /// The functions of the file, also those inside other functions.
    ///
    /// A function ends at the first closing brace that is indented as its declaration, because `swift format` indents
    /// everything between them further, except for the rest of a declaration that takes several lines.
    var functions: [Function] {
        code.indices.compactMap { start in
            guard code[start].holds(anyOf: ["func ", "init", "subscript"]),
                let match = code[start].prefixMatch(of: Self.declaration), let name = match.1 ?? match.2,
                let end = end(of: start)
            else { return nil }
            return Function(name: String(name), path: path, line: start + 1, length: end - start + 1)
        }
    }

    private static var declaration: Regex<(Substring, Substring?, Substring?)> {
        /\ *(?:@\w+(?:\([^)]*\))? |[\w()]+ )*(?:func (\S+?)(?=[(<]| \()|(init(?=[?(<])|deinit(?= )|subscript(?=[(<])))/
    }

    /// Returns the line of the brace that ends a function; `nil` if the function has no body, as in a protocol.
    private func end(of start: Int) -> Int? {
        let indentation = Self.indentation(of: code[start])
        let braces = code[start].filter { "{}".contains($0) }
        if braces.hasSuffix("}"), braces.count(where: { $0 == "{" }) * 2 == braces.count { return start }
        for line in code.indices[(start + 1)...] {
            let depth = Self.indentation(of: code[line])
            guard depth <= indentation, depth < code[line].utf8.count else { continue }
            let text = code[line].dropFirst(depth)
            if depth == indentation, text.hasPrefix("}") { return line }
            guard depth == indentation, [")", "where ", "{"].contains(where: text.hasPrefix) else { return nil }
        }
        return nil
    }

    private static func indentation(of line: Substring) -> Int {
        // Bytes are much faster than characters here.
        line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
    }
}
