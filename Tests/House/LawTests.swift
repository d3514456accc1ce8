import Foundation
import Testing

/// The pages in CallWire.docc: every citation of one leads to a heading, and the glossary's terms are used.
@Suite("The protocol, its invariants and its glossary")
struct LawTests {
    private static let folder = "Sources/Core/CallWire/CallWire.docc/"
    /// The page that says which page has which section of the protocol.
    private static let contentsPage = folder + "Protocol.md"
    /// Every page of the protocol begins with this.
    private static let protocolPages = folder + "Protocol"
    private static let invariantsPage = folder + "Invariants.md"
    private static let glossaryPage = folder + "Glossary.md"

    /// Every file that may cite a text.
    ///
    /// This file is left out because its patterns look like citations, and the fuzzers' inputs because they are noise.
    private static let texts: [(path: String, text: String)] = Repository.files
        .filter { path in
            // The licences of others cite their own sections.
            path != "Tests/House/LawTests.swift" && path != "Deploy/debian/copyright"
                && !path.hasPrefix("Tests/Fuzz/corpus/")
                && (path.hasSuffix(".md") || ["Sources/", "Tests/", "Deploy/"].contains { path.hasPrefix($0) })
        }
        .map { ($0, Repository.text(of: $0)) }

    private static let pages = texts.filter { $0.path.hasSuffix(".md") }

    // MARK: Citations

    /// A place that cites sections of a text.
    private struct Citation {
        let path: String
        /// The words, as in "sections 3 and 5.2".
        let words: String
        /// The section numbers in these words.
        let numbers: [String]
        /// The text that is cited.
        let source: Source

        enum Source { case protocolPage, standard, unknown }
    }

    private static let citations: [Citation] = texts.filter { $0.text.contains("ection") }.flatMap { found(in: $0) }

    private static func found(in file: (path: String, text: String)) -> [Citation] {
        let pattern = /\b[Ss]ections? (\d+(?:\.\d+)*(?:(?:, | and | to )\d+(?:\.\d+)*)*)/.wordBoundaryKind(.simple)
        let text = flat(file.text)
        return text.matches(of: pattern).map { match in
            let before = String(text[..<match.range.lowerBound].suffix(40)).trimmingCharacters(in: .whitespaces)
            let source: Citation.Source =
                if before.contains(/\bRFC \d+(,| \()$/.wordBoundaryKind(.simple)) {
                    .standard
                } else if before.hasSuffix("rotocol,") || file.path.hasPrefix(protocolPages) {
                    // The pages cite each other by the number alone.
                    .protocolPage
                } else {
                    .unknown
                }
            return Citation(
                path: file.path,
                words: String(match.0),
                numbers: match.1.matches(of: /\d+(?:\.\d+)*/).map { String($0.0) },
                source: source
            )
        }
    }

    /// Returns a text as one line, without comment markers and link addresses, so that a citation may span lines.
    private static func flat(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let line = line.drop { $0 == " " || $0 == "\t" }
            guard let marker = ["///", "//", "#", "*"].first(where: { line.hasPrefix($0) }) else { return line }
            return line.dropFirst(marker.count).drop { $0 == " " }
        }
        .joined(separator: " ")
        .replacing(/\]\([^)\s]*\)/, with: "")
        .replacing("[", with: "")
    }

    /// A section of the protocol.
    private struct Section: Hashable, CustomStringConvertible {
        let number: String
        /// The name of the page's file.
        let page: Substring

        var description: String { "\(number) on \(page)" }
    }

    /// The numbered headings of the protocol's pages.
    private static let sections = pages.filter { $0.path.hasPrefix(protocolPages) }.flatMap { page in
        headings(of: page.path, /###? (\d+(?:\.\d+)*)\.?\s/)
            .map { Section(number: $0, page: page.path.dropFirst(folder.count)) }
    }

    private static let invariants = headings(of: invariantsPage, /### (I\d+):\s/)

    private static func headings(of page: String, _ pattern: Regex<(Substring, Substring)>) -> [String] {
        Repository.text(of: page).split(separator: "\n").compactMap { line in
            line.prefixMatch(of: pattern).map { String($0.1) }
        }
    }

    @Test("Every cited section of the protocol exists once")
    func sectionsExist() {
        #expect(Self.sections.count > 40)
        expectNone(twice(Self.sections.map(\.number)), "two headings have this number")
        let cited = Self.citations.filter { $0.source == .protocolPage }
        #expect(cited.count > 60, "the pattern finds the citations")
        let known = Set(Self.sections.map(\.number))
        let wrong = cited.flatMap { citation in
            citation.numbers.filter { !known.contains($0) }.map { "\(citation.path): \(citation.words): \($0)" }
        }
        expectNone(wrong, "no heading of the protocol's pages has this number")
    }

    @Test("The contents of the protocol name the page of each section")
    func contents() {
        let listed = Repository.text(of: Self.contentsPage)
            .matches(of: /- \[(\d+(?:\.\d+)*)\.? [^\]]*\]\((Protocol-\w+\.md)#/)
            .map { Section(number: String($0.1), page: $0.2) }
        expectNone(twice(listed.map(\.number)), "is listed twice")
        let (listedOnce, present) = (Set(listed), Set(Self.sections))
        expectNone(present.subtracting(listedOnce).map(\.description).sorted(), "is not in the contents")
        expectNone(listedOnce.subtracting(present).map(\.description).sorted(), "is not on this page")
    }

    @Test("Only the protocol and published standards are cited")
    func nothingElseIsCited() {
        expectNone(
            Self.citations.filter { $0.source == .unknown }.map { "\($0.path): \($0.words)" },
            "a section of which text? Write \"protocol, section 5\" or \"RFC 9110, section 5.6.7\""
        )
        let outside = /(?:^|[^A-Za-z0-9_.\/-])(?:\.\.\/|\/work\/)?shared\//
        // Patterns are slow, and most files do not contain the word.
        let named = Self.texts.filter { $0.text.contains("shared/") && $0.text.contains(outside) }
        expectNone(named.map(\.path), "names a folder outside the repository")
    }

    // MARK: Invariants

    @Test("Every named invariant exists, and the simulator checks each invariant")
    func invariantsExist() {
        #expect(Self.invariants == (1...33).map { "I\($0)" })
        let known = Set(Self.invariants)
        let named = Self.texts.map { (path: $0.path, names: Self.invariantNames(in: $0.text)) }
        #expect(named.filter { !$0.names.isEmpty }.count > 10, "the names are found in the files")
        expectNone(
            named.flatMap { file in file.names.subtracting(known).sorted().map { "\(file.path): \($0)" } },
            "no heading of Invariants.md has this name"
        )
        let simulation = Self.texts.filter { $0.path.hasPrefix("Sources/Proofs/Simulation/") }.map(\.text).joined()
        expectNone(Self.invariants.filter { !simulation.contains("\"\($0)\"") }, "the simulator does not check it")
    }

    /// Returns the words that name an invariant: `I` with one or two digits, which is not part of a longer word.
    private static func invariantNames(in text: String) -> Set<String> {
        let bytes = Array(text.utf8)
        var found: Set<String> = []
        for start in bytes.indices where bytes[start] == UInt8(ascii: "I") {
            let digits = bytes[(start + 1)...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard (1...2).contains(digits.count), start == 0 || !joins(bytes[start - 1], ".-"),
                digits.endIndex == bytes.endIndex || !joins(bytes[digits.endIndex], "")
            else { continue }
            found.insert("I" + String(decoding: digits, as: UTF8.self))
        }
        return found
    }

    /// Returns whether a byte belongs to the same word as the byte beside it, also in Base64.
    ///
    /// The bytes of `more` belong to that word, too.
    private static func joins(_ byte: UInt8, _ more: String) -> Bool {
        isOfWord(byte) && byte != UInt8(ascii: "-") || "_+/=".utf8.contains(byte) || more.utf8.contains(byte)
    }

    // MARK: Glossary

    /// A row of the glossary.
    private struct Term {
        let name: String
        let definition: String
        /// The words in italics, which no other page may contain.
        let forbidden: [String]

        init?(row: Substring) {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, cells[1].hasPrefix("**"), cells[1].hasSuffix("**") else { return nil }
            name = String(cells[1].dropFirst(2).dropLast(2))
            definition = cells[2]
            forbidden = cells[3].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { $0.count > 2 && $0.hasPrefix("*") && $0.hasSuffix("*") }
                .map { String($0.dropFirst().dropLast()) }
        }
    }

    private static let glossaryRows = Repository.text(of: glossaryPage).split(separator: "\n")
        .filter { $0.hasPrefix("| **") }
    private static let terms = glossaryRows.compactMap(Term.init)

    @Test("The glossary defines each term once, and every term is used")
    func termsAreUsed() {
        #expect(Self.terms.count > 80)
        #expect(Self.terms.count == Self.glossaryRows.count, "each row has a term, a definition and a last cell")
        expectNone(twice(Self.terms.map { $0.name.lowercased() }), "is defined twice")
        expectNone(Self.terms.filter(\.definition.isEmpty).map(\.name), "has no definition")
        let used = Self.texts.filter { file in
            file.path != Self.glossaryPage
                && (file.path.hasSuffix(".md") || file.path.hasPrefix("Sources/") && file.path.hasSuffix(".swift"))
        }
        .flatMap { Self.words(of: $0.text) }
        let names = Self.terms.map(\.name)
        let unused = Set(names).subtracting(Self.phrases(names, in: used))
        expectNone(unused.sorted(), "no page and no source uses this term")
    }

    @Test("No page uses a word that the glossary forbids")
    func forbiddenWords() {
        let forbidden = Self.terms.flatMap(\.forbidden)
        #expect(forbidden.count > 10)
        let found = Self.pages.filter { $0.path != Self.glossaryPage }.flatMap { page in
            Self.phrases(forbidden, in: Self.words(of: page.text)).sorted().map { "\(page.path): \($0)" }
        }
        expectNone(found, "the glossary has another word for it")
    }

    /// The words of a text, in lower case; a hyphen is part of a word.
    private static func words(of text: String) -> [String] {
        text.utf8.split { !isOfWord($0) }.map { String(decoding: $0, as: UTF8.self).lowercased() }
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }

    /// Returns the phrases that occur among the words, in the singular or the plural.
    private static func phrases(_ phrases: [String], in words: [String]) -> Set<String> {
        var forms: [String: [(form: [String], phrase: String)]] = [:]
        for phrase in phrases {
            for ending in ["", "s", "es"] {
                let form = Self.words(of: phrase + ending)
                if let first = form.first { forms[first, default: []].append((form, phrase)) }
            }
        }
        var found: Set<String> = []
        for (index, word) in words.enumerated() {
            for candidate in forms[word] ?? [] where words[index...].starts(with: candidate.form) {
                found.insert(candidate.phrase)
            }
        }
        return found
    }

    private func twice(_ names: [String]) -> [String] {
        Dictionary(grouping: names, by: \.self).filter { $0.value.count > 1 }.keys.sorted()
    }
}
