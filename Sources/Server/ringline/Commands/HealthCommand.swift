import ArgumentParser
import CallCore
import Diagnostics
import FoundationEssentials

/// Asks a server, by default the one on this machine, whether it is healthy; for containers, which have no curl.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask a running server whether it is healthy; exits with 0 if it is.",
        discussion: "Example: ringline health --ready --admin http://127.0.0.1:9090"
    )

    @Option(
        help: ArgumentHelp(
            "The admin listener (default: the variable RINGLINE_ADMIN_LISTEN, else http://127.0.0.1:9090).",
            valueName: "http://host:port"
        )
    )
    var admin: String?
    @Flag(help: "Ask whether it is ready to serve, not only whether it is alive.") var ready = false

    func run() throws {
        do {
            // Compose files and systemd units express "not set" by an empty variable.
            let told = ProcessInfo.processInfo.environment["RINGLINE_ADMIN_LISTEN"].flatMap { $0.isEmpty ? nil : $0 }
            guard admin != nil || told != "none" else {
                throw UsageError("RINGLINE_ADMIN_LISTEN is 'none': the server has no admin listener to ask")
            }
            let text = admin ?? "http://\(told ?? "127.0.0.1:9090")"
            guard text.hasPrefix("http://"), let address = ListenAddress(String(text.dropFirst(7).prefix { $0 != "/" }))
            else {
                if admin == nil, let told { throw UsageError("RINGLINE_ADMIN_LISTEN must be HOST:PORT, not '\(told)'") }
                throw UsageError("--admin must be http://HOST:PORT, not '\(text)'")
            }
            let response = try HealthCheck(address).get(ready ? "/readyz" : "/healthz")
            print(response.body.printable)
            guard response.status == 200 else { throw ExitCode(1) }
        } catch let usageError as UsageError {
            throw usageError.shown()
        }
    }
}

/// One plain HTTP request to the admin listener.
struct HealthCheck {
    /// The time limit of the whole check: connecting to each address of the host, sending, and receiving the response.
    ///
    /// The image's HEALTHCHECK kills the command after 3 s, and Docker's health log would then lack the command's
    /// error.
    private static let limit = Duration.seconds(2)

    let address: ListenAddress

    init(_ address: ListenAddress) { self.address = address }

    func get(_ path: String) throws(UsageError) -> (status: Int, body: String) {
        let end = ContinuousClock.now + Self.limit
        let socket: ClientSocket
        do throws(ClientSocket.Unreachable) {
            socket = try .connected(host: address.host, port: address.port, until: end)
        } catch {
            throw UsageError("cannot connect to http://\(address.text): \(error)")
        }
        let request = "GET \(path) HTTP/1.1\r\nHost: \(address.text)\r\nConnection: close\r\n\r\n"
        guard let response = HTTPExchange.response(to: request, on: socket, until: end), response.isComplete else {
            throw UsageError("no response from http://\(address.text)")
        }
        return (response.status, response.body)
    }
}
