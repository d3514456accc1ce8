internal import CLibwebsockets
internal import Glibc

/// A host, by name or by address, and a port.
struct Endpoint: Hashable {
    var host: String
    var port: Int
}

/// An IP address and a port, as the system's functions take them.
struct SocketAddress {
    private var storage = sockaddr_storage()

    private init(_ address: UnsafePointer<sockaddr>, _ length: socklen_t) {
        withUnsafeMutableBytes(of: &storage) { storage in
            storage.copyMemory(
                from: UnsafeRawBufferPointer(start: address, count: min(Int(length), storage.count))
            )
        }
    }

    /// The address of the peer of a connected handle (`uv_tcp_getpeername`).
    init?(ofPeer handle: UnsafeMutablePointer<uv_tcp_t>) {
        var length = Int32(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { uv_tcp_getpeername(handle, $0, &length) }
        }
        guard result == 0 else { return nil }
    }

    /// The address and the port as text: `203.0.113.7:4433` or `[2001:db8::1]:4433`.
    var text: String {
        let address = PeerAddress(storage)
        // The port is at the same offset for both families.
        let port = withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.loadUnaligned(as: sockaddr_in.self).sin_port) }
        return address.isIPv4 ? "\(address.text):\(port)" : "[\(address.text)]:\(port)"
    }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
        }
    }

    /// Returns the addresses of an endpoint, in the order in which to try them; for a name this blocks, possibly for
    /// many seconds (`getaddrinfo`).
    static func resolve(_ endpoint: Endpoint) -> Result<[Self], TCPConnectFailure> {
        resolve(endpoint, flags: AI_ADDRCONFIG)
    }

    /// Returns the address of an endpoint whose host is an address; nil if it is a name.
    static func parse(_ endpoint: Endpoint) -> Self? {
        guard case .success(let found) = resolve(endpoint, flags: AI_NUMERICHOST) else { return nil }
        return found.first
    }

    private static func resolve(_ endpoint: Endpoint, flags: Int32) -> Result<[Self], TCPConnectFailure> {
        var hints = addrinfo()
        hints.ai_flags = flags | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        guard code == 0 else {
            let reason =
                code == EAI_SYSTEM
                ? String(cString: strerror(errno)) : gai_strerror(code).map { String(cString: $0) } ?? "error \(code)"
            return .failure(.failed("cannot resolve \(endpoint.host): \(reason)"))
        }
        defer { freeaddrinfo(list) }
        return .success(
            sequence(first: list, next: { $0?.pointee.ai_next }).prefix { $0 != nil }.compactMap { entry in
                entry.flatMap { entry in
                    entry.pointee.ai_addr.map { Self($0, entry.pointee.ai_addrlen) }
                }
            }
        )
    }
}
