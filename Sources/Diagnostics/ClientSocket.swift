import Crypto
import Glibc

/// A connected TCP or UDP socket with a time limit on every call, for commands that query a server.
package final class ClientSocket {
    private let descriptor: Int32
    private var tls: TLSClient?

    /// One address of a host, with the port.
    package struct Address {
        fileprivate let family: Int32
        fileprivate let bytes: [UInt8]
    }

    /// The reason why there is no connection, in words.
    package struct Unreachable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Returns a host's addresses in the order in which to try them.
    ///
    /// `localhost` often gives `::1` before `127.0.0.1`.
    package static func addresses(of host: String, port: Int) throws(Unreachable) -> [Address] {
        var hints = addrinfo()
        // The socket type does not matter here, but without one `getaddrinfo` returns each address once per type.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else {
            throw Unreachable(description: "\(host) is no host")
        }
        defer { freeaddrinfo(list) }
        var found: [Address] = []
        var next = list
        while let each = next?.pointee {
            let bytes = UnsafeRawBufferPointer(start: each.ai_addr, count: Int(each.ai_addrlen))
            found.append(Address(family: each.ai_family, bytes: Array(bytes)))
            next = each.ai_next
        }
        return found
    }

    /// Connects to the first address of a host that accepts.
    package static func connected(host: String, port: Int) throws(Unreachable) -> ClientSocket {
        for address in try addresses(of: host, port: port) {
            if let socket = ClientSocket(to: address) { return socket }
        }
        throw Unreachable(description: "nothing listens on \(host), port \(port)")
    }

    /// Connects; returns `nil` if nothing listens there.
    package init?(to address: Address, isDatagram: Bool = false, timeoutMilliseconds: Int = 3_000) {
        let kind = Int32((isDatagram ? SOCK_DGRAM : SOCK_STREAM).rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(address.family, kind, 0)
        guard socket >= 0 else { return nil }
        var limit = timeval(tv_sec: timeoutMilliseconds / 1_000, tv_usec: timeoutMilliseconds % 1_000 * 1_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let isConnected = address.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return connect(socket, base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
        }
        guard isConnected else {
            close(socket)
            return nil
        }
        descriptor = socket
    }

    deinit {
        tls = nil
        close(descriptor)
    }

    /// Starts TLS on the connection and returns whether the handshake succeeded.
    ///
    /// `authorities` is a PEM file of certificate authorities to trust instead of the system's.
    package func startTLS(host: String, authorities: String? = nil) -> Bool {
        tls = TLSClient(descriptor: descriptor, host: host, authorities: authorities)
        return tls != nil
    }

    /// The reason not to trust the server's certificate; `nil` if it is trusted, and without TLS.
    package var certificateFault: String? { tls?.certificateFault }

    /// Sends all bytes and returns whether that succeeded.
    package func send(_ bytes: [UInt8]) -> Bool {
        if let tls { return tls.send(bytes) }
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Returns the next bytes, at most `most`; an empty array at the end of the stream, after an error, and at a
    /// timeout.
    package func receive(most: Int = 4_096) -> [UInt8] {
        if let tls { return tls.receive(most: most) }
        return [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, most, 0))
        }
    }
}
