public import CallPorts
import Glibc
import SQLite

extension DataFolderReader {
    /// Copies the database, as it is at one moment, into a new file; its server may go on running (`VACUUM INTO`).
    ///
    /// The copy receives its name only when it is checked and all of it is on the disk. Only the owner of the copy can
    /// read it.
    ///
    /// - Parameter path: The path of the copy. It must not exist yet.
    /// - Throws: `StoreFailure` if the path exists, if the copy is damaged, if there is no space, or if there is no
    ///   permission to write.
    public func backUp(to path: String) throws(StoreFailure) {
        guard access(path, F_OK) != 0 else {
            throw StoreFailure("The file \(path) exists already and was not overwritten.")
        }
        let file = try AtomicFile(of: path)
        do throws(SQLiteError) { try file.copy(from: queries.connection) } catch {
            throw StoreFailure("The copy could not be made: \(error.message) (SQLite \(error.extendedCode)).")
        }
        let errors = try DataFolderReader(of: file.path).integrityErrors()
        guard errors.isEmpty else {
            throw StoreFailure("The copy is damaged, so the database may be damaged too: \(errors.prefix(3))")
        }
        try file.publish()
    }
}
