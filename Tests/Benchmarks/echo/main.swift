import CallPorts
import CallWire
import Glibc
import LibWebSockets

/// A server that only relays each message to the partner of its sender.
///
/// Connections are paired in the order of arrival.
final class Relay: ServerDelegate {
    var server: Server?
    private var partners: [SocketID: SocketID] = [:]
    private var single: SocketID?

    func admit(_ upgrade: RequestHead, as socket: SocketID) -> UpgradeDecision { .accept(subprotocol: nil) }

    func opened(_ socket: SocketID) {
        guard let other = single else {
            single = socket
            return
        }
        single = nil
        partners[socket] = other
        partners[other] = socket
    }

    func messageReceived(_ message: RawSpan, on socket: SocketID) {
        guard let partner = partners[socket], let server else { return }
        server.send(message.withUnsafeBytes { Frame($0) }, to: partner)
    }

    func receivedPong(_ payload: RawSpan, on socket: SocketID) {}
    func closed(_ socket: SocketID, code: UInt16?) { partners[socket] = nil }
    func requested(_ head: RequestHead, body: [UInt8], as request: RequestID) {
        server?.respond(request, with: Response(status: 200, contentType: "text/plain", body: Array("ok".utf8)))
    }
    func abandoned(_ request: RequestID) {}
}

var configuration = ServerConfiguration()
configuration.host = "127.0.0.1"
configuration.port = Int(CommandLine.arguments.dropFirst().first ?? "9400") ?? 9400
if CommandLine.arguments.count > 3 {
    configuration.tls = .init(certificatePath: CommandLine.arguments[2], keyPath: CommandLine.arguments[3])
}
let relay = Relay()
do {
    let server = try Server(configuration: configuration, delegate: relay)
    relay.server = server
    print("listening on \(server.port), pid \(getpid())")
    fflush(nil)
    server.run()
} catch {
    print(error)
    exit(1)
}
