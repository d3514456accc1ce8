import CallCore
import CallPorts
import Glibc
import SQLiteStore
import Switchboard
import Threads

/// An operator's command to the running server: an empty file in the data folder whose name contains the whole command.
///
/// Access to the folder proves the right to give commands, by the file system's permissions, so no password and no
/// second interface is needed. While no server runs, the command waits. The file is removed only when the command is
/// durable, so a crash in between loses no command.
struct CommandFile: Equatable {
    let command: Switchboard.OperatorCommand

    init(_ command: Switchboard.OperatorCommand) { self.command = command }

    /// Parses a file's name; returns `nil` for the other files of the folder.
    init?(name: String) {
        let parts = name.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let number = Int64(parts[1]) else { return nil }
        switch parts[0] {
        case "revoke":
            guard let user = UserID(String(parts[2])) else { return nil }
            command = .revoke(user, before: Moment(milliseconds: number))
        case "resend" where parts[2] == "event": command = .resendEvents(.event(EventPosition(rawValue: number)))
        case "resend" where parts[2] == "since":
            command = .resendEvents(.parked(since: Moment(milliseconds: number)))
        default: return nil
        }
    }

    /// The file's name: `revoke-<milliseconds>-<user>`, `resend-<position>-event` or `resend-<milliseconds>-since`.
    ///
    /// Every character of a user's id is allowed in a file's name.
    var name: String {
        switch command {
        case .revoke(let user, let moment): "revoke-\(moment.milliseconds)-\(user.text)"
        case .resendEvents(.event(let position)): "resend-\(position.rawValue)-event"
        case .resendEvents(.parked(let moment)): "resend-\(moment.milliseconds)-since"
        }
    }

    /// The record of this command for the audit log.
    var trace: CommandTrace {
        switch command {
        case .revoke(let user, let moment): CommandTrace("revoke", user, at: moment)
        case .resendEvents: CommandTrace("events-resend")
        }
    }

    /// Writes the file into a folder and syncs the folder, so that the file survives a power cut.
    func write(to folder: String) throws(UsageError) {
        do throws(StoreFailure) { try OperatorFolder(folder).makeEmptyFile(name) } catch {
            throw UsageError("--data: \(error.message)")
        }
    }

    func isThere(in folder: String) -> Bool { CommandFolder.status(of: name, in: folder) != nil }

    /// The longest wait for the server, which looks for commands every second and writes to a disk.
    private static let longestWait = Duration.seconds(10)

    /// Leaves the command in a folder, and waits until the server has carried it out.
    ///
    /// - Parameters:
    ///   - folder: The data folder.
    ///   - isServed: Whether a server is running that will look for commands.
    /// - Returns: `false` = no server is running; its next start carries the command out.
    /// - Throws: `UsageError` if the file cannot be written, or if the server does not carry it out.
    func leave(in folder: String, isServed: () -> Bool) throws(UsageError) -> Bool {
        try write(to: folder)
        let end = ContinuousClock.now + Self.longestWait
        while isThere(in: folder) {
            guard isServed() else { return false }
            guard ContinuousClock.now < end else {
                throw UsageError(
                    "the server on \(folder) has not carried out the command yet; the command stays valid until it does"
                )
            }
            usleep(20_000)
        }
        return true
    }
}

/// Passes the commands in a data folder to the server, each once, and removes their files; also collects command
/// traces.
final class CommandFolder: Sendable {
    private let folder: String
    private let underWay = Monitor<Set<String>>([])

    init(folder: String) { self.folder = folder }

    /// Scans the folder; `carryOut` receives each command, and a function to call when the command is durable.
    ///
    /// `report` receives each command that was run on the folder, and the id of the system user who ran it.
    func scan(
        reportingCommands report: (CommandTrace, uid_t) -> Void = { _, _ in },
        _ carryOut: (Switchboard.OperatorCommand, _ done: @escaping @Sendable () -> Void) -> Void
    ) {
        for name in names() {
            if let trace = CommandTrace(name: name) {
                report(trace, owner(of: name))
                unlink("\(folder)/\(name)")
                continue
            }
            guard let file = CommandFile(name: name), underWay.withLock({ $0.insert(name).inserted }) else { continue }
            report(file.trace, owner(of: name))
            carryOut(file.command) { [self] in
                unlink("\(folder)/\(name)")
                underWay.withLock { _ = $0.remove(name) }
            }
        }
    }

    /// The number of commands that wait for a server.
    var waitingCommands: Int { names().count { CommandFile(name: $0) != nil } }

    private func owner(of name: String) -> uid_t { Self.status(of: name, in: folder)?.st_uid ?? uid_t.max }

    /// The status of a file, or of a link in its place; `nil` = there is none.
    fileprivate static func status(of name: String, in folder: String) -> stat? {
        var status = stat()
        return lstat("\(folder)/\(name)", &status) == 0 ? status : nil
    }

    private func names() -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { bytes in
                bytes.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            names.append(name)
        }
        return names.sorted()
    }
}
