import CallCore
import CallWire
import Testing

@testable import ringline

@Suite("The documents")
struct DocumentTests {
    private static let text = Repository.documents

    @Test("name every error code")
    func errorCodes() {
        expectNone(missing(WireCode.allCases.map(\.rawValue)), "an error code that no document explains")
    }

    @Test("name every end reason")
    func endReasons() {
        expectNone(missing(EndReason.allCases.map(\.rawValue)), "an end reason that no document explains")
    }

    @Test("name every line of the audit log, and every cause of a refused token")
    func audit() {
        expectNone(missing(AuditLog.causes), "a cause that no document explains")
        let events = Repository.sources.filter { $0.target == "ringline" }.flatMap { file in
            // The event may stand on a line of its own.
            file.lines.joined(separator: " ")
                .matches(of: /\b(?:write|line)\( *"([a-z_]+)"/.wordBoundaryKind(.simple)).map { String($0.1) }
        }
        expectNone(missing(Set(events).sorted()), "an event that no document explains")
        #expect(Set(events).count >= 11, "they are found in the sources")
    }

    @Test("have the very table of settings that the program prints, on the page Settings")
    func settingsTable() {
        let page = Repository.text(of: "Sources/ringline/ringline.docc/Settings.md")
        #expect(page.contains("\n" + Setting.table + "\n"), "ringline config --table")
    }

    @Test("have a README of one screen and a half")
    func shortReadme() {
        let lines = Repository.text(of: "README.md").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 111, "a newcomer reads it in three minutes; the rest stands on the pages it links to")
    }

    @Test("show no line of Swift for app developers that no test compiles and runs")
    func firstCall() {
        let page = Repository.text(of: "Sources/CallClient/CallClient.docc/AFirstCall.md")
        let blocks = page.split(separator: "```").filter { $0.hasPrefix("swift\n") }.map { String($0.dropFirst(6)) }
        let tested = unindented(Repository.text(of: "Tests/CallClientTests/FirstCallTests.swift"))
        #expect(blocks.count >= 10)
        expectNone(blocks.map(unindented).filter { !tested.contains($0) }, "not in FirstCallTests.swift")
    }

    /// A text without what its lines begin with.
    private func unindented(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { line in line.drop { $0 == " " } }.joined(separator: "\n")
    }

    @Test("speak of no setting that does not exist")
    func noForeignSettings() {
        let known = Set(Setting.all.map(\.variable))
        let scripts: Set<String> = [
            "RINGLINE_STRICT", "RINGLINE_BINARY", "RINGLINE_SIMULATE", "RINGLINE_PYTHON", "RINGLINE_CONFIG",
            "RINGLINE_KILLS",
            "RINGLINE_FRAMES", "RINGLINE_RAW_CONNECTIONS", "RINGLINE_DISK_FAULTS", "RINGLINE_LAUNCHER",
        ]
        let named = Self.text.matches(of: /\bRINGLINE_[A-Z0-9_]*[A-Z0-9]\b/.wordBoundaryKind(.simple)).map {
            String($0.0)
        }
        expectNone(Set(named).subtracting(known).subtracting(scripts).sorted(), "a variable that nothing reads")
    }

    @Test("name every metric")
    func metrics() {
        expectNone(missing(Self.metrics.sorted()), "a metric that no document explains")
        #expect(Self.metrics.count >= 10, "the metrics are found in the sources")
    }

    @Test("speak of no metric that does not exist")
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

    /// The metrics of the server: every string literal in the sources that begins with `ringline_`.
    private static let metrics = Set(
        Repository.sources.filter { !["LibWebSockets", "OutboundHTTP"].contains($0.target) }
            .flatMap(\.lines)
            .flatMap { $0.matches(of: /"(ringline_[a-z_]+)"/).map { String($0.1) } }
    )

    /// Returns the words that no document has as code: between backticks (a metric with its labels behind it),
    /// or quoted as in JSON.
    private func missing(_ words: [String]) -> [String] {
        words.filter { word in !["`\(word)`", "`\(word){", "\"\(word)\""].contains { Self.text.contains($0) } }
    }
}
