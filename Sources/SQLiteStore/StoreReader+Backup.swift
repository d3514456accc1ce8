import Glibc
import SQLite
public import Switchboard

extension StoreReader {
    /// Copies the database as it is at one moment into a new file, while its server goes on (`VACUUM INTO`).
    ///
    /// The copy is written beside its place under another name and gets its own when all of it is on the disk, so that half a
    /// copy is never seen. Only its owner can read it.
    ///
    /// - Parameter path: where it is to be; nothing may be there.
    /// - Throws: `StoreFailure`: there is something, no space, no leave to write.
    public func backUp(to path: String) throws(StoreFailure) {
        guard access(path, F_OK) != 0 else { throw StoreFailure("There is a file \(path) already; it stays as it is.") }
        let draft = "\(path).part-\(getpid())"
        let file = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.failure("made", path) }
        defer {
            close(file)
            unlink(draft)
        }
        try copy(to: draft)
        guard fsync(file) == 0 else { throw Self.failure("written", path) }
        guard link(draft, path) == 0 else { throw Self.failure("made", path) }
    }

    private func copy(to draft: String) throws(StoreFailure) {
        do throws(SQLiteError) {
            let statement = try questions.connection.statement(SQL("back up", "VACUUM INTO ?1"))
            try statement.bind(draft, at: 1)
            try statement.run()
        } catch { throw StoreFailure("The copy could not be made: \(error.message) (SQLite \(error.extendedCode)).") }
    }

    private static func failure(_ what: String, _ path: String) -> StoreFailure {
        StoreFailure("The file \(path) cannot be \(what): \(String(cString: strerror(errno)).lowercased()).")
    }
}
