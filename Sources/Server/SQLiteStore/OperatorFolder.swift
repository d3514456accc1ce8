package import CallPorts
import Glibc

/// A data folder in which an operator's command works, which may belong to another user than the one that runs the
/// command.
///
/// The command opens nothing in the folder that is not a regular file, and follows no link there. It acts as the
/// folder's owner, because that owner can exchange files at any moment.
package struct OperatorFolder: Sendable {
    /// The path of the folder without links.
    package let path: String
    /// The user as whom the command reads and writes the files of the server in the folder.
    private let user: ActingUser
    /// The owner of the folder to whom the process gives what it makes there, because it cannot act as that owner; `nil` =
    /// what it makes has the right owner.
    private let receiver: (uid: uid_t, gid: gid_t)?
    private let descriptor: Descriptor

    /// Opens a folder.
    /// - Throws: `StoreFailure` if there is no folder at the path, or if another user's link leads to it.
    package init(_ named: String) throws(StoreFailure) {
        let place = try TrustedPath(named)
        guard place.missing.isEmpty else {
            throw StoreFailure("The data folder \(named) cannot be opened: no such file or directory.")
        }
        try self.init(place, named)
    }

    /// Opens a folder, which is made (0700) if it is missing, with the owner of the folder above it.
    package init(making named: String) throws(StoreFailure) {
        var place = try TrustedPath(named)
        if !place.missing.isEmpty {
            let maker = try ActingUser(ownerOf: place.status, in: place.path)
            try maker.act { () throws(StoreFailure) in try Self.make(place, named, as: maker) }
            place = try TrustedPath(named)
        }
        try self.init(place, named)
    }

    private init(_ place: TrustedPath, _ named: String) throws(StoreFailure) {
        guard place.isFolder else { throw StoreFailure("\(named) is not a folder; --data must name a folder.") }
        path = place.path
        guard let opened = Descriptor(open(path, Descriptor.pathOnly | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
            let status = opened.status, status.st_ino == place.status.st_ino, status.st_dev == place.status.st_dev
        else { throw StoreFailure("The data folder \(named) cannot be opened: it is being replaced.") }
        descriptor = opened
        // A server that runs as root in another user's folder has files that only root can read.
        let isRoots = Self.hasDatabaseOfRoot(opened)
        user = isRoots ? .process : try ActingUser(ownerOf: status, in: path)
        let isGiven = !isRoots && user == .process && ActingUser.process.uid == 0 && status.st_uid != 0
        receiver = isGiven ? (status.st_uid, status.st_gid) : nil
    }

    /// Makes the folders at the end of a path, with the owner of the one above them.
    private static func make(_ place: TrustedPath, _ named: String, as maker: ActingUser) throws(StoreFailure) {
        let isGiven = maker == .process && ActingUser.process.uid == 0
        var path = place.path == "/" ? "" : place.path
        for name in place.missing {
            path += "/\(name)"
            guard mkdir(path, 0o700) == 0 || errno == EEXIST,
                !isGiven || lchown(path, place.status.st_uid, place.status.st_gid) == 0
            else {
                throw StoreFailure(
                    "The data folder \(named) cannot be created: its parent folder does not exist or is not writable."
                )
            }
        }
    }

    /// Gives a file that the process has made in the folder to the folder's owner, if it could not act as that owner.
    func give(_ file: Int32) throws(StoreFailure) {
        guard let receiver, fchown(file, receiver.uid, receiver.gid) != 0 else { return }
        let why = String(cString: strerror(errno)).lowercased()
        throw StoreFailure("A file in \(path) cannot be given to the owner of the folder: \(why).")
    }

    /// Runs `body` as the owner of the folder's files.
    package func act<Value: ~Copyable>(_ body: () throws(StoreFailure) -> Value) throws(StoreFailure) -> Value {
        try user.act(body)
    }

    /// Returns the path of a file in the folder.
    package func path(of name: String) -> String { "\(path)/\(name)" }

    /// Returns whether a file exists in the folder.
    /// - Throws: `StoreFailure` if something else than a regular file has that name: a link, a pipe or a folder.
    @discardableResult
    package func hasFile(_ name: String) throws(StoreFailure) -> Bool {
        guard let status = Self.status(of: name, in: descriptor) else {
            let why = errno
            guard why != ENOENT else { return false }
            throw StoreFailure("The file \(path(of: name)) cannot be reached: \(String(cString: strerror(why))).")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StoreFailure("\(path(of: name)) is not a regular file, and is not opened.")
        }
        return true
    }

    /// Checks that the database, and the files that SQLite keeps beside it, are regular files or missing.
    /// - Returns: Whether there is a database.
    @discardableResult
    func hasDatabase() throws(StoreFailure) -> Bool {
        for suffix in ["-wal", "-shm", "-journal"] { try hasFile("ringline.sqlite\(suffix)") }
        return try hasFile("ringline.sqlite")
    }

    /// Reads a file of at most `limit` bytes; `nil` if there is no such file, or if it is not a regular one.
    package func contents(of name: String, limit: Int) -> [UInt8]? {
        // A file that cannot be opened counts as missing, like one that is not regular.
        let opened = try? act { () throws(StoreFailure) -> Descriptor? in
            Descriptor(openat(descriptor.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
        }
        guard let file = opened ?? nil, let status = file.status, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = pread(file.number, &bytes, limit, 0)
        return count >= 0 ? Array(bytes.prefix(count)) : nil
    }

    /// Makes an empty file that belongs to the user that runs the command, and its name durable; a file of that name
    /// stays as it is.
    package func makeEmptyFile(_ name: String) throws(StoreFailure) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        guard Descriptor(openat(descriptor.number, name, flags, 0o600)) != nil || errno == EEXIST else {
            throw StoreFailure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        if let folder = Descriptor(openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
            fsync(folder.number)
        }
    }

    private static func hasDatabaseOfRoot(_ folder: Descriptor) -> Bool {
        guard let database = status(of: "ringline.sqlite", in: folder) else { return false }
        // A file with a second name may be any file of root's, to which the folder's owner has made a hard link.
        return database.st_mode & S_IFMT == S_IFREG && database.st_uid == 0 && database.st_size > 0
            && database.st_nlink == 1
    }

    private static func status(of name: String, in folder: Descriptor) -> stat? {
        var status = stat()
        return fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }
}
