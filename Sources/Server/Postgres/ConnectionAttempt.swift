import CPostgres
import Glibc

/// An attempt to connect, with a limit for each host.
///
/// libpq's own limit ends the wait for a silent server only: one that sends notices for ever would be read for ever. So
/// libpq connects to one host at a time here, step by step, and the clock decides.
enum ConnectionAttempt {
    /// Connects to the first host that can be used.
    /// - Returns: libpq's connection, which the caller must finish.
    static func connect(_ settings: ConnectionSettings) throws(PostgresError) -> OpaquePointer {
        var messages: [String] = []
        for options in settings.attempts {
            guard let opened = start(options) else {
                messages.append("out of memory")
                continue
            }
            // By default libpq prints the server's notices to stderr.
            PQsetNoticeProcessor(opened, { _, _ in }, nil)
            guard let failure = finish(opened, limit: settings.connectTimeout) else { return opened }
            messages.append(failure)
            PQfinish(opened)
        }
        let message = messages.joined(separator: " ")
        throw PostgresError(
            state: Connection.state(ofConnectionMessage: message),
            message: message,
            statement: "connect"
        )
    }

    private static func start(_ options: [ConnectionSettings.Option]) -> OpaquePointer? {
        var keywords = options.map { UnsafePointer(strdup($0.keyword)) }
        var values = options.map { UnsafePointer(strdup($0.value)) }
        keywords.append(nil)
        values.append(nil)
        defer { for text in keywords + values { free(UnsafeMutablePointer(mutating: text)) } }
        return PQconnectStartParams(keywords, values, 0)
    }

    /// Takes the steps of an attempt, with a limit for each address of the host; returns why it failed, or `nil` when the
    /// connection can be used.
    private static func finish(_ connection: OpaquePointer, limit: Duration?) -> String? {
        guard PQstatus(connection) != CONNECTION_BAD else { return message(of: connection) }
        var step = PGRES_POLLING_WRITING
        var address: String?
        var end = limit.map { ContinuousClock.now + $0 }
        while true {
            switch step {
            case PGRES_POLLING_OK: return nil
            case PGRES_POLLING_FAILED: return message(of: connection)
            default: break
            }
            let current = PQhostaddr(connection).map { String(cString: $0) }
            if current != address {
                address = current
                end = limit.map { ContinuousClock.now + $0 }
            }
            let events = Int16(step == PGRES_POLLING_READING ? POLLIN : POLLOUT)
            if !wait(for: events, on: PQsocket(connection), until: end) {
                // libpq goes on to the next address of the host when this one fails.
                guard PQstatus(connection) == CONNECTION_STARTED, shutdown(PQsocket(connection), Int32(SHUT_RDWR)) == 0
                else { return "\(host(of: connection)): timeout expired" }
                end = limit.map { ContinuousClock.now + $0 }
            }
            step = PQconnectPoll(connection)
        }
    }

    /// Waits for a socket; returns false after the end, even if the socket is ready.
    private static func wait(for events: Int16, on socket: Int32, until end: ContinuousClock.Instant?) -> Bool {
        var polled = pollfd(fd: socket, events: events, revents: 0)
        while true {
            guard end.map({ .now < $0 }) ?? true else { return false }
            let ready = poll(&polled, 1, 50)
            if ready > 0 || ready < 0 && errno != EINTR { return true }
        }
    }

    private static func host(of connection: OpaquePointer) -> String {
        let (host, port) = (PQhost(connection), PQport(connection))
        return "connection to server at \"\(host.map { String(cString: $0) } ?? "")\", port "
            + "\(port.map { String(cString: $0) } ?? "") failed"
    }

    private static func message(of connection: OpaquePointer) -> String {
        Connection.oneLine(PQerrorMessage(connection))
    }
}
