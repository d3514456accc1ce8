import CallClient
import CallCore
import Dispatch
import Foundation
import RinglineKit

/// A device for end-to-end tests: the Swift kit with real sockets and requests, and a media engine that plays no media.
///
///     ringline-kit-device SERVER USER DEVICE [background]     the tokens are in RINGLINE_TOKEN
///
/// Each line of the standard input is a command: `call 10`, `call 10 video`, `answer`, `end`, `hold`, `resume`, `mute`,
/// `confirm`, `info {…}`, `push {…}` (a VoIP push's payload), `token HEX` (a push token), `foreground`, `background`, `path`, `logout`.
/// Each event is a line of the standard output: a word, and what belongs to it.
@main
@MainActor
final class KitDevice {
    private let system = InAppCallSystem()
    private let engine = QuietEngine()
    private let kit: Ringline
    /// The call that the next command is about.
    private var call: CallUUID?

    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4, let server = URL(string: arguments[1]), let user = UserID(arguments[2]),
            let token = ProcessInfo.processInfo.environment["RINGLINE_TOKEN"]
        else {
            print("usage: RINGLINE_TOKEN=… ringline-kit-device SERVER USER DEVICE [background]")
            exit(2)
        }
        let device = KitDevice(server, user, arguments[3], token, inForeground: !arguments.contains("background"))
        Thread { readCommands(for: device) }.start()
        dispatchMain()
    }

    /// Reads lines until the test closes the input.
    private nonisolated static func readCommands(for device: KitDevice) {
        while let line = readLine() {
            DispatchQueue.main.async { MainActor.assumeIsolated { device.run(line) } }
        }
        exit(0)
    }

    private init(_ server: URL, _ user: UserID, _ device: String, _ token: String, inForeground: Bool) {
        var configuration = Ringline.Configuration(server: server, user: user, bundleID: "com.example.chat")
        configuration.displayName = "Swift \(user.text)"
        let ports = Ringline.Ports(
            media: engine,
            system: system,
            tokens: GivenTokens(token),
            store: Values(["device": device]),
            socket: LibWebSocketsOpener(),
            requests: URLSessionTransport()
        )
        kit = Ringline(configuration, ports)
        kit.isInForeground = inForeground
        engine.note = { Self.say($0) }
        kit.onEvent = { [weak self] event in self?.take(event) }
    }

    private static func say(_ text: String) {
        // Not `print` with `fflush(nil)`: that waits for the input's lock, which the reading thread holds.
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    private func take(_ event: RinglineEvent) {
        switch event {
        case .changed(let changed):
            call = changed.uuid
            Self.say("\(changed.phase.name.rawValue) \(changed.peer.text) \(changed.reason?.rawValue ?? "")")
            if changed.peerMedia.hold == true { Self.say("held") }
            if changed.isScheduled {
                Self.say(
                    "scheduled \(changed.schedule?.text ?? "-") \(changed.displayedPeer.handle) \(changed.data ?? "-")"
                )
            }
        case .peerRinging: Self.say("peer-ringing")
        case .delayed(_, let code): Self.say("delayed \(code)")
        case .digits(_, let digits): Self.say("digits \(digits)")
        case .info(_, let json): Self.say("info \(json)")
        case .refused(_, let refusal): Self.say("refused \(refusal)")
        case .connection(let isOpen): Self.say(isOpen ? "connected" : "disconnected")
        case .connectionReplaced: Self.say("replaced")
        case .tokenMissing(let text): Self.say("token-missing \(text)")
        case .registered(let isDone, let why): Self.say("\(isDone ? "registered" : "not-registered") \(why ?? "")")
        case .loggedOut: Self.say("logged-out")
        }
    }

    private func run(_ line: String) {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        let rest = words.count > 1 ? words[1] : ""
        switch words.first {
        case "call":
            let parts = rest.split(separator: " ")
            guard let peer = parts.first.flatMap({ UserID(String($0)) }) else { return }
            kit.startCall(to: peer, hasVideo: parts.contains("video"))
        case "push": system.events?(.input(.pushed(Self.values(rest))))
        case "token": system.events?(.voipToken(rest))
        case "foreground": kit.isInForeground = true
        case "background": kit.isInForeground = false
        case "path": kit.pathChanged()
        case "logout": kit.logOut()
        default: runInCall(words.first ?? "", rest)
        }
    }

    private func runInCall(_ command: String, _ rest: String) {
        guard let call else { return Self.say("no call") }
        switch command {
        case "answer": kit.answer(call)
        case "end": kit.end(call)
        case "hold": kit.setHeld(call, true)
        case "resume": kit.setHeld(call, false)
        case "mute": kit.setMuted(call, true)
        case "info": kit.sendInfo(call, rest)
        case "confirm": kit.confirm(call)
        default: Self.say("unknown command \(command)")
        }
    }

    private static func values(_ json: String) -> [String: PushValue] {
        // The test gives what the server has sent.
        guard let object = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any] else {
            return [:]
        }
        return object.mapValues { value in
            switch value {
            case let text as String: .string(text)
            case let number as NSNumber: .int(number.int64Value)
            case is [Any], is [String: Any]:
                // It was read from JSON, and can be written.
                (try? JSONSerialization.data(withJSONObject: value)).map { .json(String(decoding: $0, as: UTF8.self)) }
                    ?? .other
            default: .other
            }
        }
    }
}

/// The tokens that the test made, separated by blanks: the next one when the server has refused one, and at last the same again.
final class GivenTokens: TokenSource {
    private var tokens: [String]

    init(_ tokens: String) { self.tokens = tokens.split(separator: " ").map(String.init) }

    func token(refused: String?) async throws -> String {
        if refused == tokens.first, tokens.count > 1 { tokens.removeFirst() }
        return tokens.first ?? ""
    }
}

/// Values in memory.
final class Values: ValueStore {
    private var values: [String: String]

    init(_ values: [String: String]) { self.values = values }

    subscript(name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }
}
