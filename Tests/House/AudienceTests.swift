import Foundation
import Testing

/// Runs the compiler on `TimelineEvent.swift` with and without an event that has no audience.
@Suite("A new event of a timeline")
struct AudienceTests {
    private static let path = "Sources/Core/CallPorts/TimelineEvent.swift"

    @Test("A new event does not compile until its audience is chosen")
    func needsAnAudience() throws {
        let source = Repository.text(of: Self.path)
        #expect(try errors(in: source) == [], "the unchanged file compiles")
        var added = try replacing(
            "Equatable, Sendable {\n",
            by: "Equatable, Sendable {\n    case unheardOf\n",
            in: source
        )
        added = try replacing(
            #"        case .restarted: "restarted""#,
            by: #"        case .restarted, .unheardOf: "restarted""#,
            in: added
        )
        added = try replacing(".restarted, .other: break", by: ".restarted, .unheardOf, .other: break", in: added)
        let errors = try errors(in: added)
        #expect(errors.count == 1 && errors.first?.contains("switch must be exhaustive") == true, "\(errors)")
        let chosen = try replacing(
            ".tokensRevoked, .other: .operators",
            by: ".tokensRevoked, .unheardOf, .other: .operators",
            in: added
        )
        #expect(try self.errors(in: chosen) == [], "with an audience it compiles")
    }

    private func replacing(_ old: String, by new: String, in text: String) throws -> String {
        let range = try #require(text.range(of: old), "\(old) is in \(Self.path)")
        return text.replacingCharacters(in: range, with: new)
    }

    /// Returns the compiler's errors in a text that replaces `TimelineEvent.swift`.
    ///
    /// `CallPorts` and modules that it imports are checked as one module, so that no built module is needed; without what
    /// needs further modules: the vocabulary of sockets, and the form of events.
    private func errors(in text: String) throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "audience-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var paths: [String] = []
        for file in Repository.sources where ["CallCore", "JSON", "TimeZones", "CallPorts"].contains(file.target) {
            guard !file.path.contains("/CallPorts/Sockets/"), !file.path.hasSuffix("/AppEvent+JSON.swift") else {
                continue
            }
            let source = file.path == Self.path ? text : Repository.text(of: file.path)
            let alone = source.replacing(/((public|package) )?import (CallCore|JSON|TimeZones)/, with: "")
            let copy = folder.appending(path: file.path.replacing("/", with: "-"))
            try alone.write(to: copy, atomically: true, encoding: .utf8)
            paths.append(copy.path)
        }
        let options = ["-typecheck", "-swift-version", "6", "-module-name", "Ports", "-package-name", "ringline"]
        let result = Repository.run("swiftc", options + paths)
        let errors = result.output.split(separator: "\n").filter { $0.hasPrefix("/") && $0.contains(": error: ") }
        if result.status != 0, errors.isEmpty { return [result.output] }
        return errors.map(String.init)
    }
}
