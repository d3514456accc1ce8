import CallCore
import CallPorts
import CallWire
import Glibc
import Identity
import JSON
import ServerLog
import Switchboard
import Threads

/// The audit log: security-relevant events as JSON lines, appended to a file separate from the normal log.
///
/// A thread of its own writes the file (``LogWriter``), so logging an event never waits. Refused tokens are counted
/// with or without a file. Lines that an unauthenticated client or an account causes are limited by `LineLimit`; those
/// above the limits are summed up in one line for each event and cause.
final class AuditLog: Sendable {
    /// The only cause for which a capability is refused; the check of a capability does not report a finer one.
    static let capabilityRefused = "act"
    /// The cause of a token that could not be verified because its key has not been fetched yet.
    static let keysMissing = "keys_unavailable"
    /// All causes for which a token or a capability can be refused.
    static let causes = TokenError.causes + [capabilityRefused, keysMissing, "revoked"]

    private let path: String?
    private let writer: LogWriter?
    private let refusals = Monitor(Dictionary(uniqueKeysWithValues: AuditLog.causes.map { ($0, UInt64(0)) }))
    private let outsiders = Monitor(LineLimit<Kind>())

    /// The kind of a line that an unauthenticated client or an account can cause.
    private struct Kind: Hashable {
        let event: String
        var cause: String?
    }

    /// The value of a line's member other than its time and its event.
    enum Value {
        case text(String)
        case number(UInt64)
    }

    /// Opens the file.
    ///
    /// - Parameter path: `-` for stdout; with `nil` nothing is written.
    /// - Throws: ``UsageError`` when the file cannot be opened for writing.
    init(_ path: String?) throws(UsageError) {
        self.path = path
        let descriptor: Int32
        switch path {
        case nil:
            writer = nil
            return
        case "-": descriptor = 1
        case let path?: descriptor = try Self.open(path)
        }
        writer = LogWriter(to: descriptor) { dropped in Self.line("lines_dropped", [("count", .number(dropped))]) }
    }

    /// The number of lines that were dropped and never written.
    var dropped: UInt64 { writer?.dropped ?? 0 }

    /// The number of lines that were only counted in a sum.
    var suppressed: UInt64 { outsiders.withLock { $0.suppressed } }

    /// The number of refused tokens, by cause.
    var refused: [(cause: String, count: UInt64)] {
        refusals.withLock { $0.map { (cause: $0.key, count: $0.value) } }
    }

    // MARK: Events

    /// Logs or counts an event of the server.
    ///
    /// Safe on any thread.
    func record(_ event: AuditEvent) {
        switch event {
        case .tokenRefused(let cause, let user): refuse(cause, user)
        case .pushTokenMoved(let kind, let from, let to, let device):
            write(
                "push_token_moved",
                of: to,
                [
                    ("kind", .text(kind.rawValue)), ("from", .text(from.text)), ("to", .text(to.text)),
                    ("device", .text(device.text)),
                ]
            )
        case .blocked(let other, let user): write("blocked", of: user, Self.members(user, blocked: other))
        case .unblocked(let other, let user): write("unblocked", of: user, Self.members(user, blocked: other))
        case .numberBlocked(let user): write("number_blocked", of: user, [("user", .text(user.text))])
        case .numberUnblocked(let user): write("number_unblocked", of: user, [("user", .text(user.text))])
        case .directoryChanged(let service, let user, let count):
            let whose = user.map { [("user", Value.text($0.text))] } ?? []
            write(
                "directory_changed",
                of: service,
                [("service", .text(service.text))] + whose + [("changed", .number(UInt64(max(0, count))))]
            )
        case .revoked(let user, let revoker): record(user, revokedBy: revoker)
        case .stopping: write("stopping")
        }
    }

    /// Logs that an operator ran a command on the data folder.
    func record(_ trace: CommandTrace, by owner: uid_t) {
        var members: [(String, Value)] = [("command", .text(trace.command))]
        if let user = trace.user { members.append(("user", .text(user.text))) }
        members += [("uid", .number(UInt64(owner))), ("ran", .text(Timestamp.text(trace.at)))]
        write("command", members)
    }

    private func record(_ user: UserID, revokedBy revoker: AuditEvent.Revoker) {
        let line: [(String, Value)] = [("user", .text(user.text))]
        switch revoker {
        case .user: write("revoked", of: user, line + [("by", .text("user"))])
        case .theOperator: write("revoked", line + [("by", .text("operator"))])
        case .service(let service):
            write("revoked", of: service, line + [("by", .text("service")), ("service", .text(service.text))])
        }
    }

    private static func members(_ user: UserID, blocked other: UserID) -> [(String, Value)] {
        [("user", .text(user.text)), ("blocked", .text(other.text))]
    }

    private func refuse(_ cause: String, _ user: UserID?) {
        refusals.withLock { $0[cause, default: 0] += 1 }
        write(
            Kind(event: "token_refused", cause: cause),
            of: user,
            [("cause", .text(cause))] + (user.map { [("user", .text($0.text))] } ?? [])
        )
    }

    /// Appends a line that an account caused, or an unauthenticated client if there is none, within the limits of
    /// `LineLimit`.
    private func write(_ event: String, of account: UserID?, _ members: [(String, Value)]) {
        write(Kind(event: event), of: account, members)
    }

    private func write(_ kind: Kind, of account: UserID?, _ members: [(String, Value)]) {
        guard writer != nil, outsiders.withLock({ $0.admits(kind, of: account?.text, at: Self.second) }) else { return }
        write(kind.event, members)
    }

    /// Logs the sums of the lines that were only counted; called once a second.
    func tick() { writeSums(at: Self.second) }

    private func writeSums(at second: Int64?) {
        for (kind, count) in outsiders.withLock({ $0.takeSums(at: second) }) {
            write(kind.event, (kind.cause.map { [("cause", .text($0))] } ?? []) + [("suppressed", .number(count))])
        }
    }

    private static var second: Int64 { SystemClock.boot() / 1_000 }

    // MARK: The file

    /// Opens the file again, for the case that a log rotation moved or replaced it.
    ///
    /// - Throws: ``UsageError`` when the file cannot be opened; lines then continue to go to the file that is open.
    func reopen() throws(UsageError) {
        guard let path, path != "-" else { return }
        writer?.move(to: try Self.open(path))
    }

    /// Logs the remaining sums and the `stopped` event.
    ///
    /// Called last, before the process ends.
    func end() {
        writeSums(at: nil)
        write("stopped")
    }

    /// Appends a line; does nothing without a file.
    func write(_ event: String, _ members: [(String, Value)] = []) {
        writer?.write(Self.line(event, members))
    }

    private static func open(_ path: String) throws(UsageError) -> Int32 {
        let descriptor = Glibc.open(path, openFlags | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw unusable(path, errno) }
        return descriptor
    }

    /// With `O_NONBLOCK`, opening a named pipe without a reader fails; without it, the call would block.
    private static let openFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY

    private static func unusable(_ path: String, _ why: Int32) -> UsageError {
        UsageError("--audit-log \(path): cannot be opened for writing: \(String(cString: strerror(why)))")
    }

    /// Checks whether the file can be opened, or created, and does not create it; returns what is well.
    static func check(_ path: String?) throws(UsageError) -> String? {
        guard let path, path != "-" else { return nil }
        let descriptor = Glibc.open(path, openFlags)
        guard descriptor < 0 else {
            close(descriptor)
            return "\(path) can be appended to"
        }
        guard errno == ENOENT else { throw unusable(path, errno) }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard access(folder, W_OK | X_OK) == 0 else { throw unusable(path, errno) }
        guard !path.isEmpty, path.last != "/" else { throw unusable(path, EISDIR) }
        return "\(path) can be created"
    }

    private static func line(_ event: String, _ members: [(String, Value)]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("time")
        json.plain(Timestamp.text(Moment(milliseconds: SystemClock.wall())))
        json.name("event")
        json.plain(event)
        for (name, value) in members {
            json.name(name)
            switch value {
            case .text(let text): json.value(text)
            case .number(let number): json.value(number)
            }
        }
        json.endObject()
        return json.bytes + [0x0A]
    }
}
