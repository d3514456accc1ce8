import CallCore
import Glibc
import Switchboard
import Threads

/// An operator's order to the running server, as an empty file in the data folder whose name says all.
///
/// Who can write there is the operator, by the system's own rules: no second way in, no password. The order waits while no
/// server runs, and its file goes when the order is durable, so that a crash in between loses none.
struct OrderFile: Equatable {
    let order: Switchboard.Order

    init(_ order: Switchboard.Order) { self.order = order }

    /// The order that a file's name gives; `nil` for the other files of the folder.
    init?(name: String) {
        let parts = name.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "revoke", let moment = Int64(parts[1]), let user = UserID(String(parts[2]))
        else { return nil }
        order = .revoke(user, before: Moment(milliseconds: moment))
    }

    /// `revoke-<milliseconds>-<user>`; a user's id has no character that a file's name cannot have.
    var name: String {
        switch order {
        case .revoke(let user, let moment): "revoke-\(moment.milliseconds)-\(user.text)"
        }
    }

    /// What it is for the audit log.
    var trace: CommandTrace {
        switch order {
        case .revoke(let user, let moment): CommandTrace("revoke", user, at: moment)
        }
    }

    /// Puts it into a folder, to outlive a power cut.
    func write(to folder: String) throws(Complaint) {
        let file = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Complaint("--data: cannot write \(folder): \(String(cString: strerror(errno)))") }
        close(file)
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    func isThere(in folder: String) -> Bool { access("\(folder)/\(name)", F_OK) == 0 }
}

/// Takes the orders in a data folder to the server, each once, and clears them away; and the traces of other commands.
final class OrderDesk: Sendable {
    private let folder: String
    private let underWay = Locked<Set<String>>([])

    init(folder: String) { self.folder = folder }

    /// Looks for orders; `carryOut` gets each with what is to be called when it is durable.
    ///
    /// `ran` gets every command that was run on the folder, with the user of the system who did.
    func look(
        ran: (CommandTrace, uid_t) -> Void = { _, _ in },
        _ carryOut: (Switchboard.Order, _ done: @escaping @Sendable () -> Void) -> Void
    ) {
        for name in names() {
            if let trace = CommandTrace(name: name) {
                ran(trace, owner(of: name))
                unlink("\(folder)/\(name)")
                continue
            }
            guard let file = OrderFile(name: name), underWay.withLock({ $0.insert(name).inserted }) else { continue }
            ran(file.trace, owner(of: name))
            carryOut(file.order) { [self] in
                unlink("\(folder)/\(name)")
                underWay.withLock { _ = $0.remove(name) }
            }
        }
    }

    private func owner(of name: String) -> uid_t {
        var status = stat()
        return lstat("\(folder)/\(name)", &status) == 0 ? status.st_uid : uid_t.max
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
