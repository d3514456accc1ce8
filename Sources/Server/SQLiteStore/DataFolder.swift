import CallPorts
import FoundationEssentials
import Glibc

/// The data folder.
///
/// It is created if missing, accessible to its owner only, and held by one server at a time.
struct DataFolder: Sendable {
    let path: String

    /// The path of the database in the folder.
    var database: String { path + "/ringline.sqlite" }
    private var lockFile: String { path + "/ringline.lock" }

    /// Locks the folder for this process, and then creates the database file if it is missing.
    ///
    /// Before the folder is locked, nothing in it is touched except the lock file.
    func take(_ lockWait: LockWait) throws(StoreFailure) -> Lock {
        let lock = try takeWithoutDatabase(lockWait)
        try makeDatabaseFile()
        return lock
    }

    /// Locks the folder for this process, whose database is elsewhere.
    func takeWithoutDatabase(_ lockWait: LockWait) throws(StoreFailure) -> Lock {
        try prepare()
        return try lock(lockWait)
    }

    /// Locks the folder for changes to its files while no server runs.
    ///
    /// It does not create a database. The folder must exist. `give` is called with the lock file: if that belonged to
    /// root, a server that runs as another user could not open it.
    func hold(_ give: (Int32) throws(StoreFailure) -> Void) throws(StoreFailure) -> Lock {
        try requireWritable()
        let lock = try lock(LockWait())
        try give(lock.file)
        return lock
    }

    /// Keeps servers out of the folder until the lock is released, without changing a file.
    /// - Returns: The lock; `nil` if no server has ever run on the folder, as on a copy of another one.
    func keepServersOut() throws(StoreFailure) -> Lock? {
        let file = try openLockFile(O_RDONLY)
        guard file >= 0 else { return nil }
        guard flock(file, LOCK_SH | LOCK_NB) == 0 else {
            defer { Glibc.close(file) }
            throw refusal(errno, file)
        }
        return Lock(file: file)
    }

    /// Whether a server, or a restoration, holds the folder at the moment.
    var isHeld: Bool {
        // A lock file that cannot be opened is held by nobody.
        guard let file = try? openLockFile(O_RDONLY), file >= 0 else { return false }
        defer { Glibc.close(file) }
        return flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// Creates the folder if it is missing (0700), and checks that it can be used.
    private func prepare() throws(StoreFailure) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            let why = errno
            guard why == ENOENT else {
                throw StoreFailure("The data folder \(path) cannot be created: \(reason(why)).")
            }
            do {
                try FileManager.default.createDirectory(
                    atPath: path,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            } catch {
                throw StoreFailure(
                    "The data folder \(path) cannot be created: its parent folder does not exist or is not writable."
                )
            }
        }
        try requireFolder()
        try requireWritable()
    }

    /// Checks that the user as whom this process acts may create files in the folder.
    private func requireWritable() throws(StoreFailure) {
        guard faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 else {
            let why = errno
            throw StoreFailure(
                "The data folder \(path) cannot be written (\(reason(why))); it must belong to the user that runs ringline."
            )
        }
    }

    /// Checks that the path exists and is a folder.
    private func requireFolder() throws(StoreFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let why = errno
            throw StoreFailure("The data folder \(path) cannot be opened: \(reason(why)).")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw StoreFailure("\(path) is not a folder; --data must name a folder.")
        }
    }

    /// Creates the database file with mode 0600 if it is missing.
    ///
    /// SQLite gives `-wal` and `-shm` the same mode.
    private func makeDatabaseFile() throws(StoreFailure) {
        let file = Glibc.open(database, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            let why = errno
            throw StoreFailure("The database \(database) cannot be opened for writing: \(reason(why)).")
        }
        Glibc.close(file)
    }

    /// Locks the folder for this process, until the lock is released or the process ends, even by a crash.
    private func lock(_ lockWait: LockWait) throws(StoreFailure) -> Lock {
        let file = try openLockFile(O_RDWR | O_CREAT)
        let why = lock(file, lockWait)
        guard why == 0 else {
            defer { Glibc.close(file) }
            throw refusal(why, file)
        }
        // The process id is only for the error text above. The server can run even if the id cannot be written.
        let digits = Array(String(getpid()).utf8)
        _ = ftruncate(file, 0)
        _ = pwrite(file, digits, digits.count, 0)
        return Lock(file: file)
    }

    /// Opens the lock file, but no link and no pipe in its place.
    /// - Returns: The descriptor; -1 if the file is missing and `flags` do not create it.
    private func openLockFile(_ flags: Int32) throws(StoreFailure) -> Int32 {
        let file = Glibc.open(lockFile, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            let why = errno
            guard why != ENOENT || flags & O_CREAT != 0 else { return -1 }
            throw StoreFailure("The lock file \(lockFile) cannot be opened: \(reason(why)).")
        }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            Glibc.close(file)
            throw StoreFailure("The lock file \(lockFile) is not a regular file, and is not used.")
        }
        return file
    }

    /// Returns the failure to lock the lock file.
    private func refusal(_ why: Int32, _ file: Int32) -> StoreFailure {
        guard why == EWOULDBLOCK else {
            return StoreFailure("The lock file \(lockFile) cannot be locked: \(reason(why)).")
        }
        let holder = holder(of: file).map { " (process \($0))" } ?? ""
        return StoreFailure(
            "The data folder \(path) is in use by another ringline\(holder); stop that one, or use another folder."
        )
    }

    /// Takes the lock and returns 0, or returns the `errno`.
    ///
    /// While another process has the lock, this function waits as long as `lockWait` allows.
    private func lock(_ file: Int32, _ lockWait: LockWait) -> Int32 {
        guard flock(file, LOCK_EX | LOCK_NB) != 0 else { return 0 }
        guard errno == EWOULDBLOCK, lockWait.milliseconds > 0 else { return errno }
        lockWait.waits(holder(of: file))
        let deadline = ContinuousClock.now + .milliseconds(lockWait.milliseconds)
        while ContinuousClock.now < deadline, !lockWait.isOver() {
            // The lock is polled: only a signal could end an `flock` that waits, and this thread receives no signals.
            usleep(20_000)
            if flock(file, LOCK_EX | LOCK_NB) == 0 { return 0 }
            guard errno == EWOULDBLOCK else { return errno }
        }
        return EWOULDBLOCK
    }

    /// Returns the process id that is written in the lock file; `nil` if there is none.
    private func holder(of file: Int32) -> Int? {
        var digits = [UInt8](repeating: 0, count: 20)
        let count = max(0, pread(file, &digits, digits.count, 0))
        return Int(String(decoding: digits[..<count], as: UTF8.self))
    }

    /// Holds the folder by an `flock`, which the kernel releases when the process ends.
    final class Lock: Sendable {
        let file: Int32

        init(file: Int32) { self.file = file }

        deinit { Glibc.close(file) }
    }

    /// Returns the system's text for an `errno`.
    private func reason(_ number: Int32) -> String { String(cString: strerror(number)).lowercased() }
}
