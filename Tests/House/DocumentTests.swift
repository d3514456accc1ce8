import CallCore
import CallWire
import ServerLog
import Testing

@testable import ringline

@Suite("The documents")
struct DocumentTests {
    private static let text = Repository.documents

    @Test("The documents name every error code")
    func errorCodes() {
        expectNone(missing(WireCode.allCases.map(\.rawValue)), "an error code that no document explains")
    }

    @Test("The documents name every end reason")
    func endReasons() {
        expectNone(missing(EndReason.allCases.map(\.rawValue)), "an end reason that no document explains")
    }

    @Test("The documents name every event of the audit log, and every cause of a refused token")
    func audit() {
        expectNone(missing(AuditLog.causes), "a cause that no document explains")
        let events = Repository.sources.filter { $0.target == "ringline" }.flatMap { file in
            // The event's name may be on the line after the call's parenthesis.
            file.lines.joined(separator: " ")
                .matches(of: /\b(?:write|line)\( *"([a-z_]+)"/.wordBoundaryKind(.simple)).map { String($0.1) }
        }
        expectNone(missing(Set(events).sorted()), "an event that no document explains")
        #expect(Set(events).count >= 11, "the pattern finds the events in the sources")
    }

    @Test("The page LogLines explains every key of the log")
    func logKeys() {
        let page = Repository.text(of: "Sources/Server/ringline/ringline.docc/LogLines.md")
        expectNone(
            LogKey.allCases.map(\.rawValue).filter { !page.contains("`\($0)`") },
            "a key that LogLines.md does not explain"
        )
    }

    @Test("The page Settings has exactly the table that the program prints")
    func settingsTable() {
        let page = Repository.text(of: "Sources/Server/ringline/ringline.docc/Settings.md")
        #expect(page.contains("\n" + Setting.table + "\n"), "replace it by the output of ringline config --table")
    }

    @Test("The README has at most 80 lines, of at most 160 characters")
    func shortReadme() {
        let lines = Repository.text(of: "README.md").split(separator: "\n", omittingEmptySubsequences: false)
        // The text ends with a line feed.
        #expect(lines.count <= 81, "a newcomer reads it in three minutes; the rest is on the pages that it links to")
        expectNone(lines.filter { $0.count > 160 }.map(String.init), "a line that is too wide")
    }

    @Test("A test compiles and runs all Swift code on the page AFirstCall")
    func firstCall() {
        let page = Repository.text(of: "Sources/Clients/CallClient/CallClient.docc/AFirstCall.md")
        let blocks = page.split(separator: "```").filter { $0.hasPrefix("swift\n") }.map { String($0.dropFirst(6)) }
        let tested = unindented(Repository.text(of: "Tests/Clients/CallClient/FirstCallTests.swift"))
        #expect(blocks.count >= 10)
        expectNone(blocks.map(unindented).filter { !tested.contains($0) }, "not in FirstCallTests.swift")
    }

    /// Returns a text without the indentation of its lines.
    private func unindented(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { line in line.drop { $0 == " " } }.joined(separator: "\n")
    }

    @Test("The documents name only settings that exist")
    func noForeignSettings() {
        let known = Set(Setting.all.flatMap(\.names).map(Setting.variable))
        let scripts: Set<String> = [
            "RINGLINE_STRICT", "RINGLINE_BINARY", "RINGLINE_SIMULATE", "RINGLINE_PYTHON", "RINGLINE_CONFIG",
            "RINGLINE_KILLS", "RINGLINE_FAULTS", "RINGLINE_TEST_STORE",
            "RINGLINE_FRAMES", "RINGLINE_RAW_CONNECTIONS", "RINGLINE_DISK_FAULTS", "RINGLINE_LAUNCHER",
            "RINGLINE_DEMO_PUBLISHED_ON",
        ]
        let named = Self.text.matches(of: /\bRINGLINE_[A-Z0-9_]*[A-Z0-9]\b/.wordBoundaryKind(.simple)).map {
            String($0.0)
        }
        expectNone(Set(named).subtracting(known).subtracting(scripts).sorted(), "a variable that nothing reads")
    }

    @Test("The documents name every metric")
    func metrics() {
        expectNone(missing(Self.metrics.sorted()), "a metric that no document explains")
        #expect(Self.metrics.count >= 10, "the metrics are found in the sources")
    }

    @Test("The documents and dashboards name only metrics that exist")
    func noForeignMetrics() {
        let suffixes = ["_bucket", "_sum", "_count"]
        let dashboards = Repository.files.filter { $0.hasPrefix("Deploy/") && $0.hasSuffix(".json") }
        let text = ([Self.text] + dashboards.map(Repository.text)).joined(separator: "\n")
        let named = text.matches(of: /\bringline_[a-z_]*[a-z]\b/.wordBoundaryKind(.simple)).map { match in
            let name = String(match.0)
            return suffixes.first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) } ?? name
        }
        expectNone(Set(named).subtracting(Self.metrics).sorted(), "a metric that the server does not have")
    }

    @Test("Only the tables of old names have the old name of a metric or a setting")
    func oldNames() {
        let source = Repository.text(of: "Sources/Server/Gateway/MetricsPage.swift")
        let metrics = source.matches(of: /\("(ringline_[a-z_]+)", "ringline_[a-z_]+"\)/).map { String($0.1) }
        let settings = Setting.all.compactMap(\.formerName)
        #expect(metrics.count >= 6 && settings.count >= 2, "the old names are found in the sources")
        let tables: Set<String> = [
            "Deploy/CHANGELOG.md", "Sources/Server/ringline/ringline.docc/Metrics.md",
            "Sources/Server/ringline/ringline.docc/Settings.md",
        ]
        let names = Set(metrics + settings + settings.map(Setting.variable))
        for path in Repository.files
        where !tables.contains(path) && (path.hasPrefix("Deploy/") || path.contains(".docc/") || path.hasSuffix(".md"))
        {
            let words = Repository.text(of: path).split { !$0.isASCII || !($0.isLetter || "_-".contains($0)) }
            let found = Set(words.map { String($0.drop { $0 == "-" }) }).intersection(names)
            expectNone(found.sorted().map { "\(path): \($0)" }, "an old name; the table of old names has the new one")
        }
    }

    /// The metrics of the server: every string literal in the sources that begins with `ringline_`.
    private static let metrics = Set(
        Repository.sources.filter { !["LibWebSockets", "OutboundHTTP"].contains($0.target) }
            .flatMap(\.lines)
            .filter { $0.holds(anyOf: ["\"ringline_"]) }
            .flatMap { $0.matches(of: /"(ringline_[a-z_]+)"/).map { String($0.1) } }
    )

    /// Returns the words that no document has as code: in backticks, in backticks with labels (`name{…}`), or in the
    /// quotes of JSON.
    private func missing(_ words: [String]) -> [String] {
        words.filter { word in !["`\(word)`", "`\(word){", "\"\(word)\""].contains { Self.text.contains($0) } }
    }
}
