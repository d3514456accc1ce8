import CallCore
import CallWire
import FoundationEssentials
import Glibc
import ServerLog
import Switchboard
import Testing

@testable import ringline

@Suite("The audit log")
struct AuditLogTests {
    /// A temporary folder for one test, which is removed after it.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.path + "/ringline-audit-\(UInt64.random(in: 0...UInt64.max))"
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func lines(of name: String, atLeast count: Int) -> [String] {
            for _ in 0..<500 {
                let lines = text(of: name).split(separator: "\n").map(String.init)
                if lines.count >= count { return lines }
                usleep(10_000)
            }
            return text(of: name).split(separator: "\n").map(String.init)
        }

        private func text(of name: String) -> String {
            String(decoding: FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data(), as: UTF8.self)
        }
    }

    private static func user(_ text: String) throws -> UserID { try #require(UserID(text)) }

    /// Returns a line without its time.
    private static func rest(_ line: String) -> Substring {
        line.dropFirst(#"{"time":"2026-11-22T12:00:00.000Z","#.count)
    }

    @Test("Each event is a line of JSON, appended to what the file already contains")
    func events() throws {
        let folder = try Folder()
        for _ in 0..<2 {
            let log = try AuditLog(folder.path + "/audit")
            log.record(.blocked(try Self.user("11"), by: try Self.user("10")))
            log.record(
                CommandTrace("devices", try Self.user("10"), at: Moment(milliseconds: 1_700_000_000_123)),
                by: 7
            )
            log.record(.tokenRefused(cause: "revoked", try Self.user("10")))
            _ = folder.lines(of: "audit", atLeast: 3)
        }
        let lines = folder.lines(of: "audit", atLeast: 6)
        #expect(lines.count == 6 && lines.allSatisfy { $0.hasPrefix(#"{"time":"20"#) })
        let once = [
            #""event":"blocked","user":"10","blocked":"11"}"#,
            #""event":"command","command":"devices","user":"10","uid":7,"ran":"2023-11-14T22:13:20.123Z"}"#,
            #""event":"token_refused","cause":"revoked","user":"10"}"#,
        ]
        #expect(lines.map { String(Self.rest($0)) } == once + once)
        var status = stat()
        stat(folder.path + "/audit", &status)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test("After a reopening the log goes to a new file, or still to the old file if the reopening fails")
    func rotation() throws {
        let folder = try Folder()
        let path = folder.path + "/logs/audit"
        try FileManager.default.createDirectory(atPath: folder.path + "/logs", withIntermediateDirectories: true)
        let log = try AuditLog(path)
        log.write("one")
        #expect(folder.lines(of: "logs/audit", atLeast: 1).count == 1)
        rename(path, path + ".1")
        log.write("two")
        #expect(folder.lines(of: "logs/audit.1", atLeast: 2).count == 2)
        try log.reopen()
        log.write("three")
        #expect(folder.lines(of: "logs/audit", atLeast: 1).map(Self.rest) == [#""event":"three"}"#])
        rename(folder.path + "/logs", folder.path + "/moved")
        #expect(throws: UsageError.self) { try log.reopen() }
        log.write("four")
        #expect(folder.lines(of: "moved/audit", atLeast: 2).count == 2)
        #expect(log.dropped == 0)
    }

    @Test("The refusal of a file that cannot be opened names its path", arguments: ["", "/none/audit", "/fifo"])
    func unusable(_ name: String) throws {
        let folder = try Folder()
        mkfifo(folder.path + "/fifo", 0o600)
        do {
            _ = try AuditLog(folder.path + name)
            Issue.record("it was opened")
        } catch {
            #expect(error.description.contains("--audit-log \(folder.path)\(name): "))
        }
    }

    @Test("Refused tokens are counted by cause even without a file")
    func counts() throws {
        let log = try AuditLog(nil)
        for _ in 0..<3 { log.record(.tokenRefused(cause: "signature", nil)) }
        #expect(log.refused.first { $0.cause == "signature" }?.count == 3)
        #expect(log.refused.first { $0.cause == "expired" }?.count == 0)
        #expect(Set(log.refused.map(\.cause)) == Set(AuditLog.causes))
    }

    @Test("Lines that one account causes have a limit, and the end of the log tells how many are missing")
    func flood() throws {
        let folder = try Folder()
        let log = try AuditLog(folder.path + "/audit")
        for _ in 0..<50 { log.record(.blocked(try Self.user("11"), by: try Self.user("10"))) }
        log.record(.blocked(try Self.user("11"), by: try Self.user("12")))
        for _ in 0..<20 { log.record(.tokenRefused(cause: "signature", nil)) }
        log.end()
        let lines = folder.lines(of: "audit", atLeast: 24)
        func count(_ part: String) -> Int { lines.count { $0.contains(part) } }
        #expect(count(#""event":"blocked","user":"10""#) == LineLimit<String>.linesOfAccount)
        #expect(count(#""event":"blocked","user":"12""#) == 1)
        #expect(count(#""event":"blocked","suppressed":40"#) == 1)
        #expect(count(#""event":"token_refused","cause":"signature","suppressed":10"#) == 1)
        #expect(log.suppressed == 50 && log.dropped == 0)
        #expect(log.refused.first { $0.cause == "signature" }?.count == 20)
    }

    @Test("A command's trace is read back from the name of its file", arguments: ["devices", "push-test", "backup"])
    func traces(_ command: String) throws {
        let at = Moment(milliseconds: 1_700_000_000_123)
        for user in [nil, try Self.user("10"), try Self.user("a-b.c@d:+_"), UserID(String(repeating: "a", count: 128))]
        {
            let trace = CommandTrace(command, user, at: at)
            #expect(CommandTrace(name: trace.name) == trace)
            #expect(trace.name.utf8.count < 255 && !trace.name.contains("/"))
        }
    }

    @Test(
        "The name of any other file is not read as a command",
        arguments: [
            "ran", "ran-", "ran-1", "ran-1-", "ran-x-backup", "ran-1-Backup", "ran-1-backup,", "ran--1-backup",
            "revoke-1-10",
        ]
    )
    func others(_ name: String) { #expect(CommandTrace(name: name) == nil) }

    @Test("A command leaves no trace in a folder without a server, unless the trace is for the next start")
    func quiet() throws {
        let folder = try Folder()
        CommandTrace("devices").write(in: folder.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        CommandTrace("restore").write(in: folder.path, isForTheNextStart: true)
        var seen: [String] = []
        let desk = CommandFolder(folder: folder.path)
        for _ in 0..<2 {
            desk.scan(reportingCommands: { trace, owner in
                seen.append(trace.command)
                #expect(owner == geteuid())
            }) { _, _ in }
        }
        #expect(seen == ["restore"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
