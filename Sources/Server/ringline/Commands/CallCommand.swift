import ArgumentParser
import CallCore
import CallWire
import JSON
import Threads

/// Calls a user from the terminal, with a sample session description and no media.
struct CallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Call a user from the terminal, to try a server; no media flows.",
        usage: "ringline call --to <user> [<options>]",
        discussion: """
            Exits with 0 after a call that was answered, and with 1 otherwise: nobody answered, the server refused the \
            call, or there was no connection for --reconnect.

            Example:
              ringline call --url wss://calls.example.com/ws --token TOKEN --to 10
            """
    )

    @OptionGroup var terminal: TryOutOptions
    @Option(help: ArgumentHelp("The user to call.", valueName: "user")) var to: String
    @Option(help: ArgumentHelp("The callId; default: the server makes one.", valueName: "id")) var callId: String?
    @Option(help: "Your name, as shown to the callee.") var name: String?
    @Flag(help: "Offer video too.") var video = false
    @Option(help: ArgumentHelp("How long to stay in the call before hanging up.", valueName: "seconds")) var talk = 5

    func run() throws {
        let code: Int32
        do throws(UsageError) {
            guard UserID(to) != nil else {
                throw UsageError("--to must be \(CallCore.Limits.identifierForm)")
            }
            if let callId, CallID(callId) == nil {
                throw UsageError("--call-id must be \(CallCore.Limits.identifierForm)")
            }
            guard (0...86_400).contains(talk) else { throw UsageError("--talk must be seconds from 0 to 86400") }
            code = try TryOutClient(terminal, role: CallingRole(self)).run()
        } catch {
            throw error.shown()
        }
        if code != 0 { throw ExitCode(code) }
    }
}

/// The caller's side: sends the offer and its candidates, stays in the call for a while, and hangs up.
private final class CallingRole: TryOutClient.Role, Sendable {
    private let command: CallCommand
    private let known = Monitor(Known())

    /// State from the server's messages; Ctrl-C and the timer read it on other threads.
    private struct Known {
        var offerID: String?
        var callID: String?
        var wasAnswered = false
    }

    private var callID: String? { known.withLock { $0.callID } }

    init(_ command: CallCommand) { self.command = command }

    func welcomed(_ terminal: TryOutClient) {
        let id = terminal.send("offer", "to \(command.to)") { json in
            json.name("to")
            json.plain(command.to)
            if let callID = command.callId {
                json.name("callId")
                json.plain(callID)
            }
            if let name = command.name {
                json.name("displayName")
                json.value(name)
            }
            json.name("sdp")
            json.value(SampleMedia.offer(hasVideo: command.video))
        }
        known.withLock { $0.offerID = id }
    }

    func received(_ type: String, _ message: JSONObject, _ terminal: TryOutClient) {
        switch type {
        case "ack" where message.word("id") == known.withLock({ $0.offerID }):
            let name = message.word("callId")
            known.withLock { $0.callID = name }
            terminal.say("← ack: call \(callID ?? "?") is stored, \(command.to) is being rung")
            for candidate in SampleMedia.candidates(ufrag: "EsAw") { sendSignal("ice", terminal, candidate: candidate) }
        case "ack": break
        case "error":
            terminal.say("← error \(message.word("code") ?? "?"): \(message.word("message") ?? "")")
            if callID == nil { terminal.finish(1) }
        case "ringing": terminal.say("← ringing on \(message.word("fromDevice") ?? "?")")
        case "answer":
            known.withLock { $0.wasAnswered = true }
            terminal.say("← answer from \(message.word("from") ?? "?"), device \(message.word("fromDevice") ?? "?")")
            sendSignal("connected", terminal)
            terminal.after(milliseconds: command.talk * 1_000) { [self] in sendSignal("end", $0) }
        case "call":
            let reason = message.word("reason").map { " (\($0))" } ?? ""
            terminal.say("← call is \(message.word("state") ?? "?")\(reason)")
            if message.word("state") == "ended", message.word("callId") == callID {
                terminal.finish(known.withLock { $0.wasAnswered } ? 0 : 1)
            }
        default: terminal.say("← \(type)")
        }
    }

    func interrupted(_ terminal: TryOutClient) {
        guard callID != nil else { return terminal.finish(1) }
        sendSignal("end", terminal)
        terminal.after(milliseconds: 500) { $0.finish(1) }
    }

    private func sendSignal(_ type: String, _ terminal: TryOutClient, candidate: String? = nil) {
        guard let callID else { return }
        terminal.send(type) { json in
            json.name("callId")
            json.plain(callID)
            if let candidate {
                json.name("candidate")
                json.raw(candidate.utf8)
            }
        }
    }
}
