import Glibc

/// A connected TCP or UDP socket whose every call ends within its time; for commands that ask a server something.
final class PlainSocket {
    private let descriptor: Int32

    /// Connects to the first address of a host.
    init(host: String, port: Int, isDatagram: Bool = false, timeoutMilliseconds: Int = 3_000) throws(Complaint) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(isDatagram ? SOCK_DGRAM.rawValue : SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let first = list else {
            throw Complaint("\(host) is no host")
        }
        defer { freeaddrinfo(list) }
        let kind = first.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(first.pointee.ai_family, kind, 0)
        var limit = timeval(tv_sec: timeoutMilliseconds / 1_000, tv_usec: timeoutMilliseconds % 1_000 * 1_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard socket >= 0, Glibc.connect(socket, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else {
            if socket >= 0 { close(socket) }
            throw Complaint("nothing listens on \(host), port \(port)")
        }
        descriptor = socket
    }

    deinit { close(descriptor) }

    /// Sends all of it; whether that worked.
    func send(_ bytes: [UInt8]) -> Bool {
        Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// What comes next, at most so many bytes; empty at the end, after an error, and when the time is over.
    func receive(most: Int = 4_096) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, most, 0))
        }
    }
}
