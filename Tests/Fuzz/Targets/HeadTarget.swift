import CallPorts
import CallWire
import Foundation
import Glibc
import LibWebSockets

/// Raw bytes of a connection, which libwebsockets and the code around it read.
final class HeadTarget: FuzzTarget {
    private let server: Server

    init() throws {
        var configuration = ServerConfiguration()
        configuration.host = "127.0.0.1"
        configuration.subprotocols = ["ringline.v1"]
        configuration.handshakeTimeoutSeconds = 1
        configuration.bodyTimeoutSeconds = 1
        let delegate = Echo()
        server = try Server(configuration: configuration, delegate: delegate)
        delegate.server = server
        let server = server
        Thread { server.run() }.start()
    }

    deinit { server.stop() }

    func take(_ bytes: [UInt8]) {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(server.port).bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // The alarm of libFuzzer may interrupt `connect`, but the kernel still makes the connection.
        if connected != 0, errno == EINTR {
            var waiting = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            while poll(&waiting, 1, 1_000) < 0, errno == EINTR {}
        } else {
            expect(connected == 0, "the server takes connections: \(errno)")
        }
        var timeout = timeval(tv_sec: 0, tv_usec: 20_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        shutdown(socket, Int32(SHUT_WR))
        var answer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(socket, &answer, answer.count, 0)
        guard count > 0 else { return }
        expect(answer.starts(with: "HTTP/1.".utf8), "an answer is HTTP: \(answer.prefix(16))")
    }
}

/// A delegate that answers every request and every message.
///
/// `@unchecked Sendable`: `server` is set before the loop runs, and is used only on the loop's thread.
private final class Echo: ServerDelegate, @unchecked Sendable {
    weak var server: Server?

    func admit(_ upgrade: RequestHead, as socket: SocketID) -> UpgradeDecision {
        upgrade.path == "/ws" ? .accept(subprotocol: upgrade.protocols.first) : .refuse(Response(status: 404))
    }
    func opened(_ socket: SocketID) {}
    func messageReceived(_ message: RawSpan, on socket: SocketID) {
        _ = server?.send(Frame("{}".utf8), to: socket)
    }
    func receivedPong(_ payload: RawSpan, on socket: SocketID) {}
    func closed(_ socket: SocketID, code: UInt16?) {}
    func requested(_ head: RequestHead, body: [UInt8], as request: RequestID) {
        let said = [head.method, head.path] + head.query.map { $0.name + "=" + $0.value } + head.protocols
        server?.respond(request, with: Response(status: 200, body: Array(said.joined().utf8) + body))
    }
    func abandoned(_ request: RequestID) {}
}
