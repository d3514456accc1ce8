import Crypto
import Glibc

/// A connected TCP or UDP socket with a time limit on every operation, for commands that query a server.
package final class ClientSocket {
    private let descriptor: Int32
    private var tls: TLSClient?

    /// One address of a host, with the port.
    package struct Address {
        fileprivate let family: Int32
        fileprivate let bytes: [UInt8]
    }

    /// Returns whether a server could listen on one address of a host now: 0, or the number of the system's error.
    ///
    /// It binds a socket to the address for a moment, and accepts nothing.
    package static func errorOfListening(on address: Address) -> Int32 {
        let socket = Glibc.socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return errno }
        defer { close(socket) }
        var isReused: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
        return address.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return EINVAL }
            return bind(socket, base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0 ? 0 : errno
        }
    }

    /// The reason why there is no connection, in words.
    package struct Unreachable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Returns a host's addresses in the order in which to try them.
    ///
    /// `localhost` often gives `::1` before `127.0.0.1`, even if the server listens only on the second address.
    package static func addresses(of host: String, port: Int) throws(Unreachable) -> [Address] {
        var hints = addrinfo()
        // The socket type does not matter here, but without one `getaddrinfo` returns each address once per type.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else {
            throw Unreachable(description: "cannot resolve \(host)")
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

    /// Connects to the first of a host's addresses that accepts a connection.
    ///
    /// Without `end`, each address has the standard time limit.
    package static func connected(
        host: String,
        port: Int,
        until end: ContinuousClock.Instant? = nil
    ) throws(Unreachable) -> ClientSocket {
        for address in try addresses(of: host, port: port) {
            let left = end.map(milliseconds(until:)) ?? standardMilliseconds
            guard left > 0 else { break }
            if let socket = ClientSocket(to: address, timeoutMilliseconds: left) { return socket }
        }
        throw Unreachable(description: "\(host) accepts no connection on port \(port)")
    }

    /// The time limit on each operation unless another one is given, in milliseconds.
    package static let standardMilliseconds = 3_000

    /// Connects to an address; returns `nil` if the address refuses or does not accept in time.
    package init?(to address: Address, isDatagram: Bool = false, timeoutMilliseconds: Int = standardMilliseconds) {
        let kind = Int32((isDatagram ? SOCK_DGRAM : SOCK_STREAM).rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(address.family, kind, 0)
        guard socket >= 0 else { return nil }
        Self.limit(socket, milliseconds: timeoutMilliseconds)
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

    /// Limits the next operation to the time that is left until `end`; returns `false` if none is left.
    package func limit(until end: ContinuousClock.Instant) -> Bool {
        let left = Self.milliseconds(until: end)
        // The system takes a limit of 0 for no limit.
        guard left > 0 else { return false }
        Self.limit(descriptor, milliseconds: left)
        return true
    }

    private static func milliseconds(until end: ContinuousClock.Instant) -> Int {
        Int((end - ContinuousClock.now) / .milliseconds(1))
    }

    private static func limit(_ socket: Int32, milliseconds: Int) {
        var limit = timeval(tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Starts TLS on the connection and returns whether the handshake succeeded.
    ///
    /// `authorities` is a PEM file of certificate authorities to trust instead of the system's.
    package func startTLS(host: String, authorities: String? = nil) -> Bool {
        tls = TLSClient(descriptor: descriptor, host: host, authorities: authorities)
        return tls != nil
    }

    /// The reason not to trust the server's certificate; `nil` if the certificate is trusted, or without TLS.
    package var certificateFault: String? { tls?.certificateFault }

    /// Sends all bytes and returns whether the system accepted them.
    package func send(_ bytes: [UInt8]) -> Bool {
        if let tls { return tls.send(bytes) }
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Returns the next bytes, at most `limit`; an empty array at the end of the stream, after an error, and at a
    /// timeout.
    package func receive(limit: Int = 4_096) -> [UInt8] {
        if let tls { return tls.receive(limit: limit) }
        return [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, limit, 0))
        }
    }
}
