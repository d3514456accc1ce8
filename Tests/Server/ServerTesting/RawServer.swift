import Glibc
import Testing
import Threads

/// A loopback port that answers each connection with the same bytes, once a request has come.
package final class RawServer: Sendable {
    package var port: Int { socket.port }
    private let socket: DeadServer

    /// Creates a server; with `hangs` it keeps its connections open after the answer.
    package init(_ text: String, hangs: Bool) throws {
        let socket = try DeadServer()
        self.socket = socket
        _ = try WorkThread(named: "raw") {
            while true {
                let connection = accept(socket.socket, nil, nil)
                guard connection >= 0 else { return }
                var room = [UInt8](repeating: 0, count: 4_096)
                _ = recv(connection, &room, room.count, 0)
                let bytes = Array(text.utf8)
                var sent = 0
                while sent < bytes.count {
                    let more = bytes[sent...].withUnsafeBytes {
                        send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                    }
                    guard more > 0 else { break }
                    sent += more
                }
                if hangs { continue }
                close(connection)
            }
        }
    }

    deinit { shutdown(socket.socket, CInt(SHUT_RDWR)) }
}

/// A loopback port that accepts connections but never answers, like a dead service.
package final class DeadServer: Sendable {
    package let port: Int
    fileprivate let socket: CInt

    package init() throws {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && listen(socket, 16) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        try #require(isReady)
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(socket) }
}
