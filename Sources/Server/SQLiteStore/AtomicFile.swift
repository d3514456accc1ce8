import CallPorts
import Glibc
import SQLite

/// A database file that is written under a temporary name beside its target, so that no process sees half of it.
///
/// Only the file's owner can read it. When the value is destroyed, the temporary name is removed, and with it a file
/// that has not received its final name.
struct AtomicFile: ~Copyable {
    /// The final path.
    let target: String
    /// The temporary path.
    let path: String
    private let file: Int32

    /// Creates an empty file.
    init(of target: String) throws(StoreFailure) {
        let path = "\(target).part-\(getpid())"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.failure("created", target) }
        (self.target, self.path, self.file) = (target, path, file)
    }

    deinit {
        close(file)
        unlink(path)
    }

    /// Writes the whole database that a connection sees, in compact form (`VACUUM INTO`).
    func copy(from connection: Connection) throws(SQLiteError) {
        let statement = try connection.statement(SQL("copy", "VACUUM INTO ?1"))
        try statement.bind(path, at: 1)
        try statement.run()
    }

    /// Gives the file to another owner if it is made in a folder of another user.
    func give(to folder: OperatorFolder) throws(StoreFailure) { try folder.give(file) }

    /// Flushes the file to the disk and gives it its final name, which must not exist yet.
    func publish() throws(StoreFailure) {
        try synchronize()
        guard link(path, target) == 0 else { throw Self.failure("created", target) }
    }

    /// Flushes the file to the disk.
    func synchronize() throws(StoreFailure) {
        guard fsync(file) == 0 else { throw Self.failure("written", path) }
    }

    /// Gives the file its final name.
    ///
    /// A file that has that name is replaced.
    func replace() throws(StoreFailure) {
        guard rename(path, target) == 0 else { throw Self.failure("created", target) }
    }

    /// Returns a failure about a file with the text of the last system error (`errno`).
    static func failure(_ what: String, _ path: String, _ why: Int32 = errno) -> StoreFailure {
        StoreFailure("The file \(path) cannot be \(what): \(String(cString: strerror(why)).lowercased()).")
    }
}
