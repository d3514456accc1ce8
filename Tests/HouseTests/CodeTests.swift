import Testing

@Suite("The code")
struct CodeTests {
    @Test("traps for bugs only: no try!, no as!, no fatalError")
    func noTraps() {
        let traps = /\btry!|\bas!|\bfatalError\(/
        expectNone(Repository.sources.flatMap { $0.places(of: traps) }, "the world's failures are values")
    }

    @Test("drops no error without a word why")
    func noSilentTry() {
        let silent = Repository.sources.flatMap { file in
            file.code.indices.filter { line in
                file.code[line].contains(/\btry\?/) && !isExplained(file, at: line)
            }.map { "\(file.path):\($0 + 1)" }
        }
        expectNone(silent, "a comment on the line or above it says why the error does not matter")
    }

    @Test("catches nothing in silence")
    func noEmptyCatch() {
        let empty = Repository.sources.flatMap { file in
            file.lines.indices.filter { file.lines[$0].contains(/\bcatch\b[^{]*\{\s*\}/) }.map {
                "\(file.path):\($0 + 1)"
            }
        }
        expectNone(empty, "an empty catch hides an error")
    }

    @Test("uses nothing that brings ICU or a second HTTP client with it")
    func noICU() {
        let heavy =
            /\b\w*DateFormatter\b|\bNumberFormatter\b|\bLocale\b|\bCalendar\b|\bFoundationNetworking\b|\bURLSession\b|\.formatted\(/
        expectNone(
            Repository.sources.flatMap { $0.places(of: heavy) },
            "44 MB of image, or libcurl's whole static chain"
        )
    }

    @Test("stands in files of one subject, 400 lines at most")
    func filesAreShort() {
        let long = Repository.swift.filter { $0.lines.count > 401 }.map { "\($0.path): \($0.lines.count - 1) lines" }
        expectNone(long, "above 400 lines it is more than one subject")
    }

    @Test("leaves nothing for later without an issue")
    func noTodo() {
        let later = Repository.sources.flatMap { file in
            file.lines.indices.filter { file.lines[$0].contains(/\b(TODO|FIXME|XXX|HACK)\b/) }
                .map { "\(file.path):\($0 + 1)" }
        }
        expectNone(later, "an issue instead of a note")
    }

    @Test("is compiled in Swift 6 mode with the house's settings")
    func settings() {
        let package = Repository.text(of: "Package.swift")
        for setting in ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"] {
            #expect(package.contains(".enableUpcomingFeature(\"\(setting)\")"))
        }
        #expect(package.contains("swiftLanguageModes: [.v6]"))
        #expect(!package.contains("NonisolatedNonsendingByDefault"), "swiftlang/swift#86083")
        #expect(!package.contains("unsafeFlags"), "nobody could depend on the package")
    }

    /// A comment on the line, or on the lines right above it.
    private func isExplained(_ file: SwiftFile, at line: Int) -> Bool {
        if file.lines[line].contains("//") { return true }
        return line > 0 && file.lines[line - 1].contains(/^\s*\/\//)
    }
}
