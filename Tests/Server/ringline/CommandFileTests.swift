import CallCore
import CallPorts
import FoundationEssentials
import Switchboard
import Testing

@testable import ringline

@Suite("An operator's command in the data folder")
struct CommandFileTests {
    private func command(
        _ user: String,
        _ milliseconds: Int64 = 1_700_000_000_123
    ) throws -> Switchboard.OperatorCommand {
        .revoke(try #require(UserID(user)), before: Moment(milliseconds: milliseconds))
    }

    @Test(
        "The name of a command's file contains the whole command",
        arguments: ["10", "a-b", "x@y.z:+_-", "..", String(repeating: "a", count: 128)]
    )
    func names(_ user: String) throws {
        let file = CommandFile(try command(user))
        #expect(file.name.utf8.count < 255 && !file.name.contains("/"))
        #expect(CommandFile(name: file.name) == file)
    }

    @Test("The name of a command to resend events contains the whole command")
    func resend() {
        let commands: [Switchboard.OperatorCommand] = [
            .resendEvents(.event(EventPosition(rawValue: 88_213))),
            .resendEvents(.parked(since: Moment(milliseconds: 1_700_000_000_123))),
        ]
        for command in commands { #expect(CommandFile(name: CommandFile(command).name) == CommandFile(command)) }
    }

    @Test(
        "The name of any other file is not read as a command",
        arguments: [
            ".", "..", "ringline.sqlite", "server-key", "revoke-", "revoke-1", "revoke-1-", "revoke-x-10",
            "revoke-1-a b", "resend-1", "resend-x-event", "resend-1-all",
        ]
    )
    func others(_ name: String) { #expect(CommandFile(name: name) == nil) }

    @Test("A command is carried out once, and its file is removed when the command is durable")
    func once() throws {
        let folder =
            FileManager.default.temporaryDirectory.path + "/ringline-commands-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = CommandFile(try command("10"))
        try file.write(to: folder)
        let desk = CommandFolder(folder: folder)
        var taken: [Switchboard.OperatorCommand] = []
        var finish: (@Sendable () -> Void)?
        for _ in 0..<3 {
            desk.scan { command, done in
                taken.append(command)
                finish = done
            }
        }
        #expect(taken == [file.command])
        #expect(file.isThere(in: folder), "it is not durable yet")
        finish?()
        #expect(!file.isThere(in: folder))
        try file.write(to: folder)
        desk.scan { command, _ in taken.append(command) }
        #expect(taken.count == 2, "a second file with the same command is a new command")
    }
}
