import Foundation
import Testing

/// The checkout in which these tests stand, as git sees it: what lies about and is not committed is nobody's business.
enum Repository {
    /// The folder that holds `Package.swift`: three levels above this file's folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Every file of the repository, by its path from the root.
    ///
    /// Committed ones and those about to be, so that a new file is checked before it is committed; not ignored ones.
    static let files: [String] = {
        let known = run(
            "git",
            ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        )
        return Set(known.output.split(separator: "\0").map(String.init))
            .filter { FileManager.default.fileExists(atPath: root.appending(path: $0).path) }
            .sorted()
    }()

    /// The files in git's index, including ignored ones that were added by force.
    static let committed: [String] = run("git", ["-c", "safe.directory=*", "ls-files", "-z", "--cached"]).output
        .split(separator: "\0").map(String.init)

    /// The Swift files below `Sources` and `Tests`, read.
    static let swift: [SwiftFile] = files.filter { $0.hasSuffix(".swift") && $0.contains("/") }
        .map { SwiftFile(path: $0, text: text(of: $0)) }

    /// Those below `Sources` only.
    static let sources = swift.filter { $0.path.hasPrefix("Sources/") }

    /// The documents for users, the README and the guides, as one text.
    static let documents: String = files.filter { $0 == "README.md" || $0.contains(".docc/") && $0.hasSuffix(".md") }
        .map(text).joined(separator: "\n")

    /// The text of a file; empty when it is none, so that a rule about it fails instead of the whole run.
    static func text(of path: String) -> String {
        guard let data = FileManager.default.contents(atPath: root.appending(path: path).path) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    /// Runs a program in the root and waits for its end.
    static func run(_ program: String, _ arguments: [String]) -> (status: Int32, output: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = root
        process.standardOutput = pipe
        process.standardError = pipe
        do { try process.run() } catch { return (-1, "\(error)") }
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}

/// Fails once for each finding, with the place and what is wrong there.
func expectNone(
    _ findings: some Sequence<String>,
    _ rule: String,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for finding in findings { Issue.record("\(finding): \(rule)", sourceLocation: sourceLocation) }
}
