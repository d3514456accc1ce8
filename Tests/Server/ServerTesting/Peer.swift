import Glibc

/// A client on one blocking socket that can violate every rule of the protocols.
package final class Peer {
    package struct Response: Equatable {
        package var status = 0
        package var head = ""
        package var body = ""

        /// Returns the value of a header line, by its lower-case name.
        package func header(_ name: String) -> String? {
            for line in head.split(separator: "\r\n").dropFirst() {
                guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else { continue }
                return line[line.index(after: colon)...].drop { $0 == " " }.description
            }
            return nil
        }
    }

    package struct Frame: Equatable {
        package var opcode: UInt8
        package var isFinal = true
        package var payload: [UInt8]
        package var text: String { String(decoding: payload, as: UTF8.self) }
        /// The close code of a close frame; nil for other frames, and if there is no code.
        package var code: Int? { opcode == 8 && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }
    }

    package let descriptor: Int32
    private var buffer: [UInt8] = []

    /// Connects to a port of 127.0.0.1 from the address 127.0.0.`lastByte`.
    ///
    /// A small `receiveBuffer` (SO_RCVBUF) makes the client a slow reader.
    package init(port: Int, receiveBuffer: Int32? = nil, timeoutSeconds: Int = 5, lastByte: UInt32 = 1) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0000 + lastByte).bigEndian
        use(&address, bind)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        use(&address, connect)
    }

    private func use(
        _ address: inout sockaddr_in,
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
    ) {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    deinit { close() }

    private var isOpen = true
    package func close() {
        if isOpen { Glibc.close(descriptor) }
        isOpen = false
    }

    /// Resets the connection (RST); data that was not read or sent yet is lost.
    package func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    package func shutdownWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    // MARK: Bytes

    package func send(_ text: String) { send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { raw in
                raw.baseAddress.map { Glibc.send(descriptor, $0 + sent, bytes.count - sent, Int32(MSG_NOSIGNAL)) } ?? 0
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Reads more bytes into the buffer; returns false at the end of the connection and after the timeout.
    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        buffer += chunk[..<count]
        return true
    }

    /// Whether bytes, or the end of the connection, have arrived.
    package var hasBytes: Bool {
        var descriptors = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return !buffer.isEmpty || poll(&descriptors, 1, 0) == 1
    }

    /// Returns the bytes that arrive next; nil at the end of the connection and after the timeout.
    package func readSome() -> [UInt8]? {
        if buffer.isEmpty, !fill() { return nil }
        defer { buffer = [] }
        return buffer
    }

    private func take(_ count: Int) -> [UInt8]? {
        while buffer.count < count { guard fill() else { return nil } }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Reads until the server ends the connection; returns true at its end or a reset, and false after the timeout.
    package func isEnded() -> Bool {
        while true {
            var byte: UInt8 = 0
            let count = recv(descriptor, &byte, 1, 0)
            if count == 0 { return true }
            if count < 0 { return errno != EAGAIN && errno != EWOULDBLOCK }
        }
    }

    // MARK: HTTP

    package func readResponse(toHead: Bool = false) -> Response? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let at = (0..<max(0, buffer.count - 3)).first(where: { Array(buffer[$0..<$0 + 4]) == end }) {
                var response = Response()
                response.head = String(decoding: buffer[..<at], as: UTF8.self)
                buffer.removeFirst(at + 4)
                response.status = Int(response.head.split(separator: " ").dropFirst().first ?? "") ?? 0
                let length = Int(response.header("content-length") ?? "") ?? 0
                if !toHead, length > 0 {
                    guard let body = take(length) else { return nil }
                    response.body = String(decoding: body, as: UTF8.self)
                }
                return response
            }
            guard fill() else { return nil }
        }
    }

    package func get(_ path: String, headers: String = "") -> Response? {
        send("GET \(path) HTTP/1.1\r\nHost: x\r\n\(headers)\r\n")
        return readResponse()
    }

    // MARK: WebSocket

    package static let key = "dGhlIHNhbXBsZSBub25jZQ=="

    package static func upgrade(_ path: String = "/ws", headers: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Version: 13\r\n\(headers)\r\n"
    }

    @discardableResult
    package func upgrade(_ path: String = "/ws", headers: String = "") -> Response? {
        send(Self.upgrade(path, headers: headers))
        return readResponse()
    }

    package static func frame(
        _ opcode: UInt8,
        _ payload: [UInt8],
        isFinal: Bool = true,
        announced: Int? = nil
    ) -> [UInt8] {
        let count = announced ?? payload.count
        var bytes: [UInt8] = [opcode | (isFinal ? 0x80 : 0)]
        if count < 126 {
            bytes.append(0x80 | UInt8(count))
        } else if count < 65_536 {
            bytes += [0x80 | 126, UInt8(count >> 8), UInt8(count & 255)]
        } else {
            bytes.append(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8((count >> shift) & 255)) }
        }
        let mask: [UInt8] = [1, 2, 3, 4]
        bytes += mask
        for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index & 3]) }
        return bytes
    }

    package func sendText(_ text: String) { send(Self.frame(1, Array(text.utf8))) }

    package func sendClose(_ code: UInt16) { send(Self.frame(8, [UInt8(code >> 8), UInt8(code & 255)])) }

    package func readFrame() -> Frame? {
        guard let head = take(2) else { return nil }
        var count = Int(head[1] & 0x7F)
        if count == 126 {
            guard let more = take(2) else { return nil }
            count = Int(more[0]) << 8 | Int(more[1])
        } else if count == 127 {
            guard let more = take(8) else { return nil }
            count = more.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let payload = take(count) else { return nil }
        return Frame(opcode: head[0] & 15, isFinal: head[0] & 0x80 != 0, payload: payload)
    }
}
