import ArgumentParser
import Glibc

/// The `ringline` executable: the server, and the commands for its operators and for app developers.
@main
struct RinglineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ringline",
        abstract:
            "Call signaling for VoIP and WebRTC apps: relays offers, answers and candidates, and wakes sleeping devices.",
        discussion: """
            See a call:     ringline try
            Start a server: ringline serve --data ./data
            Make a token:   ringline token --data ./data --user 11 --name Taro
            Try a call:     ringline answer --token TOKEN_OF_10
                            ringline call --token TOKEN_OF_11 --to 10
            Before a start: ringline init; ringline doctor --config ringline.conf
            While it runs:  ringline calls; ringline explain --last

            Every option of serve can also be given as an environment variable (RINGLINE_LISTEN for --listen) or in a \
            file named by --config (listen = 127.0.0.1:8080). An option overrides the environment, and the environment \
            overrides the file.

            Exit codes: 0 = done, 1 = failed, with the reason on stderr, 64 = the command line is wrong.
            """,
        version: Version.line,
        subcommands: Self.commands
    )

    /// Runs a command; an invalid option is reported in one line on stderr.
    static func main() {
        do {
            try UnknownCommand.check(Array(CommandLine.arguments.dropFirst()), commands)
            var command = try parseAsRoot()
            try command.run()
            try flushOutput()
        } catch let unknown as UnknownCommand {
            UsageError(unknown.description).show()
            exit(withError: ExitCode.validationFailure)
        } catch let failure as UsageError {
            exit(withError: failure.shown(asJSON: logsJSON))
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            // If the user passed a PEM key where its file's path belongs, the error message would quote the key.
            let text = misspeltOption(error) ?? message(for: error)
            UsageError(text.firstRange(of: "-----BEGIN").map { "\(text[..<$0.lowerBound])******" } ?? text)
                .show(asJSON: logsJSON)
            exit(withError: ExitCode.validationFailure)
        }
    }

    /// Writes what has been printed; fails if that is impossible, because a token or a table is then lost.
    ///
    /// A closed stdout, and a reader that has stopped reading (`EPIPE`), count as deliberate and are no failure.
    static func flushOutput() throws(UsageError) {
        guard fflush(nil) != 0, errno != EBADF, errno != EPIPE else { return }
        throw UsageError("the output cannot be written: \(String(cString: strerror(errno)))")
    }

    /// Returns a sentence about an option that the command does not have, if the error is that another one is missing.
    ///
    /// The parser sees first that `--user` is missing, and would not mention `--usr`.
    private static func misspeltOption(_ error: any Error) -> String? {
        let arguments = CommandLine.arguments.dropFirst()
        guard message(for: error).hasPrefix("Missing expected argument"),
            let command = commands.first(where: { $0.configuration.commandName == arguments.first })
        else { return nil }
        let known = helpMessage(for: command, columns: 10_000).split(whereSeparator: { ", \n".contains($0) })
            .filter { $0.hasPrefix("--") }.map(String.init)
        let names = arguments.prefix { $0 != "--" }.compactMap { $0.split(separator: "=").first.map(String.init) }
        guard let wrong = names.first(where: { $0.hasPrefix("--") && !known.contains($0) }) else { return nil }
        let hint = MisspeltName(wrong, prefix: "--").nearest(of: known).map { ". Did you mean '\($0)'?" } ?? ""
        return "Unknown option '\(wrong)'\(hint)"
    }

    private static var logsJSON: Bool { ServeOptions.logsJSON(Array(CommandLine.arguments.dropFirst())) }

    static let commands: [any ParsableCommand.Type] = [
        TryCommand.self, ServeCommand.self, DemoCommand.self, InitCommand.self, ConfigCommand.self, DoctorCommand.self,
        TokenCommand.self,
        HealthCommand.self, CallsCommand.self, DevicesCommand.self, PushTestCommand.self, ExplainCommand.self,
        RevokeCommand.self, EventsCommand.self, BackupCommand.self, RestoreCommand.self, MoveCommand.self,
        CallCommand.self, AnswerCommand.self, VersionCommand.self,
    ]
}

/// The first word of a command line, which names no command.
struct UnknownCommand: Error {
    let word: String
    /// The command that it probably means.
    let meant: String?

    /// Refuses a command line whose first word, or the word after `help`, names no command.
    ///
    /// The argument parser would complain about the word that it cannot place, which may be another one.
    static func check(_ arguments: [String], _ commands: [any ParsableCommand.Type]) throws(UnknownCommand) {
        guard let word = arguments.first == "help" ? arguments.dropFirst().first : arguments.first,
            !word.hasPrefix("-")
        else { return }
        let known = commands.compactMap { $0.configuration.commandName } + ["help"]
        guard !known.contains(word) else { return }
        throw UnknownCommand(word: word, meant: MisspeltName(word).nearest(of: known))
    }

    var description: String {
        let hint = meant.map { "Did you mean '\($0)'?" } ?? "'ringline --help' lists the commands."
        return "Unknown command '\(word)'. \(hint)"
    }
}

/// Prints the version.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print the version, and the commit that it was built from."
    )

    func run() { print(Version.line) }
}
