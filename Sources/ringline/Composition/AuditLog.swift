import CallCore
import CallWire
import Glibc
import Identity
import Switchboard
import Threads

/// Says apart from the log what an operator may have to answer for: JSON lines, appended to a file of their own.
///
/// It is written by a thread (``LogWriter``): what says something here never waits. Refused tokens are counted whether there
/// is a file or not; a flood of them is summed up, a line a second for each cause.
final class AuditLog: Sendable {
    /// The cause of a refused capability, which says nothing about itself.
    static let actRefused = "act"
    /// The cause of a token that could not be judged, for its key has not been fetched yet.
    static let keysMissing = "keys_unavailable"
    /// Every cause for which a token, or a capability, can be refused.
    static let causes = TokenError.causes + [actRefused, keysMissing, "revoked"]

    private let path: String?
    private let writer: LogWriter?
    private let descriptor: Int32
    private let refusals = Locked(Refusals())

    private struct Refusals {
        var counts = Dictionary(uniqueKeysWithValues: AuditLog.causes.map { ($0, UInt64(0)) })
        var flood = Flood()
    }

    /// A member of a line besides its time and its event.
    enum Value {
        case text(String)
        case number(UInt64)
    }

    /// Opens the file.
    ///
    /// - Parameter path: `-` for stdout; `nil`: nothing is written.
    /// - Throws: ``Complaint`` when it cannot be written.
    init(_ path: String?) throws(Complaint) {
        self.path = path
        switch path {
        case nil:
            (descriptor, writer) = (-1, nil)
            return
        case "-": descriptor = 1
        case let path?: descriptor = try Self.open(path)
        }
        writer = LogWriter(to: descriptor) { dropped in Self.line("lines_dropped", [("count", .number(dropped))]) }
    }

    /// Lines that were never written.
    var dropped: UInt64 { writer?.dropped ?? 0 }

    /// How many tokens were refused, by cause.
    var refused: [(cause: String, count: UInt64)] {
        refusals.withLock { $0.counts.map { (cause: $0.key, count: $0.value) } }
    }

    // MARK: What happens

    /// Takes what the server has to say, from any thread.
    func take(_ event: AuditEvent) {
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

    /// Takes note that an operator ran a command on the data folder.
    func take(_ trace: CommandTrace, by owner: uid_t) {
        var members: [(String, Value)] = [("command", .text(trace.command))]
        if let user = trace.user { members.append(("user", .text(user.text))) }
        members += [("uid", .number(UInt64(owner))), ("ran", .text(Timestamp.text(trace.at)))]
        write("command", members)
    }

    private func refuse(_ cause: String, _ user: UserID?) {
        let second = SystemClock.monotonic() / 1_000
        let (isSaid, suppressed) = refusals.withLock { refusals in
            refusals.counts[cause, default: 0] += 1
            guard writer != nil else { return (false, [(cause: String, count: UInt64)]()) }
            let suppressed = refusals.flood.takeSuppressed(before: second)
            return (refusals.flood.admits(cause, in: second), suppressed)
        }
        say(suppressed)
        if isSaid {
            write("token_refused", [("cause", .text(cause))] + (user.map { [("user", .text($0.text))] } ?? []))
        }
    }

    /// Says what of earlier seconds was not said one by one; once a second.
    func tick() {
        say(refusals.withLock { $0.flood.takeSuppressed(before: SystemClock.monotonic() / 1_000) })
    }

    private func say(_ suppressed: [(cause: String, count: UInt64)]) {
        for (cause, count) in suppressed {
            write("token_refused", [("cause", .text(cause)), ("suppressed", .number(count))])
        }
    }

    // MARK: The file

    /// Opens the file anew: what rotates logs has moved it away, or something else is there now.
    ///
    /// - Throws: when it cannot be opened; then what is open is written on.
    func reopen() throws(Complaint) {
        guard let path, path != "-" else { return }
        let new = try Self.open(path)
        // The thread's number stays, and between two of its lines stands for the other file.
        dup2(new, descriptor)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        close(new)
    }

    /// Says what is left to say; then the process may end.
    func end() {
        say(refusals.withLock { $0.flood.takeSuppressed(before: .max) })
        write("stopped")
    }

    /// Writes a line; without a file, nothing.
    func write(_ event: String, _ members: [(String, Value)] = []) {
        writer?.write(Self.line(event, members))
    }

    private static func open(_ path: String) throws(Complaint) -> Int32 {
        // A named pipe that nobody reads is refused and not waited for.
        let descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o600)
        guard descriptor >= 0 else {
            throw Complaint("--audit-log \(path): cannot be opened for writing: \(String(cString: strerror(errno)))")
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

    /// Lets so many refusals a second have a line of their own, and counts the others by cause.
    struct Flood {
        /// Enough to see who tries what; a flood writes no more than some 25 lines a second.
        static let linesPerSecond = 10

        private var second = Int64.min
        private var lines = 0
        private var suppressed: [String: UInt64] = [:]

        /// Whether a refusal in this second is to be said by itself.
        mutating func admits(_ cause: String, in second: Int64) -> Bool {
            if second != self.second { (self.second, lines) = (second, 0) }
            lines += 1
            guard lines > Self.linesPerSecond else { return true }
            suppressed[cause, default: 0] += 1
            return false
        }

        /// What was not said by itself in seconds before this one, by cause.
        mutating func takeSuppressed(before second: Int64) -> [(cause: String, count: UInt64)] {
            guard second > self.second, !suppressed.isEmpty else { return [] }
            defer { suppressed = [:] }
            return suppressed.sorted { $0.key < $1.key }.map { (cause: $0.key, count: $0.value) }
        }
    }
}
