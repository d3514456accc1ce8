import Testing

@Suite("The code")
struct CodeTests {
    @Test("The code traps only for bugs: it has no try!, no as! and no fatalError")
    func noTraps() {
        let traps = /\btry!|\bas!|\bfatalError\(/
        let parts = ["try!", "as!", "fatalError"]
        expectNone(
            Repository.sources.flatMap { $0.places(of: traps, inLinesWith: parts) },
            "failures from outside are values, not traps"
        )
    }

    @Test("A comment explains each try?")
    func noSilentTry() {
        let silent = Repository.sources.flatMap { file in
            file.code.indices.filter { line in
                file.code[line].contains(/\btry\?/.wordBoundaryKind(.simple)) && !isExplained(file, at: line)
            }.map { "\(file.path):\($0 + 1)" }
        }
        expectNone(silent, "needs a comment, on the line or above it, that says why the error does not matter")
    }

    @Test("No catch block is empty")
    func noEmptyCatch() {
        let empty = Repository.sources.flatMap { file in
            file.lines.indices
                .filter { file.lines[$0].holds(anyOf: ["catch"]) }
                .filter { file.lines[$0].contains(/\bcatch\b[^{]*\{\s*\}/.wordBoundaryKind(.simple)) }
                .map { "\(file.path):\($0 + 1)" }
        }
        expectNone(empty, "an empty catch hides an error")
    }

    @Test("The code uses no API that links ICU or a second HTTP client")
    func noICU() {
        let heavy =
            /\b\w*DateFormatter\b|\bNumberFormatter\b|\bLocale\b|\bCalendar\b|\bFoundationNetworking\b|\bURLSession\b|\.formatted\(/
        // In an app, all of them are part of the system.
        let sources = Repository.sources.filter { !ImportTests.kits.contains($0.target) }
        expectNone(
            sources.flatMap {
                $0.places(
                    of: heavy,
                    inLinesWith: ["Formatter", "Locale", "Calendar", "Networking", "URLSession", ".formatted("]
                )
            },
            "links 44 MB of ICU into the image, or all static libraries that libcurl needs"
        )
    }

    @Test("No Swift file is longer than 400 lines")
    func filesAreShort() {
        let long = Repository.swift.filter { $0.lines.count > 401 }.map { "\($0.path): \($0.lines.count - 1) lines" }
        expectNone(long, "a file of more than 400 lines has more than one subject")
    }

    @Test("The code has no TODO, FIXME, XXX or HACK")
    func noTodo() {
        let later = Repository.sources.flatMap { file in
            file.lines.indices
                .filter { file.lines[$0].holds(anyOf: ["TODO", "FIXME", "XXX", "HACK"]) }
                .filter { file.lines[$0].contains(/\b(TODO|FIXME|XXX|HACK)\b/.wordBoundaryKind(.simple)) }
                .map { "\(file.path):\($0 + 1)" }
        }
        expectNone(later, "write an issue instead of a note")
    }

    @Test("Package.swift sets Swift 6 mode and the required feature flags")
    func settings() {
        let package = Repository.text(of: "Package.swift")
        for setting in ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"] {
            #expect(package.contains(".enableUpcomingFeature(\"\(setting)\")"))
        }
        #expect(package.contains("swiftLanguageModes: [.v6]"))
        #expect(!package.contains("NonisolatedNonsendingByDefault"), "swiftlang/swift#86083")
        let unsafe = package.split(separator: "\n").filter { $0.contains("unsafeFlags") }
        #expect(
            unsafe.count == 1 && unsafe[0].contains("isForCI ? [.unsafeFlags"),
            "SwiftPM lets no package depend on one with unsafe flags"
        )
    }

    /// Returns whether the line, or the line above it, has a comment.
    private func isExplained(_ file: SwiftFile, at line: Int) -> Bool {
        if file.lines[line].contains("//") { return true }
        return line > 0 && file.lines[line - 1].contains(/^\s*\/\//)
    }
}
