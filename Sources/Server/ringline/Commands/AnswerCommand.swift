import ArgumentParser
import CallWire
import JSON

/// Waits for calls in the terminal and answers them, with a sample session description and no media.
struct AnswerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Wait for calls in the terminal and answer them; no media flows.",
        usage: "ringline answer [<options>]",
        discussion: """
            Exits with 0 when it is stopped or, with --once, after the first call; with 1 if the server refused it, or \
            there was no connection for --reconnect.

            Example:
              ringline answer --url wss://calls.example.com/ws --token TOKEN --once
            """
    )

    @OptionGroup var terminal: TryOutOptions
    @Option(help: ArgumentHelp("How long to ring before answering.", valueName: "milliseconds")) var after = 300
    @Flag(help: "Decline calls instead of answering them.") var decline = false
    @Flag(help: "Stop after the first call.") var once = false

    func run() throws {
        let code: Int32
        do throws(UsageError) {
            guard (0...86_400_000).contains(after) else { throw UsageError("--after must be milliseconds, 0 or more") }
            code = try TryOutClient(terminal, role: AnsweringRole(self)).run()
        } catch {
            throw error.shown()
        }
        if code != 0 { throw ExitCode(code) }
    }
}

/// The callee's side: sends `ringing`, the answer and its candidates.
private final class AnsweringRole: TryOutClient.Role, Sendable {
    private let command: AnswerCommand

    init(_ command: AnswerCommand) { self.command = command }

    func welcomed(_ terminal: TryOutClient) { terminal.say("waiting for calls; stop with Ctrl-C") }

    func received(_ type: String, _ message: JSONObject, _ terminal: TryOutClient) {
        let callID = message.word("callId") ?? ""
        switch type {
        case "offer":
            let name = message.word("displayName").map { " (\($0))" } ?? ""
            terminal.say("← offer: call \(callID) from \(message.word("from") ?? "?")\(name)")
            sendSignal("ringing", callID, terminal)
            terminal.after(milliseconds: command.after) { [self] in pickUp(callID, $0) }
        case "ack": break
        case "error": terminal.say("← error \(message.word("code") ?? "?"): \(message.word("message") ?? "")")
        case "call":
            let reason = message.word("reason").map { " (\($0))" } ?? ""
            terminal.say("← call is \(message.word("state") ?? "?")\(reason)")
            if message.word("state") == "ended", command.once { terminal.finish(0) }
        default: terminal.say("← \(type)")
        }
    }

    func interrupted(_ terminal: TryOutClient) { terminal.finish(0) }

    private func pickUp(_ callID: String, _ terminal: TryOutClient) {
        if command.decline {
            sendSignal("end", callID, terminal)
            return
        }
        sendSignal("answer", callID, terminal) { json in
            json.name("sdp")
            json.value(SampleMedia.answer(hasVideo: false))
        }
        for candidate in SampleMedia.candidates(ufrag: "x9Qd") {
            sendSignal("ice", callID, terminal) { json in
                json.name("candidate")
                json.raw(candidate.utf8)
            }
        }
        sendSignal("connected", callID, terminal)
    }

    private func sendSignal(
        _ type: String,
        _ callID: String,
        _ terminal: TryOutClient,
        _ more: (inout JSONWriter) -> Void = { _ in }
    ) {
        terminal.send(type) { json in
            json.name("callId")
            json.plain(callID)
            more(&json)
        }
    }
}
