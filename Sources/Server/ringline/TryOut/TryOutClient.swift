import ArgumentParser
import CallClient
import CallCore
import CallWire
import Crypto
import FoundationEssentials
import Glibc
import JSON
import LibWebSockets
import Threads

/// The options with which a try-out client connects to its server.
struct TryOutOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server; http:// and https:// are taken too, and a missing /ws is added.",
            valueName: "ws://host:port/ws"
        )
    )
    var url = "ws://127.0.0.1:8080/ws"
    @Option(help: ArgumentHelp("The user's token; default: RINGLINE_TOKEN.", valueName: "JWT")) var token: String?
    @Option(help: ArgumentHelp("This device's id; default: terminal- and four characters.", valueName: "id"))
    var device: String?
    @Option(
        help: ArgumentHelp(
            "How long to try to connect again after the connection was lost; 0 = not at all.",
            valueName: "seconds"
        )
    )
    var reconnect = 30
    @Option(help: ArgumentHelp("Certificate authorities to trust, PEM.", valueName: "file")) var caFile: String?
    @Flag(help: "Do not check the server's certificate.") var insecure = false
}

/// A try-out client in the terminal: prints each message that it sends or receives, with the time since the start.
///
/// If it loses its connection, it connects again as the kits for apps do, and sends again what has got no ack.
final class TryOutClient: Sendable {
    /// The behaviour of one side of a call.
    protocol Role: AnyObject, Sendable {
        /// Called when the server has accepted the first connection (`welcome`).
        func welcomed(_ terminal: TryOutClient)
        /// Called for every other message, once for each.
        func received(_ type: String, _ message: JSONObject, _ terminal: TryOutClient)
        /// Called when the user presses Ctrl-C, or on SIGTERM.
        func interrupted(_ terminal: TryOutClient)
    }

    /// What the client's thread, the timers and the watch of the signals share.
    private struct State {
        var device: String?
        /// The connection that is open or being opened.
        var client: WebSocketClient?
        /// Whether the server has accepted that connection.
        var isOpen = false
        var wasOpen = false
        /// The signals without an ack, oldest first.
        var unacknowledged: [(id: String, text: String)] = []
        var lastID = 0
        /// The messages that have been received: a server repeats them to a device that comes back.
        var seen: Set<String> = []
        var exitCode: Int32?
        /// How the connection ended.
        var end: WebSocketClient.Event?
    }

    private let role: any Role
    private let began = ContinuousClock.now
    private let token: String
    private let options: TryOutOptions
    private let address: ServerAddress
    /// The beginning of the ids of this run: the server must not take a signal for one of an earlier run.
    private let runID = Hex.encode(SecureRandom.bytes(4))
    private let state: Monitor<State>

    init(_ options: TryOutOptions, role: any Role) throws(UsageError) {
        self.role = role
        guard let token = options.token ?? ProcessInfo.processInfo.environment["RINGLINE_TOKEN"], !token.isEmpty else {
            throw UsageError("--token is needed; 'ringline token --user 11' prints one")
        }
        guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw UsageError("--token must be the token alone, without blanks, line ends and the word Bearer")
        }
        self.token = token
        self.options = options
        try options.caFile.map { path throws(UsageError) in try Keys.requireFile(path, for: "ca-file") }
        guard (0...86_400).contains(options.reconnect) else {
            throw UsageError("--reconnect must be seconds from 0 to 86400")
        }
        if let device = options.device, DeviceID(device) == nil {
            throw UsageError("--device must be \(CallCore.Limits.identifierForm)")
        }
        address = try ServerAddress(options.url)
        let isNamed = options.device != nil || Self.namesDevice(token)
        state = Monitor(State(device: isNamed ? options.device : "terminal-\(Hex.encode(SecureRandom.bytes(2)))"))
    }

    /// Whether a token names the device, which this client must not override.
    private static func namesDevice(_ token: String) -> Bool {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let claims = Base64URL.decode(String(parts[1])) else { return false }
        // The server says what is wrong with a token that has no claims.
        return (try? JSONObject(claims))?.member(named: "device") != nil
    }

    /// Runs until the role ends it or the connection is lost for good, and returns the exit code.
    func run() -> Int32 {
        let watch = SignalWatch()
        watch.start { [weak self] in
            guard let self else { return }
            role.interrupted(self)
        }
        if address.isConverted { say("connecting to \(address.target.url)") }
        var reconnection = Reconnection()
        var giveUpAt: ContinuousClock.Instant?
        var input = Reconnection.Input.wanted(isUrgent: true)
        while true {
            let moment = Moment(milliseconds: SystemClock.boot())
            _ = reconnection.handle(input, at: moment, chance: Double.random(in: 0..<1))
            if let number = reconnection.current {
                let wasOpen = connect()
                if let code = state.withLock({ $0.exitCode }) { return code }
                if wasOpen { giveUpAt = nil }
                guard let pause = pause(untilGivingUp: &giveUpAt) else { return 1 }
                if wasOpen { _ = reconnection.handle(.opened(number), at: moment, chance: 0) }
                input = .closed(number, reconnectAfter: pause)
            } else {
                let rest = (reconnection.deadline ?? moment) - moment
                let end = ContinuousClock.now + .milliseconds(max(0, rest.milliseconds))
                if let code = state.wait(until: end, for: { $0.exitCode }) { return code }
                input = .deadlineReached
            }
        }
    }

    /// Connects, and serves until the connection has ended; returns whether the server has accepted it.
    private func connect() -> Bool {
        var configuration = WebSocketClient.Configuration(url: url)
        configuration.authorization = "Bearer \(token)"
        configuration.authoritiesPath = options.caFile
        configuration.isInsecure = options.insecure
        let client = WebSocketClient(configuration) { [weak self] event in self?.socketReported(event) }
        state.withLock { state in
            state.client = client
            state.end = nil
            // The user was faster than this thread.
            if state.exitCode != nil { client.close() }
        }
        client.run()
        return state.withLock { state in
            state.client = nil
            defer { state.isOpen = false }
            return state.isOpen
        }
    }

    /// The address with the device's id.
    private var url: String {
        var target = address.target
        if let device = state.withLock({ $0.device }) {
            // A plus sign in a query means a blank, so it is escaped.
            let escaped = device.split(separator: "+", omittingEmptySubsequences: false).joined(separator: "%2B")
            target.path += (target.path.contains("?") ? "&" : "?") + "device=\(escaped)"
        }
        return target.url
    }

    /// Returns the pause that the server asks for, or 0, after a connection has ended; `nil` = do not connect again.
    private func pause(untilGivingUp giveUpAt: inout ContinuousClock.Instant?) -> Moment.Duration? {
        let (end, wasOpen) = state.withLock { ($0.end, $0.wasOpen) }
        var pause = Moment.Duration.milliseconds(0)
        if case .closed(let code, let reason) = end {
            guard code.map({ $0 < 4_000 || $0 == 4_408 }) ?? true else {
                UsageError("the server has closed the connection for good: \(reason)").show()
                return nil
            }
            pause = Reconnection.pause(inCloseReason: reason) ?? pause
        }
        let now = ContinuousClock.now
        let limit = giveUpAt ?? now + .seconds(options.reconnect)
        guard wasOpen, options.reconnect > 0, now < limit, !isRefused(end) else {
            explain(end)
            return nil
        }
        if giveUpAt == nil { say("connecting again, for \(options.reconnect) s at most") }
        giveUpAt = limit
        return pause
    }

    /// Whether the server has refused the token: it will not take it later either.
    private func isRefused(_ end: WebSocketClient.Event?) -> Bool {
        if case .failed(let why) = end { why.contains("unauthorized") } else { false }
    }

    /// Says on stderr why there is no connection.
    private func explain(_ end: WebSocketClient.Event?) {
        guard case .failed(let why) = end else {
            return UsageError("the connection to \(address.target.url) is lost").show()
        }
        let probe = ConnectProbe(
            address.target,
            token: token,
            authorities: options.caFile,
            isInsecure: options.insecure
        )
        UsageError("cannot connect to \(address.target.url): \(probe.fault() ?? why)").show()
    }

    /// Sends one signal and prints a line about it; returns its id.
    ///
    /// Without a connection it is sent when there is one again.
    @discardableResult
    func send(_ type: String, _ what: String = "", _ write: (inout JSONWriter) -> Void) -> String {
        say("→ \(type) \(what)")
        return state.withLock { state in
            state.lastID += 1
            let id = "\(runID)-\(state.lastID)"
            var json = JSONWriter()
            json.beginObject()
            json.name("type")
            json.plain(type)
            json.name("id")
            json.plain(id)
            write(&json)
            json.endObject()
            let text = String(decoding: json.bytes, as: UTF8.self)
            state.unacknowledged.append((id, text))
            if state.isOpen { state.client?.send(text) }
            return id
        }
    }

    /// Calls a function later, on another thread.
    func after(milliseconds: Int, _ work: @escaping @Sendable (TryOutClient) -> Void) {
        Task.detached { [weak self] in
            // `sleep` throws only when its task is cancelled, and no other code has a reference to this task.
            try? await Task.sleep(for: .milliseconds(milliseconds))
            if let self { work(self) }
        }
    }

    /// Closes the connection, so that ``run()`` returns this exit code.
    func finish(_ code: Int32) {
        state.withLock { state in
            state.exitCode = code
            state.client?.close()
        }
    }

    /// Prints a line.
    func say(_ text: String) {
        let offset = Int64((ContinuousClock.now - began) / .milliseconds(1))
        let rest = String(offset % 1_000)
        // Names and reasons come from other clients, so control characters are escaped.
        print("\(offset / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)  \(text.printable)")
        fflush(nil)
    }

    private func socketReported(_ event: WebSocketClient.Event) {
        switch event {
        case .opened, .pong: break
        case .text(let text):
            guard let message = try? JSONObject(Array(text.utf8)),  // not from Ringline: nothing to print
                let member = message[.type], let type = message.string(member)
            else { return }
            messageReceived(type, message)
        case .closed(let code, let reason):
            say("closed\(code.map { " \($0)" } ?? "") \(reason)")
            state.withLock { state in
                state.end = event
                if code == 1000, state.exitCode == nil { state.exitCode = 0 }
            }
        case .failed(let why):
            let isStopped = state.withLock { state in
                state.end = event
                guard state.exitCode == 0, !state.wasOpen else { return false }
                state.exitCode = 1
                return true
            }
            if isStopped { UsageError(why).show() }
        }
    }

    private func messageReceived(_ type: String, _ message: JSONObject) {
        switch type {
        case "welcome":
            let device = message.word("device")
            say("connected as \(message.word("user") ?? "?"), device \(device ?? "?")")
            let isFirst = state.withLock { state in
                defer { state.wasOpen = true }
                state.device = device ?? state.device
                state.isOpen = true
                for signal in state.unacknowledged { state.client?.send(signal.text) }
                return !state.wasOpen
            }
            if isFirst { role.welcomed(self) }
        case "draining": say("← the server shuts down")
        default:
            let isNew = state.withLock { state in
                if type == "ack" || type == "error", let id = message.word("id") {
                    state.unacknowledged.removeAll { $0.id == id }
                }
                guard let seq = message.word("seq") else { return true }
                let name = [message.word("callId"), message.word("epoch"), seq].map { $0 ?? "" }
                return state.seen.insert(name.joined(separator: " ")).inserted
            }
            if isNew { role.received(type, message, self) }
        }
    }
}

extension JSONObject {
    /// Returns the text of the member with that name, for printing.
    func word(_ name: String) -> String? {
        guard let member = member(named: name) else { return nil }
        return string(member) ?? integer(member).map { String($0) }
    }
}
