import Foundation
import Testing

/// The checkout that contains these tests, as git sees it: without ignored files.
enum Repository {
    /// The folder of `Package.swift`: three levels above this file's folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The paths of all files of the repository, from the root.
    ///
    /// The list includes new files, so that a file is checked before it is committed, but no ignored files.
    static let files: [String] = {
        let known = run(
            "git",
            ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        )
        return Set(known.output.split(separator: "\0").map(String.init))
            .filter { FileManager.default.fileExists(atPath: root.appending(path: $0).path) }
            .sorted()
    }()

    /// The files in git's index, including ignored files that were added by force.
    static let committed: [String] = run("git", ["-c", "safe.directory=*", "ls-files", "-z", "--cached"]).output
        .split(separator: "\0").map(String.init)

    /// The Swift files of the repository, except `Package.swift`.
    static let swift: [SwiftFile] = files.filter { $0.hasSuffix(".swift") && $0.contains("/") }
        .map { SwiftFile(path: $0, text: text(of: $0)) }

    /// The Swift files of the modules in `Sources`; the examples are code of apps, which `Tests/apple` compiles.
    static let sources = swift.filter { $0.path.hasPrefix("Sources/") && !$0.path.contains("/Examples/") }

    /// The documents for users as one text: the README and the guides.
    static let documents: String = files.filter { $0 == "README.md" || $0.contains(".docc/") && $0.hasSuffix(".md") }
        .map(text).joined(separator: "\n")

    /// Returns the text of a file.
    ///
    /// The text is empty if the file cannot be read, so that only the rule about this file fails, not the whole run.
    ///
    /// A picture has none: its bytes may look like words.
    static func text(of path: String) -> String {
        guard ![".png", ".gif"].contains(where: path.hasSuffix),
            let data = FileManager.default.contents(atPath: root.appending(path: path).path)
        else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    /// Runs a program in the root folder, and returns its status and output when it has ended.
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

/// Records an issue for each finding (a place or a name), with the rule that the finding breaks.
func expectNone(
    _ findings: some Sequence<String>,
    _ rule: String,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for finding in findings { Issue.record("\(finding): \(rule)", sourceLocation: sourceLocation) }
}
