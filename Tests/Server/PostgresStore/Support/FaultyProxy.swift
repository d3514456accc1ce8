import CallTesting
import Glibc
import Threads

/// What a server sends that never responds: messages that libpq takes at any time, or parts of one.
enum Babble: CaseIterable {
    case notices, settings, notifications, singleBytes

    /// The bytes for a connection, again and again.
    var bytes: [UInt8] {
        func message(_ type: Character, _ body: [UInt8]) -> [UInt8] {
            Array(String(type).utf8) + withUnsafeBytes(of: UInt32(body.count + 4).bigEndian) { Array($0) } + body
        }
        return switch self {
        case .notices: message("N", Array("SNOTICE\0C00000\0Mstill here\0\0".utf8))
        case .settings: message("S", Array("application_name\0babble\0".utf8))
        case .notifications: message("A", [0, 0, 0, 1] + Array("channel\0payload\0".utf8))
        case .singleBytes: [UInt8(ascii: "N")]
        }
    }

    /// The bytes before all others: those of a message that takes its time, or none.
    var beginning: [UInt8] { self == .singleBytes ? Array("N\0\u{10}\0\0".utf8) : [] }
}

/// A TCP proxy in front of PostgreSQL that causes faults; one thread forwards all connections.
final class FaultyProxy: Sendable {
    let port: UInt16
    private let listener: Int32
    private let target: Monitor<UInt16>
    private let state = Monitor(State())

    private struct State {
        var fault = OwnershipContract.Fault.none
        /// If this is not empty, a fault that cuts connections concerns only those that have sent this text.
        var mark: [UInt8] = []
        /// Whether the thread has seen the fault.
        var isSeen = true
        var isOver = false
        /// What clients get in place of PostgreSQL's responses; `nil` = they get the responses.
        var babble: Babble?
    }

    /// A connection of a client, and the connection to PostgreSQL to which it is forwarded.
    private struct ForwardedConnection {
        let client: Int32
        let server: Int32
        /// Whether the client has sent the mark of the fault.
        var isMarked = false
        /// Whether nothing more is read from the client.
        var isFrozen = false
        /// Whether both connections are closed, instead of forwarding, when PostgreSQL sends the next bytes.
        var isCutByResponse = false
        /// Whether PostgreSQL, or the proxy in its place, has sent bytes.
        var isGreeted = false
        /// Whether the client gets no response any more.
        var isBabbled = false
    }

    init(to target: UInt16) throws {
        self.target = Monitor(target)
        listener = loopbackSocket()
        port = try bound(listener)
        listen(listener, 16)
        // The thread is detached; it ends after `end()`.
        _ = try WorkThread(named: "proxy") { [self] in run() }
    }

    /// Causes a fault, and returns when it is in effect; `none` ends a fault.
    ///
    /// With a mark, a fault that cuts connections concerns only those that have sent this text.
    func cause(_ fault: OwnershipContract.Fault, after mark: String = "") {
        state.withLock { state in
            state.fault = fault
            state.mark = Array(mark.utf8)
            state.isSeen = false
        }
        state.wait { $0.isSeen ? () : nil }
    }

    /// Sends this for ever in place of responses, also to clients that connect, and returns when the next bytes of a
    /// client are not forwarded.
    func babble(_ babble: Babble) {
        state.withLock { state in
            state.babble = babble
            state.isSeen = false
        }
        state.wait { $0.isSeen ? () : nil }
    }

    /// Forwards new connections to another port.
    func retarget(to port: UInt16) { target.withLock { $0 = port } }

    /// Ends the thread, which closes all connections.
    func end() { state.withLock { $0.isOver = true } }

    private func endFault() { state.withLock { $0.fault = .none } }

    private func run() {
        var connections: [ForwardedConnection] = []
        while !state.withLock({ $0.isOver }) {
            let (fault, babble) = state.withLock { state in
                state.isSeen = true
                return (state.fault, state.babble)
            }
            if case .none = fault { for index in connections.indices { connections[index].isFrozen = false } }
            let isSilent = if case .silence = fault { true } else { false }
            var polled = isSilent ? [] : [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
            for connection in connections where !isSilent {
                let client = connection.isFrozen ? -1 : connection.client
                polled.append(pollfd(fd: client, events: Int16(POLLIN), revents: 0))
                polled.append(pollfd(fd: connection.server, events: Int16(POLLIN), revents: 0))
            }
            poll(&polled, nfds_t(polled.count), 5)
            guard !isSilent else { continue }
            var open: [ForwardedConnection] = []
            for (index, connection) in connections.enumerated() {
                var connection = connection
                var isOpen = true
                if polled[2 * index + 1].revents != 0 { isOpen = fromClient(&connection) }
                if isOpen, polled[2 * index + 2].revents != 0 { isOpen = fromServer(&connection) }
                if isOpen, connection.isBabbled, let babble { isOpen = sent(babble.bytes, to: connection.client) }
                if isOpen {
                    open.append(connection)
                } else {
                    close(connection.client)
                    close(connection.server)
                }
            }
            connections = open
            if polled[0].revents != 0, let new = accepted() { connections.append(new) }
        }
        for connection in connections {
            close(connection.client)
            close(connection.server)
        }
        close(listener)
    }

    private func accepted() -> ForwardedConnection? {
        let client = accept(listener, nil, nil)
        let server = loopbackSocket()
        var address = loopbackAddress(target.withLock { $0 })
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(server, $0, size) }
        }
        guard client >= 0, failed == 0 else {
            close(client)
            close(server)
            return nil
        }
        return ForwardedConnection(client: client, server: server)
    }

    /// The part of the message `Bind` that names the unnamed portal and the prepared statement `commit`.
    private static let commit = [0] + Array("commit".utf8) + [0]

    private func fromClient(_ connection: inout ForwardedConnection) -> Bool {
        guard let bytes = received(connection.client) else { return false }
        let (fault, mark, babble) = state.withLock { ($0.fault, $0.mark, $0.babble) }
        if let babble { return beginBabble(babble, to: &connection) }
        connection.isMarked = connection.isMarked || !mark.isEmpty && Self.contains(bytes, mark)
        let isCommit = (mark.isEmpty || connection.isMarked) && Self.contains(bytes, Self.commit)
        switch fault {
        case .cutBeforeCommit where isCommit:
            endFault()
            return false
        case .cutBeforeConfirmation where isCommit:
            endFault()
            connection.isCutByResponse = true
        // A renewal of the lease is shorter, so it is forwarded.
        case .freezeWithinCommit where bytes.count > 4_096: connection.isFrozen = true
        default: break
        }
        return sent(bytes, to: connection.server)
    }

    private static func contains(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: text) }
    }

    /// The message that tells a client that it needs no password.
    private static let welcome: [UInt8] = [UInt8(ascii: "R"), 0, 0, 0, 8, 0, 0, 0, 0]

    private func beginBabble(_ babble: Babble, to connection: inout ForwardedConnection) -> Bool {
        guard !connection.isBabbled else { return true }
        connection.isBabbled = true
        let welcome = connection.isGreeted ? [] : Self.welcome
        return sent(welcome + babble.beginning, to: connection.client)
    }

    private func fromServer(_ connection: inout ForwardedConnection) -> Bool {
        guard let bytes = received(connection.server), !connection.isCutByResponse else { return false }
        connection.isGreeted = true
        return connection.isBabbled || sent(bytes, to: connection.client)
    }

    private func received(_ socket: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    private func sent(_ bytes: [UInt8], to socket: Int32) -> Bool {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            start += count
        }
        return true
    }
}

/// Returns a new TCP socket, which is not bound yet.
private func loopbackSocket() -> Int32 {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var on: Int32 = 1
    setsockopt(file, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    return file
}

private func loopbackAddress(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}

/// Binds a socket to a free port of 127.0.0.1, and returns the port.
private func bound(_ file: Int32) throws -> UInt16 {
    var address = loopbackAddress(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(file, $0, size) | getsockname(file, $0, &size) }
    }
    guard failed == 0 else { throw PostgresServer.Failure(reason: "no free port") }
    return UInt16(bigEndian: address.sin_port)
}

/// Returns a port of 127.0.0.1 that was free a moment ago.
func freePort() throws -> UInt16 {
    let file = loopbackSocket()
    defer { close(file) }
    return try bound(file)
}
