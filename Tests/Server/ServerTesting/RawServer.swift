import Glibc
import Testing
import Threads

/// A loopback port that answers each connection with the same bytes, once a request has come.
package final class RawServer: Sendable {
    package var port: Int { socket.port }
    private let socket: DeadServer
    private let record = Monitor(Record())

    private struct Record {
        var requests: [String] = []
        var sentBytes = 0
    }

    /// Creates a server.
    ///
    /// `hangs`: It keeps its connections open after the answer. `then`: A text that follows the answer, and how many times.
    package init(_ text: String, hangs: Bool, then rest: (text: String, count: Int) = ("", 0)) throws {
        let socket = try DeadServer()
        self.socket = socket
        _ = try WorkThread(named: "raw") { [record] in
            while true {
                let connection = accept(socket.socket, nil, nil)
                guard connection >= 0 else { return }
                let request = Self.receive(connection)
                record.withLock { $0.requests.append(request) }
                var left = 1 + rest.count
                while left > 0 {
                    let part = left > rest.count ? text : rest.text
                    let sent = Self.send(Array(part.utf8), on: connection)
                    record.withLock { $0.sentBytes += sent }
                    left = sent == part.utf8.count ? left - 1 : 0
                }
                if hangs { continue }
                close(connection)
            }
        }
    }

    deinit { shutdown(socket.socket, CInt(SHUT_RDWR)) }

    /// The requests that have come, each with its body.
    package var requests: [String] { record.withLock { $0.requests } }
    /// The bytes that the system took for the peers.
    package var sentBytes: Int { record.withLock { $0.sentBytes } }

    /// Reads one request, with the body that its length announces; of what is no request, as in a TLS handshake, only the
    /// beginning.
    private static func receive(_ connection: CInt) -> String {
        var text = ""
        while true {
            var room = [UInt8](repeating: 0, count: 4_096)
            let count = recv(connection, &room, room.count, 0)
            guard count > 0 else { return text }
            text += String(decoding: room[..<count], as: UTF8.self)
            guard text.first?.isUppercase == true else { return text }
            guard let end = text.firstRange(of: "\r\n\r\n") else { continue }
            let name = text.lowercased().firstRange(of: "content-length: ")
            let length = name.flatMap { Int(text[$0.upperBound...].prefix { $0.isNumber }) } ?? 0
            if text[end.upperBound...].utf8.count >= length { return text }
        }
    }

    /// Sends bytes; returns how many the system took.
    private static func send(_ bytes: [UInt8], on connection: CInt) -> Int {
        var sent = 0
        while sent < bytes.count {
            let more = bytes[sent...].withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard more > 0 else { break }
            sent += more
        }
        return sent
    }
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
