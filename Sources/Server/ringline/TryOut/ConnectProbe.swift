import CallWire
import Diagnostics
import JSON
import LibWebSockets

/// Finds out why a WebSocket cannot be opened, with connections of its own.
///
/// The WebSocket library only reports that there is no connection.
struct ConnectProbe {
    let target: ClientTarget
    let token: String
    /// A file of certificate authorities to trust instead of those of the system.
    let authorities: String?
    let isInsecure: Bool

    /// The time limit of the whole probe.
    private static let limit = Duration.seconds(2)
    private let end = ContinuousClock.now + Self.limit

    init(_ target: ClientTarget, token: String, authorities: String?, isInsecure: Bool) {
        self.target = target
        self.token = token
        self.authorities = authorities
        self.isInsecure = isInsecure
    }

    /// Returns the fault in words; `nil` if there is none any more.
    func fault() -> String? {
        let socket: ClientSocket
        do throws(ClientSocket.Unreachable) { socket = try connected() } catch {
            return "\(error); is a server running there?"
        }
        if target.isTLS {
            guard socket.startTLS(host: target.host, authorities: authorities) else {
                return speaksHTTP
                    ? "the server speaks no TLS on this port: use ws:// instead of wss://"
                    : "the server does not answer in TLS"
            }
            if !isInsecure, let fault = socket.certificateFault { return "its certificate is not trusted: \(fault)" }
        }
        let upgrade = request(
            ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
                + ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Authorization: Bearer \(token)"]
        )
        guard let response = HTTPExchange.response(to: upgrade, on: socket, until: end) else {
            return hint(elsewise: "no response that is HTTP")
        }
        return fault(response)
    }

    private func fault(_ response: HTTPExchange.Response) -> String? {
        let body = try? JSONObject(Array(response.body.utf8))  // A response that is not Ringline's has no message.
        let message = body?.word("message") ?? "HTTP status \(response.status)"
        switch response.status {
        case 101: return nil
        case 300..<400:
            return "the server redirects to \(response.header("location") ?? "another address"): use that one"
        case 401: return "the server refuses the token: \(message)"
        case 404:
            return
                "the server has no WebSocket at \(target.path.prefix { $0 != "?" }): Ringline's path is /ws, after the "
                + "prefix of a proxy if there is one"
        case 426: return "the server got no request for a WebSocket: does a proxy in between drop the header Upgrade?"
        case 400 where !target.isTLS: return hint(elsewise: message)
        default: return "the server refuses the connection: \(message)"
        }
    }

    /// Returns that the server speaks TLS if it does, and this text otherwise.
    private func hint(elsewise text: String) -> String {
        guard !target.isTLS, let socket = try? connected(),  // The port accepted a connection just now.
            socket.startTLS(host: target.host, authorities: authorities)
        else { return text }
        return "the server speaks TLS on this port: use wss:// instead of ws://"
    }

    private var speaksHTTP: Bool {
        guard let socket = try? connected() else { return false }  // The port accepted a connection just now.
        return HTTPExchange.response(to: request([]), on: socket, until: end) != nil
    }

    private func connected() throws(ClientSocket.Unreachable) -> ClientSocket {
        try ClientSocket.connected(host: target.host, port: target.port, until: end)
    }

    private func request(_ headers: [String]) -> String {
        (["GET \(target.path) HTTP/1.1", "Host: \(target.authority)"] + headers).joined(separator: "\r\n") + "\r\n\r\n"
    }
}
