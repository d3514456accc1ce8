import Crypto
import Glibc

/// A connected TCP or UDP socket whose every call ends within its time; for commands that ask a server something.
final class ClientSocket {
    private let descriptor: Int32
    private var tls: TLSClient?

    /// One of a host's addresses, with the port.
    struct Address {
        fileprivate let family: Int32
        fileprivate let bytes: [UInt8]
    }

    /// Where a host is reached, in the order in which it is to be tried: `localhost` is often `::1` before `127.0.0.1`.
    static func addresses(of host: String, port: Int) throws(Complaint) -> [Address] {
        var hints = addrinfo()
        // Any kind would do: without one each address stands there once for every kind.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { throw Complaint("\(host) is no host") }
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

    /// Connects to the first address of a host that takes it.
    static func connected(host: String, port: Int) throws(Complaint) -> ClientSocket {
        for address in try addresses(of: host, port: port) {
            if let socket = ClientSocket(to: address) { return socket }
        }
        throw Complaint("nothing listens on \(host), port \(port)")
    }

    /// Connects; `nil` where nothing listens.
    init?(to address: Address, isDatagram: Bool = false, timeoutMilliseconds: Int = 3_000) {
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

    /// Speaks TLS from now on; whether the other side does.
    ///
    /// `authorities` is a PEM file of those to trust instead of the system's.
    func startTLS(host: String, authorities: String? = nil) -> Bool {
        tls = TLSClient(descriptor: descriptor, host: host, authorities: authorities)
        return tls != nil
    }

    /// Why the certificate that was shown is not to be trusted; `nil` where it is, and without TLS.
    var certificateFault: String? { tls?.certificateFault }

    /// Sends all of it; whether that worked.
    func send(_ bytes: [UInt8]) -> Bool {
        if let tls { return tls.send(bytes) }
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// What comes next, at most so many bytes; empty at the end, after an error, and when the time is over.
    func receive(most: Int = 4_096) -> [UInt8] {
        if let tls { return tls.receive(most: most) }
        return [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, most, 0))
        }
    }
}
