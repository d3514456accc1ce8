import ArgumentParser
import CallCore
import CallWire
import FoundationEssentials
import Glibc
import LibWebSockets
import Threads

/// How a try-out client reaches its server.
struct TerminalOptions: ParsableArguments {
    @Option(help: "The server, ws:// or wss://HOST:PORT/ws.") var url = "ws://127.0.0.1:8080/ws"
    @Option(help: "The user's token; RINGLINE_TOKEN without it.") var token: String?
    @Option(help: "This device's id.") var device: String?
    @Option(help: "Certificate authorities to trust, PEM.") var caFile: String?
    @Flag(help: "Do not check the server's certificate.") var insecure = false
}

/// One terminal's side of a call: prints what comes and what goes, with the time since the start.
//
// @unchecked Sendable: `part` and `began` are set before the client runs; all else happens in the client's callbacks,
// which come one at a time, and `send` and `close`, which any thread may call.
final class Terminal: @unchecked Sendable {
    /// What a side does about what it hears.
    protocol Part: AnyObject {
        /// The server is there.
        func welcomed(_ terminal: Terminal)
        /// Something came.
        func heard(_ type: String, _ message: JSONObject, _ terminal: Terminal)
        /// The user pressed Ctrl-C.
        func interrupted(_ terminal: Terminal)
    }

    private let part: any Part
    private let began = SystemClock.monotonic()
    private var client: WebSocketClient?
    private var exitCode: Int32 = 0
    private let token: String
    private let options: TerminalOptions

    init(_ options: TerminalOptions, part: any Part) throws(Complaint) {
        self.part = part
        guard let token = options.token ?? ProcessInfo.processInfo.environment["RINGLINE_TOKEN"], !token.isEmpty else {
            throw Complaint("--token is needed; 'ringline token --user 11' prints one")
        }
        self.token = token
        self.options = options
        if let path = options.caFile, access(path, R_OK) != 0 {
            throw Complaint("--ca-file: cannot read \(path): \(String(cString: strerror(errno)))")
        }
        var url = options.url
        if let device = options.device {
            guard DeviceID(device) != nil else {
                throw Complaint("--device must be 1 to 128 of A–Z a–z 0–9 . _ @ : + -")
            }
            // In a query a plus is a blank.
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

    /// Runs until one side closes; the exit code.
    func run() -> Int32 {
        let watch = SignalWatch()
        watch.start { [weak self] in
            guard let self else { return }
            part.interrupted(self)
        }
        client?.run()
        return exitCode
    }

    /// Sends one message, and says so.
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

    /// Does something later, on another thread.
    func after(milliseconds: Int, _ work: @escaping @Sendable (Terminal) -> Void) {
        Task.detached { [weak self] in
            // It throws when it is cancelled, and nobody has the task to do that.
            try? await Task.sleep(for: .milliseconds(milliseconds))
            if let self { work(self) }
        }
    }

    /// Ends the run.
    func finish(_ code: Int32) {
        exitCode = code
        client?.close()
    }

    /// Prints a line.
    func say(_ text: String) {
        let offset = SystemClock.monotonic() - began
        let rest = String(offset % 1_000)
        // Names and reasons are of somebody else's making.
        print("\(offset / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)  \(TextTable.visible(text))")
        fflush(nil)
    }

    /// What is wrong with the server's certificate, where that is why there is no connection: the library only says that
    /// there is none.
    private var certificateFault: String? {
        guard !options.insecure, let (host, port) = WebSocketClient.secureAddress(of: options.url) else { return nil }
        // Where it cannot even be reached now, what the library said is all there is.
        guard let socket = try? ClientSocket.connected(host: host, port: port),
            socket.startTLS(host: host, authorities: options.caFile)
        else { return nil }
        return socket.certificateFault
    }

    private func take(_ event: WebSocketClient.Event) {
        switch event {
        case .opened, .pong: break
        case .text(let text):
            guard let message = try? JSONObject(Array(text.utf8)),  // not ours: nothing to show of it
                let member = message[.type], let type = message.string(member)
            else { return }
            if type == "welcome" {
                say("connected as \(message.word("user") ?? "?"), device \(message.word("device") ?? "?")")
                part.welcomed(self)
            } else {
                part.heard(type, message, self)
            }
        case .closed(let code, let reason):
            say("closed\(code.map { " \($0)" } ?? "") \(reason)")
            if let code, code != 1000 { exitCode = 1 }
        case .failed(let why):
            Complaint(certificateFault.map { "\(options.url): its certificate is not trusted: \($0)" } ?? why).show()
            exitCode = 1
        }
    }
}

extension JSONObject {
    /// A member's text by its name, for printing.
    func word(_ name: String) -> String? {
        guard let member = members.first(where: { self.name(of: $0) == name }) else { return nil }
        return string(member) ?? integer(member).map { String($0) }
    }
}
