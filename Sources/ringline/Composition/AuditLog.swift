import CallCore
import CallPorts
import CallWire
import Glibc
import Identity
import JSON
import Switchboard
import Threads

/// The audit log: security-relevant events as JSON lines, appended to a file separate from the normal log.
///
/// A thread of its own writes the file (``LogWriter``), so logging an event never waits. Refused tokens are counted
/// with or without a file. If more than 10 tokens are refused in one second, the others are summed up in one line for
/// each cause.
final class AuditLog: Sendable {
    /// The only cause for which a capability is refused; the check of a capability does not report a finer one.
    static let capabilityRefused = "act"
    /// The cause of a token that could not be verified because its key has not been fetched yet.
    static let keysMissing = "keys_unavailable"
    /// All causes for which a token or a capability can be refused.
    static let causes = TokenError.causes + [capabilityRefused, keysMissing, "revoked"]

    private let path: String?
    private let writer: LogWriter?
    private let refusals = Monitor(Refusals())

    private struct Refusals {
        var counts = Dictionary(uniqueKeysWithValues: AuditLog.causes.map { ($0, UInt64(0)) })
        var lineLimit = LineLimit()
    }

    /// The value of a member that a line has besides its time and its event.
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

    /// The number of refused tokens, by cause.
    var refused: [(cause: String, count: UInt64)] {
        refusals.withLock { $0.counts.map { (cause: $0.key, count: $0.value) } }
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
                [
                    ("kind", .text(kind.rawValue)), ("from", .text(from.text)), ("to", .text(to.text)),
                    ("device", .text(device.text)),
                ]
            )
        case .blocked(let other, let user):
            write("blocked", [("user", .text(user.text)), ("blocked", .text(other.text))])
        case .unblocked(let other, let user):
            write("unblocked", [("user", .text(user.text)), ("blocked", .text(other.text))])
        case .numberBlocked(let user): write("number_blocked", [("user", .text(user.text))])
        case .numberUnblocked(let user): write("number_unblocked", [("user", .text(user.text))])
        case .directoryChanged(let service, let user, let count):
            let whose = user.map { [("user", Value.text($0.text))] } ?? []
            write(
                "directory_changed",
                [("service", .text(service.text))] + whose + [("changed", .number(UInt64(max(0, count))))]
            )
        case .revoked(let user, let revoker):
            let by: [(String, Value)] =
                switch revoker {
                case .user: [("by", .text("user"))]
                case .theOperator: [("by", .text("operator"))]
                case .service(let service): [("by", .text("service")), ("service", .text(service.text))]
                }
            write("revoked", [("user", .text(user.text))] + by)
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

    private func refuse(_ cause: String, _ user: UserID?) {
        let second = SystemClock.boot() / 1_000
        let (isSaid, suppressed) = refusals.withLock { refusals in
            refusals.counts[cause, default: 0] += 1
            guard writer != nil else { return (false, [(cause: String, count: UInt64)]()) }
            let suppressed = refusals.lineLimit.takeSuppressed(before: second)
            return (refusals.lineLimit.admits(cause, in: second), suppressed)
        }
        writeSuppressed(suppressed)
        if isSaid {
            write("token_refused", [("cause", .text(cause))] + (user.map { [("user", .text($0.text))] } ?? []))
        }
    }

    /// Logs the sums of refusals suppressed in earlier seconds.
    ///
    /// Called once a second.
    func tick() {
        writeSuppressed(refusals.withLock { $0.lineLimit.takeSuppressed(before: SystemClock.boot() / 1_000) })
    }

    private func writeSuppressed(_ suppressed: [(cause: String, count: UInt64)]) {
        for (cause, count) in suppressed {
            write("token_refused", [("cause", .text(cause)), ("suppressed", .number(count))])
        }
    }

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
        writeSuppressed(refusals.withLock { $0.lineLimit.takeSuppressed(before: .max) })
        write("stopped")
    }

    /// Appends a line; does nothing without a file.
    func write(_ event: String, _ members: [(String, Value)] = []) {
        writer?.write(Self.line(event, members))
    }

    private static func open(_ path: String) throws(UsageError) -> Int32 {
        // With `O_NONBLOCK`, opening a named pipe without a reader fails; without it, the call would block.
        let descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o600)
        guard descriptor >= 0 else {
            throw UsageError("--audit-log \(path): cannot be opened for writing: \(String(cString: strerror(errno)))")
        }
        return descriptor
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

    /// Limits how many refusals a second get a line of their own, and counts the others by cause.
    struct LineLimit {
        /// The number of refusals per second that get a line of their own.
        ///
        /// Ten lines suffice to see the kind of attempts; with the sums, a flood writes about 25 lines a second at
        /// most.
        static let linesPerSecond = 10

        private var second = Int64.min
        private var lines = 0
        private var suppressed: [String: UInt64] = [:]

        /// Returns whether a refusal in this second gets a line of its own; a refusal without a line is counted.
        mutating func admits(_ cause: String, in second: Int64) -> Bool {
            if second != self.second { (self.second, lines) = (second, 0) }
            lines += 1
            guard lines > Self.linesPerSecond else { return true }
            suppressed[cause, default: 0] += 1
            return false
        }

        /// Returns, for each cause, the number of refusals before a second that got no line of their own, and resets
        /// these numbers.
        mutating func takeSuppressed(before second: Int64) -> [(cause: String, count: UInt64)] {
            guard second > self.second, !suppressed.isEmpty else { return [] }
            defer { suppressed = [:] }
            return suppressed.sorted { $0.key < $1.key }.map { (cause: $0.key, count: $0.value) }
        }
    }
}
