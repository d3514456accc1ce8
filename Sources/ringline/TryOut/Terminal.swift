import ArgumentParser
import CallCore
import CallWire
import Diagnostics
import FoundationEssentials
import Glibc
import JSON
import LibWebSockets
import PlainText

/// The options with which a try-out client connects to its server.
struct TerminalOptions: ParsableArguments {
    @Option(help: "The server, ws:// or wss://HOST:PORT/ws.") var url = "ws://127.0.0.1:8080/ws"
    @Option(help: "The user's token; default: RINGLINE_TOKEN.") var token: String?
    @Option(help: "This device's id.") var device: String?
    @Option(help: "Certificate authorities to trust, PEM.") var caFile: String?
    @Flag(help: "Do not check the server's certificate.") var insecure = false
}

/// A try-out client in the terminal: prints each message that it sends or receives, with the time since the start.
//
// @unchecked Sendable: `role` and `began` are set before the client runs. All else happens in the client's callbacks,
// which come one at a time, and in `send` and `close`, which any thread may call.
final class Terminal: @unchecked Sendable {
    /// The behaviour of one side of a call.
    protocol Role: AnyObject {
        /// Called when the server has accepted the connection (`welcome`).
        func welcomed(_ terminal: Terminal)
        /// Called for every other message.
        func received(_ type: String, _ message: JSONObject, _ terminal: Terminal)
        /// Called when the user presses Ctrl-C, or on SIGTERM.
        func interrupted(_ terminal: Terminal)
    }

    private let role: any Role
    private let began = ContinuousClock.now
    private var client: WebSocketClient?
    /// The exit code; `nil` = the client has not ended by itself.
    private var exitCode: Int32?
    private let token: String
    private let options: TerminalOptions

    init(_ options: TerminalOptions, role: any Role) throws(UsageError) {
        self.role = role
        guard let token = options.token ?? ProcessInfo.processInfo.environment["RINGLINE_TOKEN"], !token.isEmpty else {
            throw UsageError("--token is needed; 'ringline token --user 11' prints one")
        }
        self.token = token
        self.options = options
        try options.caFile.map { path throws(UsageError) in try Keys.requireFile(path, for: "ca-file") }
        var url = options.url
        if let device = options.device {
            guard DeviceID(device) != nil else {
                throw UsageError("--device must be \(CallCore.Limits.identifierForm)")
            }
            // A plus sign in a query means a blank, so it is escaped.
            url +=
                (url.contains("?") ? "&" : "?") + "device="
                + device.split(separator: "+", omittingEmptySubsequences: false)
                .joined(separator: "%2B")
        }
        var configuration = WebSocketClient.Configuration(url: url)
        configuration.authorization = "Bearer \(token)"
        configuration.authoritiesPath = options.caFile
        configuration.isInsecure = options.insecure
        client = WebSocketClient(configuration) { [weak self] event in self?.take(event) }
    }

    /// Runs until one side closes the connection, and returns the exit code.
    func run() -> Int32 {
        let watch = SignalWatch()
        watch.start { [weak self] in
            guard let self else { return }
            role.interrupted(self)
        }
        client?.run()
        return exitCode ?? 0
    }

    /// Sends one message and prints a line about it.
    func send(_ type: String, _ what: String = "", _ write: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        json.beginObject()
        json.name("type")
        json.plain(type)
        write(&json)
        json.endObject()
        say("→ \(type) \(what)")
        client?.send(String(decoding: json.bytes, as: UTF8.self))
    }

    /// Calls a function later, on another thread.
    func after(milliseconds: Int, _ work: @escaping @Sendable (Terminal) -> Void) {
        Task.detached { [weak self] in
            // `sleep` throws only when its task is cancelled, and no other code has a reference to this task.
            try? await Task.sleep(for: .milliseconds(milliseconds))
            if let self { work(self) }
        }
    }

    /// Closes the connection, so that ``run()`` returns this exit code.
    func finish(_ code: Int32) {
        exitCode = code
        client?.close()
    }

    /// Prints a line.
    func say(_ text: String) {
        let offset = Int64((ContinuousClock.now - began) / .milliseconds(1))
        let rest = String(offset % 1_000)
        // Names and reasons come from other clients, so control characters are escaped.
        print("\(offset / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)  \(text.printable)")
        fflush(nil)
    }

    /// Why the server's certificate is not trusted; `nil` if the connection failed for another reason.
    ///
    /// This property checks the certificate again, because the WebSocket library only reports that there is no
    /// connection.
    private var certificateFault: String? {
        guard !options.insecure, let (host, port) = WebSocketClient.secureAddress(of: options.url) else { return nil }
        // If the server cannot be reached now, there is nothing to add to the library's report.
        guard let socket = try? ClientSocket.connected(host: host, port: port),
            socket.startTLS(host: host, authorities: options.caFile)
        else { return nil }
        return socket.certificateFault
    }

    private func take(_ event: WebSocketClient.Event) {
        switch event {
        case .opened, .pong: break
        case .text(let text):
            guard let message = try? JSONObject(Array(text.utf8)),  // not from Ringline: nothing to print
                let member = message[.type], let type = message.string(member)
            else { return }
            if type == "welcome" {
                say("connected as \(message.word("user") ?? "?"), device \(message.word("device") ?? "?")")
                role.welcomed(self)
            } else {
                role.received(type, message, self)
            }
        case .closed(let code, let reason):
            say("closed\(code.map { " \($0)" } ?? "") \(reason)")
            // A server that was killed closes without a code.
            if exitCode == nil, code != 1000 { exitCode = 1 }
        case .failed(let why):
            UsageError(certificateFault.map { "\(options.url): its certificate is not trusted: \($0)" } ?? why).show()
            exitCode = 1
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
