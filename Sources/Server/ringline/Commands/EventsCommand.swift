import ArgumentParser
import Backend

/// The events for the app's backend: their secret, a receiver for tests, and what is stored of them.
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Make the secret of events for your backend, receive events for a test, list them, and resend them.",
        discussion: """
            A server with --events-url posts an event to your backend when a call starts, is answered or ends, and when \
            something happens to a device. Each is signed as Standard Webhooks demands.

            From nothing to a verified event:
              ringline events secret > events.secret
              ringline events listen --port 9999 --secret-file events.secret
              ringline serve --events-url http://127.0.0.1:9999/ --events-secret-file events.secret
            """,
        subcommands: [
            EventsSecretCommand.self, EventsListenCommand.self, EventsListCommand.self, EventsResendCommand.self,
        ]
    )
}

/// Prints a new secret.
struct EventsSecretCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Print a new secret, whsec_ and 32 random bytes in base64.",
        discussion: """
            To replace a secret: add the new one as a second line of the file and send the server SIGHUP, so that both \
            sign; give your backend the new one; then remove the old line, and send SIGHUP again.

            Example: (umask 077; ringline events secret > events.secret)
            """
    )

    func run() { print(WebhookSecret.make().text) }
}

/// Receives events on this machine, and says what is wrong with them.
struct EventsListenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Receive events on this machine, check their signatures and print them, one line each.",
        usage: "ringline events listen --secret-file <file> [--port <port>] [<options>]",
        discussion: """
            A line has the response's status, the type, the id and the data of the event, and '(again)' if the event came \
            before. A delivery whose signature is not valid is answered with 401, and the line says why.

            To see what the server does with a backend that fails, --answer responds with another status, --slow responds \
            late, and --hang never responds. Any path is accepted; SIGTERM and Ctrl-C end the command.

            Example: ringline events listen --port 9999 --secret-file events.secret --answer 503
            """
    )

    @Option(help: ArgumentHelp("The secret, or two of them on two lines.", valueName: "file")) var secretFile: String
    @Option(help: ArgumentHelp("The port on 127.0.0.1; 0 takes any free one.", valueName: "port")) var port = 9_999
    @Option(help: ArgumentHelp("The status of the response to a valid delivery, 200 to 599.", valueName: "status"))
    var answer = 200
    @Option(help: ArgumentHelp("Respond after this many seconds, 0 to 600.", valueName: "seconds")) var slow = 0.0
    @Flag(help: "Never respond.") var hang = false
    @Flag(help: "End after the first delivery: with 0 if its signature is valid, else with 1.") var once = false

    func run() throws {
        do throws(UsageError) {
            guard (0...65_535).contains(port) else { throw UsageError("--port must be a number from 0 to 65535") }
            guard (200...599).contains(answer) else { throw UsageError("--answer must be a status from 200 to 599") }
            guard (0...600).contains(slow) else {
                throw UsageError("--slow must be a number of seconds from 0 to 600")
            }
            let receiver = try EventReceiver(
                port: port,
                secrets: try EventSecrets.read(secretFile, for: "secret-file"),
                behaviour: hang ? .hangs : .responds(status: answer, afterMilliseconds: UInt64(slow * 1_000)),
                endsAfterFirst: once
            )
            print("listening on http://127.0.0.1:\(receiver.port)/")
            try RinglineCommand.flushOutput()
            try receiver.run()
        } catch { throw error.shown() }
    }
}
