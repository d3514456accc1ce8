import Glibc
import SQLite
import Switchboard

/// A database file on its way: written under another name beside its own, so that nobody ever sees half of it.
///
/// Only its owner can read it. What has not got its own name by the time this goes is deleted.
struct Draft: ~Copyable {
    /// The name that it is to have.
    let target: String
    /// The name that it has meanwhile.
    let path: String
    private let file: Int32

    /// An empty one.
    init(of target: String) throws(StoreFailure) {
        let path = "\(target).part-\(getpid())"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.failure("made", target) }
        (self.target, self.path, self.file) = (target, path, file)
    }

    deinit {
        close(file)
        unlink(path)
    }

    /// Writes all that a connection sees, compact (`VACUUM INTO`).
    func copy(from connection: Connection) throws(SQLiteError) {
        let statement = try connection.statement(SQL("copy", "VACUUM INTO ?1"))
        try statement.bind(path, at: 1)
        try statement.run()
    }

    /// Where root works in a folder of the server's user, the file is to be that user's.
    func give(to folder: Folder) throws(StoreFailure) { try folder.giveToOwner { fchown(file, $0, $1) } }

    /// Brings it to the disk and gives it its name, which nothing may have.
    func publish() throws(StoreFailure) {
        try synchronize()
        guard link(path, target) == 0 else { throw Self.failure("made", target) }
    }

    /// Brings it to the disk.
    func synchronize() throws(StoreFailure) {
        guard fsync(file) == 0 else { throw Self.failure("written", path) }
    }

    /// Gives it its name; what has it is gone.
    func replace() throws(StoreFailure) {
        guard rename(path, target) == 0 else { throw Self.failure("made", target) }
    }

    /// What the system said last (`errno`), of a file.
    static func failure(_ what: String, _ path: String) -> StoreFailure {
        StoreFailure("The file \(path) cannot be \(what): \(String(cString: strerror(errno)).lowercased()).")
    }
}
