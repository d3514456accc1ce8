import Glibc

/// The service manager that started this process, such as systemd with `Type=notify` (sd_notify(3)).
///
/// The protocol is a datagram of text to a UNIX socket, so it needs no library.
struct ServiceManager: Sendable {
    private let address: sockaddr_un
    private let length: socklen_t
    /// Whether the manager restarts this process when no pings come (`WatchdogSec=`).
    let wantsPings: Bool

    /// Returns the manager that the environment names; `nil` if there is none.
    ///
    /// `NOTIFY_SOCKET` is a path or, with `@` in front, an abstract name. `WATCHDOG_PID` names the process whose pings are
    /// expected.
    init?(_ environment: [String: String], process: Int32 = getpid()) {
        guard let path = environment["NOTIFY_SOCKET"], path.hasPrefix("/") || path.hasPrefix("@") else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        if path.hasPrefix("@") { bytes[0] = 0 }
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count > 1, bytes.count < room else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        length = socklen_t(MemoryLayout<sockaddr_un>.size - room + bytes.count)
        let expected = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
        wantsPings = environment["WATCHDOG_USEC"] != nil && expected
    }

    /// Tells the manager the process's state, such as `READY=1`; does nothing if the manager does not take it at once.
    func tell(_ state: String) {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        var address = address
        _ = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Array(state.utf8).withUnsafeBytes { bytes in
                    sendto(
                        socket,
                        bytes.baseAddress,
                        bytes.count,
                        Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                        address,
                        length
                    )
                }
            }
        }
    }
}
