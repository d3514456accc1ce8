import CPostgres
import Glibc

/// A connection to one PostgreSQL database (`PGconn`), with its prepared statements.
///
/// A connection is not `Sendable`: one thread at a time uses it, and blocks in `poll` while it waits for the server.
/// The connection stays in libpq's pipeline mode, so that statements that are sent together need one round trip. It is
/// closed when the last reference to it is released.
package final class Connection {
    let pointer: OpaquePointer
    /// The names of the statements that the server has prepared for this connection.
    var prepared: Set<String> = []
    /// The steps that were sent together last; `nil` when all their results have been received.
    var sentSteps: SentSteps?
    /// Decides, while the connection waits for a response, whether it goes on waiting; `nil` = it does until the
    /// connection is lost.
    package var responseWait: ResponseWait?
    /// When the request was sent whose response is awaited.
    var sentAt = ContinuousClock.now
    /// When ``responseWait`` is next asked whether to wait on, even while bytes arrive.
    private var asksAt = ContinuousClock.now
    /// Whether ``responseWait`` has ended a wait.
    private var isGivenUp = false

    /// Connects; waits for each host at most as long as `connect_timeout` in the settings says.
    package init(_ settings: ConnectionSettings) throws(PostgresError) {
        pointer = try ConnectionAttempt.connect(settings)
        guard PQsetnonblocking(pointer, 1) == 0, PQenterPipelineMode(pointer) == 1 else {
            throw lost("connect")
        }
    }

    deinit { PQfinish(pointer) }

    /// The version of the server, such as 150018 for 15.18.
    package var serverVersion: Int { Int(PQserverVersion(pointer)) }

    /// The id of the server's process that serves this connection.
    package var backend: Int64 { Int64(PQbackendPID(pointer)) }

    /// Whether the connection is known to be lost, or ``responseWait`` has ended a wait, so that it cannot be used.
    package var isLost: Bool { isGivenUp || PQstatus(pointer) != CONNECTION_OK }

    /// Throws if ``responseWait`` has ended a wait: the response may still arrive, so nothing more can be sent.
    func checkUsable(_ statement: String) throws(PostgresError) { if isGivenUp { throw givenUp(statement) } }

    private func givenUp(_ statement: String) -> PostgresError {
        PostgresError(state: .givenUp, message: "the wait for the response was ended", statement: statement)
    }

    /// Returns a setting that is in force for this connection, such as `server_encoding`; `nil` if it is not among
    /// those that the server reports without being asked (`PQparameterStatus`).
    package func reportedSetting(_ name: String) -> String? {
        PQparameterStatus(pointer, name).map { String(cString: $0) }
    }

    /// Runs SQL that may consist of several statements, without parameters; rows are dropped.
    ///
    /// The statements run in the transaction that is open, or else in a new one. After a failure, a transaction that
    /// was open before stays open, and the server refuses further statements in it.
    package func execute(_ sql: SQL) throws(PostgresError) {
        try checkUsable(sql.name)
        guard PQexitPipelineMode(pointer) == 1 else { throw lost(sql.name) }
        sentAt = .now
        guard PQsendQuery(pointer, sql.text) == 1 else { throw lost(sql.name) }
        var failure: PostgresError?
        while let result = try nextResult(sql.name) {
            failure = failure ?? error(of: result, in: sql.name)
            PQclear(result)
        }
        guard PQenterPipelineMode(pointer) == 1 else { throw lost(sql.name) }
        if let failure { throw failure }
    }

    /// Runs one statement and returns its rows.
    package func run(_ sql: SQL, _ parameters: Parameters = Parameters()) throws(PostgresError) -> Rows {
        guard let rows = try run([Step(sql, parameters)]).last else { throw lost(sql.name) }
        return rows
    }

    /// Runs steps in one round trip, and returns the rows of each.
    ///
    /// After a failure the server skips the steps that follow, and an open transaction is rolled back.
    @discardableResult
    package func run(_ steps: [Step]) throws(PostgresError) -> [Rows] {
        try send(steps)
        return try receive()
    }

    // MARK: Waiting

    /// Waits for the next result of libpq, as long as ``responseWait`` says.
    ///
    /// Bytes are no response: a server that only sends notices, settings or notifications is as late as a silent one.
    /// - Returns: The result, which the caller must clear; `nil` after the last result of a statement.
    func nextResult(_ statement: String) throws(PostgresError) -> OpaquePointer? {
        while true {
            let unsent = PQflush(pointer)
            guard unsent >= 0 else { throw lost(statement) }
            if PQisBusy(pointer) == 0 { return PQgetResult(pointer) }
            if responseWait != nil, .now >= max(asksAt, sentAt + ResponseWait.interval) {
                try askWhetherToGoOn(statement)
            }
            try waitForServer(statement, alsoToWrite: unsent == 1)
            guard PQconsumeInput(pointer) == 1 else { throw lost(statement) }
            // Nothing here asks for notifications, and libpq would keep those of a server that sends them all the same.
            while let notification = PQnotifies(pointer) { PQfreemem(notification) }
        }
    }

    private func askWhetherToGoOn(_ statement: String) throws(PostgresError) {
        guard let responseWait else { return }
        let now = ContinuousClock.now
        asksAt = now + ResponseWait.interval
        responseWait.wakeUp.clear()
        guard responseWait.goesOn(statement, now - sentAt) else {
            isGivenUp = true
            throw givenUp(statement)
        }
    }

    /// Waits until bytes from the server can be read or, with `alsoToWrite`, more bytes can be sent.
    private func waitForServer(_ statement: String, alsoToWrite: Bool) throws(PostgresError) {
        let events = Int16(POLLIN) | (alsoToWrite ? Int16(POLLOUT) : 0)
        var polled = [
            pollfd(fd: PQsocket(pointer), events: events, revents: 0),
            // `poll` ignores a negative descriptor.
            pollfd(fd: responseWait?.wakeUp.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let ready = poll(&polled, 2, responseWait == nil ? -1 : ResponseWait.intervalMilliseconds)
            if polled[0].revents != 0 { return }
            guard ready >= 0 || errno == EINTR else { throw lost(statement) }
            try askWhetherToGoOn(statement)
        }
    }

    // MARK: Errors

    /// Returns the error of a result; `nil` if it succeeded.
    func error(of result: OpaquePointer, in statement: String) -> PostgresError? {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_PIPELINE_SYNC: return nil
        default:
            // The result for a lost connection has no SQLSTATE.
            let state = cpostgres_sqlstate(result).map { PostgresError.State(rawValue: String(cString: $0)) }
            let message = cpostgres_message(result) ?? UnsafePointer(PQresultErrorMessage(result))
            return PostgresError(state: state ?? .connection, message: Self.oneLine(message), statement: statement)
        }
    }

    /// Returns an error with libpq's last message, for a lost connection or a call that libpq has refused.
    func lost(_ statement: String) -> PostgresError {
        PostgresError(state: .connection, message: Self.oneLine(PQerrorMessage(pointer)), statement: statement)
    }

    static func oneLine(_ text: UnsafePointer<CChar>?) -> String {
        let lines = text.map { String(cString: $0) } ?? ""
        return lines.split { $0.isNewline }.map { $0.drop { $0 == "\t" } }.joined(separator: " ")
    }

    static func oneLine(_ text: UnsafeMutablePointer<CChar>?) -> String {
        oneLine(text.map { UnsafePointer($0) })
    }

    /// Derives the state from the message of an attempt to connect that failed, because libpq does not provide the
    /// server's code for it.
    ///
    /// An unknown message, such as one in another language, gives ``PostgresError/State/connection``.
    static func state(ofConnectionMessage message: String) -> PostgresError.State {
        func has(_ words: String) -> Bool { message.contains(words) }
        if has("password authentication failed") || has("no password supplied") { return .invalidPassword }
        if has("database \"") && has("does not exist") { return .unknownDatabase }
        if has("role \"") && has("does not exist") || has("pg_hba.conf") || has("authentication failed") {
            return .invalidAuthorization
        }
        if has("session is read-only") || has("server is in hot standby mode") { return .readOnly }
        if has("too many clients") || has("remaining connection slots") { return .tooManyConnections }
        return .connection
    }
}
