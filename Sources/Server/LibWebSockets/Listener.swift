internal import CLibwebsockets
internal import Glibc

/// One listening socket and libuv's poll handle for it.
final class Listener {
    let descriptor: Int32
    let port: Int
    let id: Int
    let isTLS: Bool
    var watch: UnsafeMutablePointer<uv_poll_t>?

    /// The other sockets that may listen on the port.
    enum Sharing {
        /// No other socket.
        case alone
        /// Other sockets may join later, but the port must be free when this socket opens.
        case opening
        /// This socket joins the sockets that already listen.
        case joining
    }

    init(host: String, port: Int, id: Int, isTLS: Bool, sharing: Sharing) throws(ServerError) {
        self.id = id
        self.isTLS = isTLS
        (descriptor, self.port) = try Self.openSocket(host: host, port: port, sharing: sharing)
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Returns a listening socket, which the caller closes, and its port.
    static func openSocket(host: String, port: Int, sharing: Sharing) throws(ServerError) -> (Int32, Int) {
        do throws(ServerError) {
            return try listen(host: host, port: port, sharing)
        } catch .cannotListen(_, _, "IPv6 is switched off") where host == "::" {
            return try listen(host: "0.0.0.0", port: port, sharing)
        }
    }

    private static func listen(
        host: String,
        port: Int,
        _ sharing: Sharing
    ) throws(ServerError) -> (Int32, Int) {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard (0...65_535).contains(port), getaddrinfo(host, String(port), &hints, &found) == 0, let found else {
            throw .badAddress(port < 0 || port > 65_535 ? "\(host):\(port)" : host)
        }
        defer { freeaddrinfo(found) }
        let family = found.pointee.ai_family
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        if descriptor < 0, errno == EAFNOSUPPORT {
            throw .cannotListen(host: host, port: port, reason: "IPv6 is switched off")
        }
        // An accepted socket inherits TCP_NODELAY, which saves a system call for each.
        set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        if sharing == .joining { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        if family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        guard descriptor >= 0, bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0,
            Glibc.listen(descriptor, 4_096) == 0
        else {
            let code = errno
            if descriptor >= 0 { Glibc.close(descriptor) }
            if code == EADDRINUSE { throw .portTaken(host: host, port: port) }
            let noIPv6 = family == AF_INET6 && code == EADDRNOTAVAIL
            throw .cannotListen(
                host: host,
                port: port,
                reason: noIPv6 ? "IPv6 is switched off" : String(cString: strerror(code))
            )
        }
        // This option is set only now. If it were set before, a second server on the port would share the port instead
        // of failing with "port taken".
        if sharing == .opening { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        return (descriptor, boundPort(of: descriptor))
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func boundPort(of descriptor: Int32) -> Int {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
            // The port is at the same offset for both families.
            return storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                Int(UInt16(bigEndian: $0.pointee.sin_port))
            }
        }
    }
}
