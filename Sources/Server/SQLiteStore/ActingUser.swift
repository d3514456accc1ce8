import CallPorts
import Glibc

/// The user as whom a command works on files.
///
/// Root acts as the owner of a folder while it works there: whatever that owner puts in the way, such as a link to a
/// file of root's, opens nothing that the owner could not open. The real user of the process stays root.
package struct ActingUser: Equatable, Sendable {
    let uid: uid_t
    let gid: gid_t
    private let groups: [gid_t]

    /// The user that runs the process.
    package static let process = ActingUser(uid: geteuid(), gid: getegid(), groups: supplementaryGroups())

    /// Whether a file's owner is root or the user that runs the process.
    static func trusts(_ uid: uid_t) -> Bool { uid == 0 || uid == process.uid }

    /// The owner of a file, if the process can act as that user and need not trust them; otherwise the process's user.
    ///
    /// `folder`: The path of the folder with the file. An owner who cannot reach it cannot be running a server there.
    init(ownerOf status: stat, in folder: String) throws(StoreFailure) {
        let owner = Self(uid: status.st_uid, gid: status.st_gid, groups: [status.st_gid])
        guard Self.process.uid == 0, !Self.trusts(owner.uid),
            try owner.act({ faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) == 0 })
        else {
            self = .process
            return
        }
        self = owner
    }

    private init(uid: uid_t, gid: gid_t, groups: [gid_t]) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }

    /// Runs `body` as this user.
    ///
    /// - Throws: What `body` throws, or a failure if the process must not change its user, as in a container without
    ///   that capability.
    func act<Value: ~Copyable>(_ body: () throws(StoreFailure) -> Value) throws(StoreFailure) -> Value {
        let isProcess = geteuid() == Self.process.uid
        let before = isProcess ? Self.process : Self(uid: geteuid(), gid: getegid(), groups: [getegid()])
        guard before != self else { return try body() }
        guard become() else {
            let why = String(cString: strerror(errno)).lowercased()
            before.resume()
            let advice = "run the command as that user"
            throw StoreFailure("The process cannot act as user \(uid), who owns the files: \(why); \(advice).")
        }
        defer { before.resume() }
        return try body()
    }

    /// Makes the process act as before; it must not go on as somebody else.
    private func resume() {
        guard become() else { preconditionFailure("the process cannot act as its own user again") }
    }

    /// Changes the effective user and groups of the process.
    private func become() -> Bool {
        // Only root may change the groups, and only the saved user id makes the process root again.
        guard geteuid() == Self.process.uid || seteuid(Self.process.uid) == 0 else { return false }
        return setgroups(groups.count, groups) == 0 && setegid(gid) == 0 && seteuid(uid) == 0
    }

    private static func supplementaryGroups() -> [gid_t] {
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return Array(groups.prefix(max(0, Int(count))))
    }
}
