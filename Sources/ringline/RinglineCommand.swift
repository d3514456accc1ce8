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
            Start a server:        ringline serve --data ./data
            Make a token:          ringline token --data ./data --user 11 --name Taro
            Try a call:            ringline answer --url ws://127.0.0.1:8080/ws --token TOKEN_OF_10
                                   ringline call --url ws://127.0.0.1:8080/ws --token TOKEN_OF_11 --to 10
            Check a configuration: ringline doctor --config /etc/ringline.conf
            While it runs:         ringline calls; ringline devices --user 10; ringline explain CALLID

            Every option of serve can also be given as environment variable (RINGLINE_LISTEN for --listen) or in a
            file named by --config (listen = 127.0.0.1:8080). An option overrides the environment, and the environment overrides the file.
            """,
        version: Version.text,
        subcommands: Self.commands
    )

    /// Runs a command; an invalid option is reported in one line on stderr.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
            try checkOutput()
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            // If the user passed a PEM key where its file's path belongs, the error message would quote the key.
            let text = message(for: error)
            UsageError(text.firstRange(of: "-----BEGIN").map { "\(text[..<$0.lowerBound])******" } ?? text)
                .show(asJSON: logsJSON)
            exit(withError: ExitCode.validationFailure)
        }
    }

    /// Fails if stdout could not be written, because a token or a table is then lost.
    ///
    /// A closed stdout, and a reader that has stopped reading (`EPIPE`), count as deliberate and are no failure.
    private static func checkOutput() throws {
        guard fflush(nil) != 0, errno != EBADF, errno != EPIPE else { return }
        throw UsageError("the output cannot be written: \(String(cString: strerror(errno)))").shown(asJSON: logsJSON)
    }

    private static var logsJSON: Bool { ServeOptions.logsJSON(Array(CommandLine.arguments.dropFirst())) }

    static let commands: [any ParsableCommand.Type] = [
        ServeCommand.self, DemoCommand.self, ConfigCommand.self, DoctorCommand.self, TokenCommand.self,
        HealthCommand.self, CallsCommand.self, DevicesCommand.self, PushTestCommand.self, ExplainCommand.self,
        RevokeCommand.self, BackupCommand.self, RestoreCommand.self, MoveCommand.self, CallCommand.self,
        AnswerCommand.self, VersionCommand.self,
    ]
}

/// The release of this source.
enum Version {
    /// The release as a semantic version.
    static let text = "0.2.0"
}

/// Prints the version.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    func run() { print("ringline \(Version.text)") }
}
